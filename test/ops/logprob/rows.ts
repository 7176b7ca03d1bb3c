// Rows of logits that stress different things, and their numbers as the logits' type holds them.
import { fromHalfBits, toHalfBits } from "../../../lib/core/half";
import { rng } from "../../support/rng";

export const LOGIT_DTYPES = ["float32", "float16", "bfloat16"] as const;
export type LogitDType = (typeof LOGIT_DTYPES)[number];

// The smallest with a tie, a warp, one past a block's worth of four rounds, and the vocabulary of Qwen.
export const SMALL_VOCABS = [1, 2, 3, 32, 1025] as const;
export const LARGE_VOCAB = 151_936;

/** Fills one row; `uniform` is the row's own generator. */
type RowMaker = (V: number, seed: number) => Float64Array;

const row = (V: number, at: (j: number) => number) => Float64Array.from({ length: V }, (_, j) => at(j));

/** Normal numbers; a long row repeats 4099 of them, a prime, so that no two threads of a kernel see the same ones. */
function noise(V: number, seed: number, mean = 0, std = 1): Float64Array {
  const values = rng(seed).normal(Math.min(V, 4099), mean, std);
  return row(V, (j) => values[j % 4099]!);
}

/** All others near 0, one logit so far above that they weigh e^-gap together. */
function peaked(gap: number): RowMaker {
  return (V, seed) => {
    const others = noise(V, seed);
    const top = Math.floor(V / 3);
    return row(V, (j) => (j === top ? gap + Math.log(V) : others[j]!));
  };
}

/** One competitor `gap` below the maximum of `height`, the rest out of reach: all error is that of one argument. */
function competitor(height: number, gap: number): RowMaker {
  return (V) => row(V, (j) => (j === V - 1 ? height : j === 0 ? height - gap : height - 90));
}

export const ROWS: Readonly<Record<string, RowMaker>> = {
  random: (V, seed) => noise(V, seed, 0, 3),
  wide: (V, seed) => noise(V, seed, -500, 40),
  flat: (V) => row(V, () => -2.75),
  "nearly flat": (V, seed) => noise(V, seed, 1, 0.01),
  "peaked, H of 1e-2": peaked(6.5),
  "peaked, H of 1e-5": peaked(14),
  "peaked, H of 1e-9": peaked(23.5),
  "one-hot": peaked(90),
  "competitor 12.37 below": competitor(3.1, 12.37),
  "competitor 15.91 below, far from 0": competitor(-717.3, 15.91),
  "two maxima": (V) => row(V, (j) => (j === 0 || j === V - 1 ? 5 : -1)),
  "all 1e4": (V) => row(V, () => 1e4),
  "around 1e4": (V, seed) => noise(V, seed, 1e4, 2),
  "some masked": (V, seed) => {
    const others = noise(V, seed, 0, 2);
    return row(V, (j) => (j % 3 === 1 ? -Infinity : others[j]!));
  },
  "all but one masked": (V) => row(V, (j) => (j === V - 1 ? -3 : -Infinity)),
};

export interface Batch {
  /** As the op takes it. */
  readonly logits: Float32Array | Uint16Array;
  /** The same numbers. */
  readonly rows: readonly Float64Array[];
  readonly N: number;
  readonly V: number;
  readonly dtype: LogitDType;
}

/** A batch in memory of a type; the rows come back as that type rounds them. */
export function batchOf(rows: readonly Float64Array[], dtype: LogitDType): Batch {
  const V = rows[0]?.length ?? 0;
  const flat = new Float64Array(rows.length * V);
  rows.forEach((values, n) => {
    flat.set(values, n * V);
  });
  const logits = dtype === "float32" ? Float32Array.from(flat) : toHalfBits(flat, dtype);
  const numbers = Float64Array.from(numbersOf(logits, dtype));
  return { logits, rows: rows.map((_, n) => numbers.slice(n * V, (n + 1) * V)), N: rows.length, V, dtype };
}

export function numbersOf(array: Float32Array | Uint16Array, dtype: LogitDType): Float32Array {
  return dtype === "float32" ? Float32Array.from(array) : fromHalfBits(array, dtype);
}

/** All kinds of rows at one width. */
export function hardBatch(V: number, dtype: LogitDType): Batch {
  return batchOf(
    Object.values(ROWS).map((make, i) => make(V, 100 + i)),
    dtype,
  );
}

/** A target for each row: the first, the last, the largest and others in turn. */
export function someTargets({ rows, V }: Batch): Int32Array {
  return Int32Array.from(
    rows,
    (x, n) => [0, V - 1, x.indexOf(x.reduce((a, b) => Math.max(a, b), -Infinity)), Math.floor(V / 2)][n % 4]!,
  );
}
