// Which prompts got better or worse.
import type { PromptChange } from "./comparison";
import type { PromptFigures } from "./prompts-of-run";

/** Prompts with rewards in the first run and in another one; largest change first, equal ones as in the first run. */
export function promptChangesOf(runs: readonly ReadonlyMap<string, PromptFigures>[]): PromptChange[] {
  const [first] = runs;
  if (first === undefined) return [];
  const changes = Array.from(first).flatMap(([key, { prompt }]): PromptChange[] => {
    const own = runs.map((run) => run.get(key));
    const sums = own.map((known) => known?.figures.get("reward"));
    const rewards = sums.map((known) => (known ? known.sum / known.count : null));
    const base = rewards[0];
    if (base === null || base === undefined) return [];
    const gaps = rewards.slice(1).flatMap((reward) => (reward === null ? [] : [reward - base]));
    if (gaps.length === 0) return [];
    return [
      {
        prompt,
        rewards,
        counts: sums.map((known) => known?.count ?? 0),
        difference: gaps.reduce((most, gap) => (Math.abs(gap) > Math.abs(most) ? gap : most)),
        best: own.map((known) => known?.best ?? null),
      },
    ];
  });
  return changes.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}
