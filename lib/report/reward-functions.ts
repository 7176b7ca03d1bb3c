// Rewards by name, each function in numbers.
import { deviation, mean } from "./distribution";
import type { ReportRollout } from "./model";
import type { RewardFunction } from "./summary";

/** By first appearance. Rollouts on which a function abstained (absent, NaN) do not count. */
export function rewardFunctionsOf(rollouts: readonly ReportRollout[]): Readonly<Record<string, RewardFunction>> {
  const values = new Map<string, number[]>();
  for (const { rewards } of rollouts)
    for (const [name, reward] of Object.entries(rewards ?? {})) {
      const known = values.get(name) ?? [];
      if (Number.isFinite(reward)) known.push(reward);
      values.set(name, known);
    }
  const found = Array.from(values).filter(([, numbers]) => numbers.length > 0);
  return Object.fromEntries(
    found.map(([name, numbers]) => [
      name,
      {
        count: numbers.length,
        mean: mean(numbers),
        std: deviation(numbers),
        min: numbers.reduce((least, reward) => Math.min(least, reward)),
        max: numbers.reduce((most, reward) => Math.max(most, reward)),
      },
    ]),
  );
}
