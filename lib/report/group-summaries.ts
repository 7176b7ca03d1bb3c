// The rollouts of one prompt, side by side.
import { finiteValues } from "../core/kept-values";
import { groupRollouts, membersOf } from "../io/rollout-groups";
import { deviation, mean } from "./distribution";
import { clippedShare, keptOfAll, lengthOf, truncatedShare } from "./measures";
import type { ReportStep } from "./model";
import { promptNames } from "./prompt-names";
import type { GroupSummary } from "./summary";

function summarizeGroup(
  group: string,
  name: string,
  members: readonly number[],
  { rollouts }: ReportStep,
): GroupSummary {
  const own = members.map((index) => rollouts[index]!);
  const rewards = own.flatMap(({ reward }) => (reward !== undefined && Number.isFinite(reward) ? [reward] : []));
  const entropies = finiteValues(keptOfAll(own, ({ entropies: known }) => known));
  const lengths = own.flatMap((rollout) => lengthOf(rollout) ?? []);
  const some = rewards.length > 0;
  return {
    group,
    name,
    rollouts: members,
    rewardMean: some ? mean(rewards) : null,
    rewardStd: some ? deviation(rewards) : null,
    rewardMin: some ? rewards.reduce((least, reward) => Math.min(least, reward)) : null,
    rewardMax: some ? rewards.reduce((most, reward) => Math.max(most, reward)) : null,
    equalRewards: rewards.length === own.length && own.length > 1 && rewards.every((reward) => reward === rewards[0]),
    lengthMean: lengths.length > 0 ? mean(lengths) : null,
    entropyMean: entropies.length > 0 ? mean(entropies) : null,
    truncated: truncatedShare(own),
    clipped: clippedShare(own),
  };
}

/** By first appearance. */
export function summarizeGroups(step: ReportStep): GroupSummary[] {
  const { rollouts } = step;
  const groups = groupRollouts(rollouts);
  const members = membersOf(groups);
  const names = promptNames(members.map(([first]) => rollouts[first!]!.prompt));
  return members.map((own, g) => {
    const group = groups.groupNames[g]!;
    return summarizeGroup(group, names[g] ?? group, own, step);
  });
}
