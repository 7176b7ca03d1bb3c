// A penalty for responses that repeat themselves, by the n-grams of their token ids.
import type { BackendOption } from "../backend/select";
import { needFloats, needIds, optionalMask, type TokenIds } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { allocateFloat, floatDType } from "../core/float-arrays";
import { needNumber } from "../core/option-checks";
import { needRows, type RowLayout } from "../core/row-layout";
import { countNgrams } from "../ops/delim";

export interface RepetitionPenaltyOptions extends RowLayout, BackendOption {
  /** Tokens of an n-gram, an integer >= 1. */
  readonly ngram: number;
  /** The penalty where all n-grams were the same, <= 0, in units of the reward. */
  readonly maxPenalty: number;
  /** 1 = the policy's token. An n-gram does not span a masked token. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface RepetitionPenaltyResult {
  /** The rewards with the penalties added. */
  readonly rewards: FloatArray;
  /** One per row, <= 0. */
  readonly penalties: FloatArray;
  /** n-grams of each row, and how many different ones. */
  readonly ngrams: Int32Array;
  readonly distinct: Int32Array;
}

/**
 * Adds a repetition penalty to the rewards of rows:
 *
 *     penalty = maxPenalty · (1 − distinct n-grams / n-grams)        0 for a row without an n-gram
 *
 * @param rewards one per row
 * @param tokens ids, as `shape` or `offsets` say
 * @returns in the type of `rewards`; n-grams are compared exactly, no hash decides
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Yeo et al. 2025, Demystifying Long Chain-of-Thought Reasoning in LLMs
 */
export function repetitionPenalty(
  rewards: FloatArray,
  tokens: TokenIds,
  options: RepetitionPenaltyOptions,
): RepetitionPenaltyResult {
  const op = "repetitionPenalty";
  const rows = needRows(op, options);
  const ids = needIds(op, "tokens", tokens, rows.n, rows.meaning);
  const given = needFloats(op, "rewards", rewards, rows.B, "one per row");
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const ngram = needNumber(op, "ngram", options.ngram, { min: 1, integer: true });
  const maxPenalty = needNumber(op, "maxPenalty", options.maxPenalty, { max: 0 });

  const dtype = floatDType(given);
  const { totals, distinct } = countNgrams(ids, {
    shape: options.shape,
    offsets: options.offsets,
    length: ngram,
    mask: mask ?? undefined,
    backend: options.backend,
  });
  const result = {
    rewards: allocateFloat(dtype, rows.B),
    penalties: allocateFloat(dtype, rows.B),
    ngrams: totals,
    distinct,
  };
  given.forEach((reward, b) => {
    const repeated = totals[b]! - distinct[b]!;
    const penalty = repeated === 0 ? 0 : maxPenalty * (repeated / totals[b]!);
    result.penalties[b] = penalty;
    result.rewards[b] = reward + penalty;
  });
  return result;
}
