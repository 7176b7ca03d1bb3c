// Heads and hidden states of any size and type, as an op takes them and as numbers.
import type { HeadDType, HeadView } from "../../../lib";
import { fromHalfBits, toHalfBits } from "../../../lib/core/half";
import { rng } from "../../support/rng";

export const HEAD_DTYPES = ["float32", "float16", "bfloat16", "float64"] as const;

export const MAPS = [{}, { temperature: 2.5, scale: 0.3 }, { softcap: 7, scale: 1.3, temperature: 0.6 }] as const;

/** [rows, dim, vocab]. One of each; less and more than the tiles of 8 rows and of 64; dims around a step of 32; vocabularies
 * around a tile of 64, a block of 4 and a strip of 1024; past a panel of 24 rows, a depth and a block of 128. */
export const SHAPES = [
  [1, 1, 1],
  [3, 5, 7],
  [9, 31, 66],
  [70, 33, 130],
  [5, 4, 1090],
  [30, 135, 140],
] as const;

/**
 * Past a chunk of 264 rows. Of sums in float64: one of its tokens is nearly certain, and where products are
 * float32 the rounding of its logit moves 1 - p by 8e-4 of itself, which linear.h leaves out of the budget.
 */
export const CHUNK_SHAPE = [280, 3, 5] as const;

/** N, D, V */
export type Shape = readonly [number, number, number];

export interface Numbers {
  readonly view: HeadView & (Float32Array | Float64Array | Uint16Array);
  /** The same as the type holds them. */
  readonly numbers: Float64Array;
}

export function stored(values: ArrayLike<number>, dtype: HeadDType): Numbers {
  if (dtype === "float64") return { view: Float64Array.from(values), numbers: Float64Array.from(values) };
  if (dtype === "float32")
    return { view: Float32Array.from(values), numbers: Float64Array.from(Float32Array.from(values)) };
  const view = toHalfBits(values, dtype);
  return { view, numbers: Float64Array.from(fromHalfBits(view, dtype)) };
}

/** What a gradient of hidden holds. */
export function numbersOf(view: HeadView, dtype: HeadDType): Float64Array {
  return Float64Array.from(
    dtype === "float16" || dtype === "bfloat16" ? fromHalfBits(view as Uint16Array, dtype) : (view as Float32Array),
  );
}

export interface Problem {
  readonly N: number;
  readonly D: number;
  readonly V: number;
  readonly hidden: Numbers;
  readonly weight: Numbers;
  readonly bias: Numbers;
  readonly targets: Int32Array;
  readonly gradLogProbs: Float32Array;
  readonly gradEntropies: Float32Array;
}

/** Logits of a standard deviation of about 3, whatever the width. */
export function problem([N, D, V]: Shape, dtype: HeadDType, seed = 1): Problem {
  const r = rng(seed);
  return {
    N,
    D,
    V,
    hidden: stored(r.normal(N * D), dtype),
    weight: stored(r.normal(V * D, 0, 3 / Math.sqrt(D)), dtype),
    bias: stored(r.normal(V), dtype),
    targets: r.i32(N, 0, V),
    gradLogProbs: r.normal(N),
    gradEntropies: r.normal(N),
  };
}
