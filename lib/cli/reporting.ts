// Rollouts with what was computed for them, as the HTML report.
import { writeFile } from "node:fs/promises";
import { renderHtml, type ReportFacts, type ReportRollout, type ReportStep } from "../report";
import { prepareAsOne } from "../report/prepare";
import { spansOfRows, weightsOfSpan } from "../report/spans";
import type { OptionSpecs } from "./shell/command";
import type { Estimate } from "./rollouts/estimate";
import { version } from "./version";

export const REPORT_OPTION: OptionSpecs = {
  report: { value: "FILE", text: "also write an HTML page about the rollouts, which needs no network" },
};

/** An estimate as a step of a report: steps of the rollouts are drawn with what modulation did to them. */
export function estimatedStep(label: string, { rollouts, spans: found }: Estimate): ReportStep {
  const lists =
    found &&
    spansOfRows(rollouts.length, found.spans, (span, row, begin) => ({
      ...weightsOfSpan(found, span),
      after: rollouts[row]!.advantages?.[begin],
    }));
  const own: readonly ReportRollout[] = lists
    ? rollouts.map((rollout, row) => ({ ...rollout, spans: lists[row]! }))
    : rollouts;
  // What follows from the records, such as where ratios are clipped, and nothing that the estimator said.
  return prepareAsOne(label, own);
}

/** Values that are no text, number or yes/no as JSON. */
function factsOf(given: Readonly<Record<string, unknown>>): ReportFacts {
  const plain = (value: unknown): string | number | boolean =>
    typeof value === "string" || typeof value === "number" || typeof value === "boolean"
      ? value
      : JSON.stringify(value);
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, plain(value)]));
}

/** Draws prepared steps, and writes the page. */
export async function writeReport(
  file: string,
  steps: readonly ReportStep[],
  settings: Readonly<Record<string, unknown>>,
  title?: string,
): Promise<void> {
  const facts = { ...factsOf(settings), surprisal: version(), node: process.versions.node };
  await writeFile(file, renderHtml({ steps, facts, title }));
}
