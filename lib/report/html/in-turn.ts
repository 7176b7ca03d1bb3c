// Which rollouts of a step come onto the page where not all of them do.
import type { StepSummary } from "../summary";

export interface Place {
  /** Among the rollouts of the step. */
  readonly index: number;
  readonly group: string;
  /** Number of the group. */
  readonly place: number;
}

/** The first rollout of every group, then the second of every group, and so on. */
export function inTurn({ groups }: StepSummary): Place[] {
  const turns: Place[][] = [];
  groups.forEach(({ group, rollouts }, place) =>
    rollouts.forEach((index, turn) => (turns[turn] ??= []).push({ index, group, place })),
  );
  return turns.flat();
}
