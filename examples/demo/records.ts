// Rollouts as surprisal/io writes them: which steps, and what is said about a run beside the numbers.
import { rolloutsOf } from "../../lib/experience";
import type { Rollout } from "../../lib/io";
import { DELIMITERS, tokenTexts } from "./task";
import type { Run, StepReport } from "./train";

/** Steps of which every run keeps the rollouts: the first, every hundredth, and the last. */
export function isRecorded(step: number, steps: number): boolean {
  return step % 100 === 0 || step === steps - 1;
}

export function recordsOf({ step, experience }: StepReport, { method, seed }: Run): Rollout[] {
  const { prompts, groups } = experience;
  const rollouts = rolloutsOf(experience, {
    step,
    groupPrefix: `${method}-${seed}-`,
    meta: (row) => ({ method, seed, results: prompts[groups[row]!]!.data!.results, delimiters: DELIMITERS }),
  });
  return rollouts.map((rollout) => ({ ...rollout, tokens: tokenTexts(rollout.tokenIds!) }));
}
