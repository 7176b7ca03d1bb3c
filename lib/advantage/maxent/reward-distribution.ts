// The target distribution of a prompt: its completions by reward.
import type { BackendOption } from "../../backend/select";
import type { CollectiveOption } from "../../core/collective";
import type { FloatArray } from "../../core/dtype";
import { valueError } from "../../core/errors";
import type { GroupLayout, NamedGroups } from "../../core/groups";
import { groupSoftmax } from "../../ops/group";

export interface RewardDistributionOptions extends GroupLayout, BackendOption, CollectiveOption {
  /** Divides the rewards, >= 0; 0 = the best ones share. Default 1. */
  readonly temperature?: number;
  /** Smallest share of a completion, >= 0; from 1/n on all are equal. Default 1e-6. */
  readonly floor?: number;
}

/** Checked rewards: +∞ has no softmax. NaN and −∞ have a meaning. */
function refuseInfinite(op: string, name: string, rewards: FloatArray): void {
  const at = ArrayBuffer.isView(rewards) ? rewards.indexOf(Infinity) : -1;
  if (at >= 0) throw valueError(op, `${name}[${at}]`, Infinity, "a number below it; bound the rewards");
}

/**
 * Distribution q over the completions of each prompt:
 *
 *     p = softmax(rewards / temperature),   q_i = p_i + ε·(1 − n·p_i) = (1 − ε·n)·p_i + ε,   ε = min(floor, 1/n)
 *
 * Sums to 1 in each group, no share is below ε. A group of one has 1. A reward of −∞ has the floor, NaN makes its group NaN,
 * +∞ is refused. The largest reward is subtracted before dividing, so nothing overflows.
 *
 * @param rewards one per completion (their totals)
 * @param options `groups` (a label per completion, or `"all"`) or `groupOffsets`
 * @returns in the type of `rewards`
 * @throws SurprisalError as `groupSoftmax`; ERR_SURPRISAL_VALUE for +∞
 */
export function rewardDistribution(rewards: FloatArray, options: RewardDistributionOptions & NamedGroups): FloatArray {
  refuseInfinite("rewardDistribution", "rewards", rewards);
  return groupSoftmax(rewards, { ...options, floor: options.floor ?? 1e-6 });
}
