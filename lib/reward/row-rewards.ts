import { needFloats } from "../core/arrays";
import { type FloatArray, isFloatArray } from "../core/dtype";

/** Rewards of rows, however many there are. */
export function needRowRewards(op: string, rewards: unknown): FloatArray {
  return needFloats(op, "rewards", rewards, isFloatArray(rewards) ? rewards.length : 0, "one per row");
}
