// How often a row repeats itself: its n-grams, and how many of them are different.
import { type BackendOption, selectBackend } from "../../backend/select";
import { needIds, optionalMask, type TokenIds } from "../../core/arrays";
import { needNumber } from "../../core/options";
import type { RowLayout } from "../../core/rows";
import { needSpanRows } from "./rows";

export interface CountNgramsOptions extends RowLayout, BackendOption {
  /** Tokens of an n-gram, an integer >= 1. */
  readonly length: number;
  /** 1 = a token of an n-gram; none spans a masked token, which is not read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** One per row. */
export interface Ngrams {
  /** n-grams: stretches of `length` kept tokens, one from each token where there is one. */
  readonly totals: Int32Array;
  /** How many different ones. */
  readonly distinct: Int32Array;
}

/**
 * Counts the n-grams of token ids of each row, and the different ones among them. They are compared id by id: no hash decides.
 *
 * @param tokens ids, [n] as `shape` or `offsets` say; without either one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function countNgrams(tokens: TokenIds, options: CountNgramsOptions): Ngrams {
  const op = "countNgrams";
  const rows = needSpanRows(op, options, ArrayBuffer.isView(tokens) ? tokens.length : 0);
  const { n, B, T, offsets, meaning } = rows;
  const ids = needIds(op, "tokens", tokens, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const length = needNumber(op, "length", options.length, { min: 1, integer: true });
  const counts = new Int32Array(2 * B);
  selectBackend(op, options.backend).ops.delimNgrams({ tokens: ids, mask, offsets, n, B, T, length, counts });
  return { totals: counts.filter((_, i) => i % 2 === 0), distinct: counts.filter((_, i) => i % 2 === 1) };
}
