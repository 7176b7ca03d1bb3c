// Rollouts with what was computed for them, as the HTML report.
import { writeFile } from "node:fs/promises";
import ESTIMATORS from "../advantage/estimators";
import type { BackendOption } from "../backend/select";
import { renderHtml, type ReportFacts, type ReportRollout, type ReportStep, type SpanOptions } from "../report";
import { prepareAsOne } from "../report/prepare";
import { spansOfRows, weightsOfSpan } from "../report/spans";
import { withFields } from "../io/record";
import type { OptionSpecs } from "./shell/command";
import { delimitersOf } from "./rollouts/delimiters";
import type { Estimate } from "./rollouts/estimate";
import type { Batch } from "./rollouts/read-batches";
import { withTextDelimiters } from "./rollouts/text-delimiters";
import type { FunctionOptions } from "./tables/option-flags";
import { version } from "./version";

export const REPORT_OPTION: OptionSpecs = {
  report: { value: "FILE", text: "also write an HTML page about the rollouts, which needs no network" },
};

/** The options of EMPG: where steps begin and end, and how they are weighed. */
function spanOptions(): FunctionOptions {
  const { grpoAdvantage: _, ...options } = ESTIMATORS.empg.options;
  return { name: "empgAdvantage", options };
}
export const SPANS = spanOptions();

/** A batch as a step of a report; with spans where the options or the rollouts say what begins and ends them. */
export function preparedStep(
  { label, source, rollouts }: Batch,
  options: Readonly<Record<string, unknown>>,
  { backend }: BackendOption,
): ReportStep {
  const given = withTextDelimiters(options, rollouts, source);
  const delimiters = { ...delimitersOf(rollouts), ...given } as Partial<SpanOptions>;
  const spans = delimiters.start && delimiters.end ? (delimiters as SpanOptions) : undefined;
  return prepareAsOne(label, rollouts, { spans, backend });
}

/** An estimate as a step of a report: steps of the rollouts are drawn with what modulation did to them. */
export function estimatedStep(label: string, { asRead: rollouts, spans: found }: Estimate): ReportStep {
  const lists =
    found &&
    spansOfRows(rollouts.length, found.spans, (span, row, begin) => ({
      ...weightsOfSpan(found, span),
      after: rollouts[row]!.advantages?.[begin],
    }));
  const own: readonly ReportRollout[] = lists
    ? rollouts.map((rollout, row) => withFields(rollout, { spans: lists[row]! }))
    : rollouts;
  // What follows from the records, such as where ratios are clipped, and nothing that the estimator said.
  return prepareAsOne(label, own);
}

/** Settings and versions for the foot of a page. Values that are no text, number or yes/no are JSON. */
export function factsOf(given: Readonly<Record<string, unknown>>): ReportFacts {
  const plain = (value: unknown): string | number | boolean =>
    typeof value === "string" || typeof value === "number" || typeof value === "boolean"
      ? value
      : JSON.stringify(value);
  const settings = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, plain(value)]));
  return { ...settings, surprisal: version(), node: process.versions.node };
}

/** Draws prepared steps, and writes the page. */
export async function writeReport(
  file: string,
  steps: readonly ReportStep[],
  settings: Readonly<Record<string, unknown>>,
  title?: string,
): Promise<void> {
  await writeFile(file, renderHtml({ steps, facts: factsOf(settings), title }));
}
