// Runs side by side, in numbers.
import { optionError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { checkSteps } from "../check";
import type { Run } from "../model";
import { scalarsOf } from "../scalars";
import { summarizeChecked, type SummarizeOptions } from "../summarize";
import type { StepSummary } from "../summary";
import type { Comparison, Curve } from "./comparison";
import { differencesOf } from "./differences";
import { promptChangesOf } from "./prompt-changes";
import { promptsOf, windowOf } from "./prompts-of-run";

export interface CompareOptions extends SummarizeOptions {
  /** Share of each run's steps, from its end, that differences and prompts are about; at least one step. Default 0.25. */
  readonly lastSteps?: number;
}

function curvesOf(runs: readonly (readonly StepSummary[])[]): Curve[] {
  return scalarsOf(runs.flat()).map(({ name, title, unit, value }) => ({
    name,
    title,
    unit: unit ?? null,
    series: runs.map((steps) =>
      steps
        .flatMap((step) => {
          const known = value(step);
          return known === null ? [] : [{ step: step.step, value: known }];
        })
        .sort((a, b) => a.step - b.step),
    ),
  }));
}

function checkRuns(op: string, runs: readonly Run[]): void {
  if (runs.length < 2) throw optionError(op, "runs", runs, "two runs or more, { name, steps } each");
  const names = new Set<string>();
  for (const [i, { name, steps }] of runs.entries()) {
    if (names.has(name)) throw optionError(op, `runs[${i}].name`, name, "a name that no other run has");
    names.add(name);
    checkSteps(op, steps, `runs[${i}].steps`);
  }
}

/**
 * Returns runs side by side, as plain data: the course of every scalar, how far each run is from the first one, and which prompts got
 * better or worse.
 *
 *     curves       every scalar of `summarize` by training step
 *     differences  mean over prompts of a run − that of the first, over the last `lastSteps` of each run. With five prompts or more in
 *                  common it is over those, as pairs. low … high: percentile bootstrap over prompts, 95 %, 2000 draws from a fixed seed
 *     prompts      mean rewards of each prompt in each run, largest change first
 *
 * A prompt is its text, or the label of its group where no text is known. Rewards in their own unit, entropies in nats, lengths in
 * kept tokens. Values that are not finite do not count.
 *
 * @param runs two or more, with names that differ; the first is what the others are compared with
 * @param options `lastSteps` (default 0.25), `limits`, `correctAbove`
 * @throws SurprisalError as `summarize` does, and _OPTION for fewer than two runs or a name that stands twice
 * @see Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 13 (the percentile interval)
 */
export function compareRuns(runs: readonly Run[], options: CompareOptions = {}): Comparison {
  const op = "compareRuns";
  checkRuns(op, runs);
  const share = needNumber(op, "lastSteps", options.lastSteps ?? 0.25, { min: 0, max: 1 });
  const summaries = runs.map(({ steps }) => summarizeChecked(op, steps, options).steps);
  const begins = runs.map((run) => windowOf(run, share));
  const prompts = runs.map((run, i) => promptsOf(run, begins[i]!));
  return {
    runs: runs.map(({ name, steps }) => ({
      name,
      steps: steps.length,
      rollouts: steps.reduce((sum, { rollouts }) => sum + rollouts.length, 0),
    })),
    curves: curvesOf(summaries),
    window: summaries.map((steps, i) =>
      steps.length === 0 ? null : ([steps[begins[i]!]!.step, steps.at(-1)!.step] as const),
    ),
    differences: differencesOf(prompts),
    prompts: promptChangesOf(prompts),
  };
}
