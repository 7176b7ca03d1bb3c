// Bounds of a reward.
import { optionError } from "../core/errors";

/** Smallest and largest reward. Where they are the wrong way round every reward becomes the second, as in torch.clamp. */
export type RewardClip = readonly [low: number, high: number];

/** Two numbers, ±Infinity allowed; null where none are given. */
export function needRewardClip(op: string, range: RewardClip | undefined): RewardClip | null {
  if (range === undefined) return null;
  // JavaScript callers pass what they like.
  const given: readonly unknown[] = Array.isArray(range) ? range : [];
  const [low, high] = given;
  if (
    given.length !== 2 ||
    typeof low !== "number" ||
    typeof high !== "number" ||
    Number.isNaN(low) ||
    Number.isNaN(high)
  )
    throw optionError(op, "rewardClip", range, "[low, high], two numbers");
  return [low, high];
}
