// Draws with replacement from a seed: the same on every machine, whatever else draws.
import { optionError, rangeError } from "../../core/errors";
import { needInt32 } from "../../core/arrays";
import { needNumber } from "../../core/option-checks";
import { integersBelow } from "../../core/random";

/** How samples are drawn. */
export interface DrawOptions {
  /** Samples of one draw, an integer >= 1. */
  readonly n: number;
  /** Seed of the draws, an integer in [0, 2^32). */
  readonly seed?: number;
  /** How many draws. Default 1000. Only with `seed`. */
  readonly draws?: number;
  /** Draws made elsewhere in place of a seed: [draws, n] indices of samples. */
  readonly indices?: Int32Array;
}

/** Calls `visit` with the n indices below `count` of each draw; the array is reused. */
export type EachDraw = (count: number, visit: (indices: Int32Array) => void) => void;

/** Checked draws, or null where neither a seed nor indices are given. */
export function optionalDraws(op: string, { n, seed, draws, indices }: DrawOptions): EachDraw | null {
  needNumber(op, "n", n, { min: 1, max: 2 ** 31 - 1, integer: true });
  if (indices !== undefined && (seed !== undefined || draws !== undefined))
    throw optionError(op, "indices", indices, "nothing where seed or draws is given: either indices or a seed");
  if (indices !== undefined) return givenDraws(op, n, indices);
  if (seed === undefined) {
    if (draws !== undefined) throw optionError(op, "seed", seed, "an integer in [0, 2^32) with draws");
    return null;
  }
  const start = needNumber(op, "seed", seed, { min: 0, max: 2 ** 32 - 1, integer: true });
  const times = needNumber(op, "draws", draws ?? 1000, { min: 1, integer: true });
  return (count, visit) => {
    const next = integersBelow(count, start);
    const drawn = new Int32Array(n);
    for (let draw = 0; draw < times; ++draw) {
      for (let k = 0; k < n; ++k) drawn[k] = next();
      visit(drawn);
    }
  };
}

function givenDraws(op: string, n: number, indices: Int32Array): EachDraw {
  const length = ArrayBuffer.isView(indices) ? indices.length : 0;
  if (length === 0 || length % n !== 0)
    needInt32(op, "indices", indices, Math.max(1, Math.round(length / n)) * n, "draws * n");
  const given = needInt32(op, "indices", indices, length, "draws * n");
  return (count, visit) => {
    const outside = given.findIndex((index) => index < 0 || index >= count);
    if (outside >= 0)
      throw rangeError(op, `indices[${outside}]`, given[outside], `0..${count - 1}, an index of a sample`);
    for (let begin = 0; begin < given.length; begin += n) visit(given.subarray(begin, begin + n));
  };
}
