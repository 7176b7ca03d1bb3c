// A penalty for responses that come near the length limit or pass it.
import { needIds, type TokenIds } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { allocateFloat, floatDType } from "../core/float-arrays";
import { rangeError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { type PresetOption, resolvePreset } from "../presets";
import { needRowRewards } from "./row-rewards";

/** How an overlong response is punished. */
export interface OverlongConventions {
  /** Beyond the maximal length the penalty stays at `"cap"`, −factor, or continues to `"grow"` by the same slope. Default `"cap"`. */
  readonly beyond?: "cap" | "grow";
}

const BEYOND = ["cap", "grow"] as const;

export interface OverlongPenaltyOptions extends OverlongConventions, PresetOption<"overlongPenalty"> {
  /** L: the longest response allowed, tokens, > 0. */
  readonly maxLength: number;
  /** C: the last tokens of it, over which the penalty grows from 0 to −factor. In [0, maxLength]; 0 = a step, for `"cap"`. */
  readonly buffer: number;
  /** f: the penalty at the maximal length, in units of the reward, >= 0. Default 1. */
  readonly factor?: number;
}

export interface OverlongPenaltyResult {
  /** The rewards with the penalties added. */
  readonly rewards: FloatArray;
  /** One per row, <= 0. */
  readonly penalties: FloatArray;
  /** Rows with a penalty below 0. */
  readonly penalized: number;
}

/**
 * Adds a length penalty to the rewards of rows. With n the length of the response:
 *
 *     penalty = −f · max(0, n − (L − C)) / C        at least −f; "grow": no lower bound
 *
 * @param rewards one per row
 * @param lengths tokens of each response, integers >= 0
 * @param options limit, buffer and factor; `preset` takes a trainer's form
 * @returns in the type of `rewards`; computed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Yu et al. 2025, DAPO, equation 13 (soft overlong punishment)
 */
export function overlongPenalty(
  rewards: FloatArray,
  lengths: TokenIds,
  options: OverlongPenaltyOptions,
): OverlongPenaltyResult {
  const op = "overlongPenalty";
  const resolved = resolvePreset(op, options.preset, options);
  const grows = needWord(op, "beyond", resolved.beyond ?? "cap", BEYOND) === 1;
  const maxLength = needNumber(op, "maxLength", resolved.maxLength, { min: 0, above: true });
  const buffer = needNumber(op, "buffer", resolved.buffer, { min: 0, max: maxLength, above: grows });
  const factor = needNumber(op, "factor", resolved.factor ?? 1, { min: 0 });
  const given = needRowRewards(op, rewards);
  const counts = needIds(op, "lengths", lengths, given.length, "one per row");
  const negative = counts.findIndex((length) => length < 0);
  if (negative >= 0) throw rangeError(op, `lengths[${negative}]`, counts[negative], "an integer >= 0");

  const dtype = floatDType(given);
  const result = {
    rewards: allocateFloat(dtype, counts.length),
    penalties: allocateFloat(dtype, counts.length),
    penalized: 0,
  };
  counts.forEach((length, b) => {
    const excess = Math.max(0, length - (maxLength - buffer));
    // Without a buffer the penalty is a step just beyond the limit.
    const share = excess > buffer && !grows ? 1 : excess === 0 ? 0 : excess / buffer;
    const penalty = 0 - share * factor;
    result.penalties[b] = penalty;
    result.rewards[b] = given[b]! + penalty;
    if (penalty < 0) ++result.penalized;
  });
  return result;
}
