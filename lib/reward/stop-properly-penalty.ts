// A penalty for responses that were cut off before they ended.
import { optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { allocateFloat, floatDType } from "../core/float-arrays";
import { dtypeError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import { needRowRewards } from "./row-rewards";

export interface StopProperlyPenaltyOptions {
  /** >= 0: what a truncated row's reward is multiplied by. < 0: the reward it gets instead. */
  readonly coefficient: number;
}

export interface StopProperlyPenaltyResult {
  readonly rewards: FloatArray;
  /** How many rows were truncated. */
  readonly truncated: number;
}

/**
 * Punishes truncated responses:
 *
 *     r_b ← coefficient · r_b    coefficient >= 0
 *     r_b ← coefficient          coefficient < 0
 *
 * @param rewards one per row
 * @param truncated one per row, 1 = the response ended at the length limit instead of an end token
 * @returns in the type of `rewards`; other rows as they were
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _BUFFER, naming the argument
 */
export function stopProperlyPenalty(
  rewards: FloatArray,
  truncated: Uint8Array,
  options: StopProperlyPenaltyOptions,
): StopProperlyPenaltyResult {
  const op = "stopProperlyPenalty";
  const coefficient = needNumber(op, "coefficient", options.coefficient);
  const given = needRowRewards(op, rewards);
  const flags = optionalMask(op, "truncated", truncated, given.length, "one per row");
  if (!flags) throw dtypeError(op, "truncated", truncated, "a Uint8Array of 0 and 1");
  const out = allocateFloat(floatDType(given), given.length);
  let count = 0;
  given.forEach((reward, b) => {
    const cut = flags[b] !== 0;
    if (cut) ++count;
    out[b] = !cut ? reward : coefficient < 0 ? coefficient : coefficient * reward;
  });
  return { rewards: out, truncated: count };
}
