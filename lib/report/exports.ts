// surprisal/report: what happened in a batch of rollouts, as data, on a terminal and as one HTML file.
export { compareRuns } from "./compare/compare-runs";
export type { CompareOptions } from "./compare/compare-runs";
export type { ComparedRun, Comparison, Curve, CurvePoint, Difference, PromptChange } from "./compare/comparison";
export { comparisonTables } from "./export/comparison-tables";
export { tableToCsv } from "./export/csv";
export type { Table } from "./export/csv";
export { reportTables } from "./export/report-tables";
export { scalarRows } from "./export/scalar-rows";
export type { ScalarRow } from "./export/scalar-rows";
export { tensorboardEvents } from "./export/tensorboard";
export type { TensorboardOptions } from "./export/tensorboard";
export { renderComparison } from "./html/render-comparison";
export { renderHtml } from "./html/render";
export { DEFAULT_LIMITS } from "./limits";
export type { WarningLimits } from "./limits";
export type { Report, ReportFacts, ReportRollout, ReportSpan, ReportStep, Run } from "./model";
export type { ComparisonHtmlOptions, HtmlOptions, TerminalOptions } from "./render-options";
export { prepareSteps } from "./prepare";
export type { PrepareOptions, SpanOptions } from "./prepare";
export { summarize } from "./summarize";
export type { SummarizeOptions } from "./summarize";
export { MEASURES, WARNING_CODES } from "./summary";
export type {
  Distribution,
  GroupSummary,
  Histogram,
  LogProbSource,
  LogProbSummary,
  Measure,
  RewardFunction,
  SamplerGap,
  StepSummary,
  Summary,
  Warning,
  WarningCode,
} from "./summary";
export { renderTerminal } from "./terminal/render";
