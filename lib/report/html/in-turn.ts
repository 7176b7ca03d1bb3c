// Which rollouts of a step come onto the page where not all of them do.
import type { StepSummary } from "../summary";

export interface Place {
  /** Among the rollouts of the step. */
  readonly index: number;
  readonly group: string;
}

/** The first rollout of every group, then the second of every group, and so on. */
export function inTurn({ groups }: StepSummary): Place[] {
  const most = groups.reduce((longest, { rollouts }) => Math.max(longest, rollouts.length), 0);
  return Array.from({ length: most }, (_, turn) =>
    groups.flatMap(({ group, rollouts }) => (turn < rollouts.length ? [{ index: rollouts[turn]!, group }] : [])),
  ).flat();
}
