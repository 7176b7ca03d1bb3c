// EGPO and EDGE-GRPO by definition: rows as lists of kept values, one formula after the other, every reading of the text
// spelled out. Group advantages: ddof 1, epsilon 1e-6, a group of one gets 0.
const average = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;
const clamp = (x: number, low: number, high: number): number => Math.min(Math.max(x, low), high);

/** Answer, thinking or joint part of one row, by the first closing tag at or behind its first kept token. */
export function responsePart(
  tokens: readonly number[],
  mask: readonly number[],
  tag: readonly number[],
  mode: "answer" | "thinking" | "joint",
  unclosed: "empty" | "all",
): number[] {
  const first = mask.indexOf(1);
  const isTag = (t: number): boolean => tag.every((id, k) => tokens[t + k] === id);
  const tags = tokens.map((_, t) => t).filter((t) => t >= first && isTag(t));
  const split = tags[0] === undefined ? (unclosed === "all" ? tokens.length : first) : tags[0] + tag.length;
  return tokens.map((_, t) => {
    if (first < 0 || mask[t] !== 1 || t < first) return 0;
    return mode === "joint" || t < split === (mode === "thinking") ? 1 : 0;
  });
}

export interface Rollout {
  readonly group: number;
  readonly reward: number;
  /** Of the tokens that count, nats. */
  readonly entropies: readonly number[];
}

function fellows(rollouts: readonly Rollout[], group: number): Rollout[] {
  return rollouts.filter((other) => other.group === group);
}

export function groupAdvantages(rollouts: readonly Rollout[]): number[] {
  return rollouts.map(({ group, reward }) => {
    const rewards = fellows(rollouts, group).map((other) => other.reward);
    if (new Set(rewards).size === 1) return 0;
    const mean = average(rewards);
    const variance = rewards.reduce((sum, r) => sum + (r - mean) ** 2, 0) / (rewards.length - 1);
    return (reward - mean) / (Math.sqrt(variance) + 1e-6);
  });
}

export function egpoOracle(
  rollouts: readonly Rollout[],
  { low, high, epsilon, mode }: { low: number; high: number; epsilon: number; mode: "original" | "clamp" | "lockOne" },
) {
  const measured = (rollout: Rollout): boolean =>
    rollout.entropies.length > 0 && rollout.entropies.every(Number.isFinite);
  const advantages = groupAdvantages(rollouts);
  return rollouts.map((rollout, b) => {
    const means = fellows(rollouts, rollout.group)
      .filter(measured)
      .map((other) => average(other.entropies));
    const comparable = measured(rollout) && means.length > 1 && means.some((mean) => mean > 0);
    const ratio = comparable ? average(means) / (average(rollout.entropies) + epsilon) : 1;
    const right = rollout.reward > 0;
    const weight =
      mode === "original"
        ? clamp(ratio, low, high)
        : right
          ? clamp(ratio, 1, high)
          : mode === "clamp"
            ? clamp(ratio, low, 1)
            : 1;
    return { advantage: advantages[b]! * weight, base: advantages[b]!, ratio, weight };
  });
}
