// surprisal/report: what happened in a batch of rollouts, as data, on a terminal and as one HTML file.
export { renderHtml } from "./html/render";
export { DEFAULT_LIMITS } from "./limits";
export type { WarningLimits } from "./limits";
export type { Report, ReportFacts, ReportRollout, ReportSpan, ReportStep } from "./model";
export type { HtmlOptions, TerminalOptions } from "./render-options";
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
