// pass@k of a step: the groups that have at least k rollouts with a reward.
import { passAtK } from "../advantage/metrics/pass-at-k";
import type { ReportStep } from "./model";
import type { GroupSummary } from "./summary";

/** k → mean of pass@k over groups, for k = 1, 2, 4, … up to the largest group. */
export function passAtKOf(
  groups: readonly GroupSummary[],
  { rollouts }: ReportStep,
  correctAbove: number,
): Record<string, number> {
  const samples = groups.map((group) => {
    const rewards = group.rollouts.flatMap((index) => rollouts[index]!.reward ?? []).filter(Number.isFinite);
    return { count: rewards.length, correct: rewards.filter((reward) => reward > correctAbove).length };
  });
  const largest = samples.reduce((most, { count }) => Math.max(most, count), 0);
  const means: Record<string, number> = {};
  for (let k = 1; k <= largest; k *= 2) {
    const own = samples.filter(({ count }) => count >= k);
    means[k] = own.reduce((sum, { count, correct }) => sum + passAtK(count, correct, k), 0) / own.length;
  }
  return means;
}
