// The rollouts of one prompt, side by side.
import { deviation, mean } from "./distribution";
import { clippedShare, keptOf, lengthOf, truncatedShare } from "./measures";
import type { ReportRollout, ReportStep } from "./model";
import type { GroupSummary } from "./summary";

function summarizeGroup(group: string, members: readonly number[], { rollouts }: ReportStep): GroupSummary {
  const own = members.map((index) => rollouts[index]!);
  const rewards = own.flatMap(({ reward }) => (reward !== undefined && Number.isFinite(reward) ? [reward] : []));
  const entropies = own.flatMap((rollout) => keptOf(rollout, rollout.entropies)).filter(Number.isFinite);
  const lengths = own.flatMap((rollout) => lengthOf(rollout) ?? []);
  const some = rewards.length > 0;
  return {
    group,
    rollouts: members,
    rewardMean: some ? mean(rewards) : null,
    rewardStd: some ? deviation(rewards) : null,
    rewardMin: some ? Math.min(...rewards) : null,
    rewardMax: some ? Math.max(...rewards) : null,
    equalRewards: rewards.length === own.length && own.length > 1 && rewards.every((reward) => reward === rewards[0]),
    lengthMean: lengths.length > 0 ? mean(lengths) : null,
    entropyMean: entropies.length > 0 ? mean(entropies) : null,
    truncated: truncatedShare(own),
    clipped: clippedShare(own),
  };
}

/** What rollouts without a label are listed under. */
const UNLABELLED = "(no label)";

/** A number and the string that spells it are the same label. */
export const groupLabel = ({ group }: ReportRollout): string => String(group ?? UNLABELLED);

/** By first appearance. */
export function summarizeGroups(step: ReportStep): GroupSummary[] {
  const members = new Map<string, number[]>();
  for (const [index, rollout] of step.rollouts.entries()) {
    const label = groupLabel(rollout);
    const known = members.get(label);
    if (known) known.push(index);
    else members.set(label, [index]);
  }
  return Array.from(members, ([label, indices]) => summarizeGroup(label, indices, step));
}
