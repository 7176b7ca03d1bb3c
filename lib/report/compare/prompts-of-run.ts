// The rollouts of a run by prompt: what two runs have in common.
import { figuresOf } from "../figures";
import type { Run } from "../model";

/** Sums of one prompt. */
export interface PromptFigures {
  readonly prompt: string;
  /** Figure → sum and count over the prompt's rollouts; values that are not finite do not count. */
  readonly figures: Map<string, { sum: number; count: number }>;
  best: readonly [step: number, rollout: number] | null;
  bestReward: number;
}

/** The steps that are compared: the last `share` of a run's steps, at least one. */
export const windowOf = ({ steps }: Run, share: number): number =>
  Math.min(Math.floor(steps.length * (1 - share)), Math.max(steps.length - 1, 0));

/** By prompt, in the order in which they appear. Rollouts of one prompt text are one prompt, in whatever step they are. */
export function promptsOf({ steps }: Run, from: number): Map<string, PromptFigures> {
  const prompts = new Map<string, PromptFigures>();
  for (let place = from; place < steps.length; ++place)
    for (const [index, rollout] of steps[place]!.rollouts.entries()) {
      const { prompt, group } = rollout;
      const key = prompt === undefined ? `g${JSON.stringify(group ?? null)}` : `p${prompt}`;
      let known = prompts.get(key);
      if (known === undefined) {
        known = {
          prompt: prompt ?? String(group ?? "(no label)"),
          figures: new Map(),
          best: null,
          bestReward: -Infinity,
        };
        prompts.set(key, known);
      }
      for (const [name, value] of figuresOf(rollout)) {
        if (!Number.isFinite(value)) continue;
        const sums = known.figures.get(name) ?? { sum: 0, count: 0 };
        sums.sum += value;
        ++sums.count;
        known.figures.set(name, sums);
      }
      if (known.best === null || (rollout.reward ?? -Infinity) > known.bestReward) {
        known.best = [place, index];
        known.bestReward = rollout.reward ?? -Infinity;
      }
    }
  return prompts;
}
