// Rollouts with what was computed for them, as the HTML report.
import { writeFile } from "node:fs/promises";
import { prepareSteps, renderHtml, type ReportFacts, type ReportRollout, type ReportStep } from "../report";
import type { OptionSpecs } from "./shell/command";
import type { Estimate } from "./rollouts/estimate";
import { version } from "./version";

export const REPORT_OPTION: OptionSpecs = {
  report: { value: "FILE", text: "an HTML page about it: one file, which needs no network" },
};

/** An estimate as a step of a report: steps of the rollouts are drawn with what modulation did to them. */
export function estimatedStep(label: string, { rollouts, spans: found }: Estimate): ReportStep {
  const own: ReportRollout[] = rollouts.map((rollout) => ({ ...rollout }));
  if (found) {
    const lists = own.map((): NonNullable<ReportRollout["spans"]>[number][] => []);
    const { spans, stepEntropies, scales, clarities } = found;
    for (let s = 0; 3 * s < spans.length; ++s) {
      const [row, begin, finish] = spans.subarray(3 * s) as unknown as [number, number, number];
      const after = own[row]!.advantages?.[begin];
      lists[row]!.push({ begin, finish, entropy: stepEntropies[s]!, scale: scales[s]!, clarity: clarities[s]!, ...(after !== undefined && { after }) });
    }
    own.forEach((rollout, row) => (own[row] = { ...rollout, spans: lists[row]! }));
  }
  // What follows from the records, such as where ratios are clipped, and nothing that the estimator said.
  return { label, rollouts: prepareSteps(own).flatMap((step) => step.rollouts) };
}

/** Values that are no text, number or yes/no as JSON. */
function factsOf(given: Readonly<Record<string, unknown>>): ReportFacts {
  const plain = (value: unknown): string | number | boolean =>
    typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : JSON.stringify(value);
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, plain(value)]));
}

/** Draws prepared steps, and writes the page. */
export async function writeReport(file: string, steps: readonly ReportStep[], settings: Readonly<Record<string, unknown>>, title?: string): Promise<void> {
  const facts = { ...factsOf(settings), surprisal: version(), node: process.versions.node };
  await writeFile(file, renderHtml({ steps, facts, ...(title !== undefined && { title }) }));
}
