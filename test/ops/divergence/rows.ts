// Pairs of rows that stress different things, in every type of logits.
import type { WideLogitDType } from "../../../lib";
import { fromHalfBits, toHalfBits } from "../../../lib/core/half";
import { rng } from "../../support/rng";

export const WIDE_DTYPES = ["float64", "float32", "float16", "bfloat16"] as const;
export const BETAS = [0, 0.1, 0.5, 0.9, 1] as const;
/** One id, a warp's worth and one more, past a block of 128 threads. */
export const VOCABS = [1, 2, 5, 33, 300] as const;

type Numbers = Float64Array | Float32Array | Uint16Array;

export interface Side {
  readonly logits: Numbers;
  /** The same numbers in float64. */
  readonly rows: readonly Float64Array[];
}

export function stored(rows: readonly Float64Array[], dtype: WideLogitDType): Side {
  const flat = Float64Array.from(rows.flatMap((row) => Array.from(row)));
  const V = rows[0]?.length ?? 0;
  const logits = dtype === "float64" ? flat : dtype === "float32" ? Float32Array.from(flat) : toHalfBits(flat, dtype);
  const numbers = numbersOf(logits, dtype);
  return { logits, rows: rows.map((_, n) => numbers.slice(n * V, (n + 1) * V)) };
}

export function numbersOf(array: ArrayLike<number>, dtype: WideLogitDType): Float64Array {
  return Float64Array.from(dtype === "float16" || dtype === "bfloat16" ? fromHalfBits(array, dtype) : array);
}

const noise = (V: number, seed: number, mean: number, std: number) => Float64Array.from(rng(seed).normal(V, mean, std));
const peak = (V: number, at: number, gap: number, seed: number) =>
  noise(V, seed, 0, 1).map((x, j) => (j === at % V ? gap : x));

/** Rows of both sides: unrelated, close, peaked at one id and at two, far from 0, flat. */
export function pairsOf(V: number): { student: Float64Array[]; teacher: Float64Array[] } {
  const student = [
    noise(V, 1, 0, 2),
    noise(V, 2, 0, 2),
    peak(V, 1, 12, 3),
    peak(V, 0, 9, 4),
    noise(V, 5, 1000, 3),
    new Float64Array(V),
  ];
  const teacher = [
    noise(V, 11, 0, 2),
    student[1]!.map((x, j) => x + 0.01 * Math.sin(j)),
    peak(V, 1, 11, 13),
    peak(V, 1, 9, 14),
    noise(V, 15, -500, 3),
    noise(V, 16, 0, 1),
  ];
  return { student, teacher };
}
