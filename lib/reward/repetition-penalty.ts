// A penalty for responses that repeat themselves, by the n-grams of their token ids.
import { needFloats, needIds, optionalMask, type TokenIds } from "../core/arrays";
import { allocateFloat, type FloatArray, floatDType } from "../core/dtype";
import { needNumber } from "../core/options";
import { needRows, rowBegin, rowEnd, type RowLayout } from "../core/rows";

export interface RepetitionPenaltyOptions extends RowLayout {
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
 * @see Yeo et al. 2025, Demystifying Long Chain-of-Thought Reasoning in LLMs, appendix B.2
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
  const result = {
    rewards: allocateFloat(dtype, rows.B),
    penalties: allocateFloat(dtype, rows.B),
    ngrams: new Int32Array(rows.B),
    distinct: new Int32Array(rows.B),
  };
  for (let b = 0; b < rows.B; ++b) {
    const { total, distinct } = countNgrams(runs(ids, mask, rowBegin(rows, b), rowEnd(rows, b)), ngram);
    const repeated = total - distinct;
    const penalty = repeated === 0 ? 0 : maxPenalty * (repeated / total);
    result.ngrams[b] = total;
    result.distinct[b] = distinct;
    result.penalties[b] = penalty;
    result.rewards[b] = given[b]! + penalty;
  }
  return result;
}

/** The stretches of kept tokens in [begin, end). */
function runs(ids: Int32Array, mask: Uint8Array | null, begin: number, end: number): Int32Array[] {
  if (!mask) return [ids.subarray(begin, end)];
  const found: Int32Array[] = [];
  let start = begin;
  for (let i = begin; i <= end; ++i)
    if (i === end || mask[i] === 0) {
      if (i > start) found.push(ids.subarray(start, i));
      start = i + 1;
    }
  return found;
}

/**
 * Numbers what it sees: the tokens first, then pairs of them, fours and so on by doubling; an n-gram is the two longest such
 * grams that cover it together. A pair of numbers below 2^26 makes one exact key.
 */
function countNgrams(stretches: readonly Int32Array[], n: number): { total: number; distinct: number } {
  const long = stretches.filter((stretch) => stretch.length >= n);
  if (long.length === 0) return { total: 0, distinct: 0 };
  let numbers = new Numbering();
  let grams = long.map((stretch) => Array.from(stretch, (id) => numbers.of(id)));
  for (let length = 1; length < n;) {
    const step = Math.min(length, n - length);
    const { size } = numbers;
    const pairs = new Numbering();
    grams = grams.map((gram) => gram.slice(step).map((second, i) => pairs.of(gram[i]! * size + second)));
    numbers = pairs;
    length += step;
  }
  return { total: grams.reduce((sum, run) => sum + run.length, 0), distinct: numbers.size };
}

/** Keys numbered 0, 1, … by first appearance. */
class Numbering {
  private readonly numbers = new Map<number, number>();

  get size(): number {
    return this.numbers.size;
  }

  of(key: number): number {
    let number = this.numbers.get(key);
    if (number === undefined) this.numbers.set(key, (number = this.numbers.size));
    return number;
  }
}
