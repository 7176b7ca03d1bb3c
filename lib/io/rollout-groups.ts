// Which rollouts belong together: those of one training step, and in it those of one prompt.
import type { Rollout } from "./record";

/** The rollouts of one training step. */
export interface StepRollouts<R extends Rollout = Rollout> {
  /** undefined: the rollouts do not name a step. */
  readonly step: number | undefined;
  readonly rollouts: readonly R[];
}

/** Rollouts by training step, in the order in which the steps first appear. */
export function splitBySteps<R extends Rollout>(rollouts: readonly R[]): StepRollouts<R>[] {
  const steps = new Map<number | undefined, R[]>();
  for (const rollout of rollouts) {
    const known = steps.get(rollout.step);
    if (known) known.push(rollout);
    else steps.set(rollout.step, [rollout]);
  }
  return Array.from(steps, ([step, own]) => ({ step, rollouts: own }));
}

/** The group of each rollout. */
export interface RolloutGroups {
  /** [B]: numbers from 0, by first appearance of (step, group). */
  readonly groups: Int32Array;
  /** What each number stands for: "a", or "a (step 2)" where the rollouts are of several steps. */
  readonly groupNames: readonly string[];
}

/** What rollouts without a label are listed under. */
const UNLABELLED = "(no label)";

/**
 * Numbers the groups of rollouts. The same label in two steps names two groups, and so do a string and a number.
 *
 * @param unlabelled rollouts without a label are one group of their step (`"together"`, the default), or a group each (`"apart"`)
 */
export function groupRollouts(
  rollouts: readonly Rollout[],
  unlabelled: "together" | "apart" = "together",
): RolloutGroups {
  const severalSteps = rollouts.some(({ step }) => step !== rollouts[0]!.step);
  const numbers = new Map<string, number>();
  const groupNames: string[] = [];
  const groups = Int32Array.from(rollouts, ({ group, step }, row) => {
    const alone = group === undefined && unlabelled === "apart" ? row : null;
    const key = JSON.stringify([group, step, alone]);
    const known = numbers.get(key) ?? numbers.size;
    if (known === numbers.size) {
      numbers.set(key, known);
      const label = String(group ?? UNLABELLED);
      groupNames.push(severalSteps && step !== undefined ? `${label} (step ${step})` : label);
    }
    return known;
  });
  return { groups, groupNames };
}

/** The rows of each group, in their order. */
export function membersOf({ groups, groupNames }: RolloutGroups): readonly (readonly number[])[] {
  const members = groupNames.map((): number[] => []);
  groups.forEach((group, row) => members[group]!.push(row));
  return members;
}
