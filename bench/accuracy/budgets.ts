// The precision paragraphs of native/include/surprisal/*.h as functions.
import type { Budget, FloatName } from "./measure";

/** 2^-53: half a unit in the last place of a float64 below 1. */
export const U64 = 2 ** -53;

/** Half a unit in the last place, relative, and the absolute step of the smallest numbers. */
const ROUNDING: Readonly<Record<FloatName, { readonly relative: number; readonly absolute: number }>> = {
  float64: { relative: U64, absolute: 2 ** -1075 },
  float32: { relative: 2 ** -24, absolute: 2 ** -150 },
  float16: { relative: 2 ** -11, absolute: 2 ** -25 },
  bfloat16: { relative: 2 ** -8, absolute: 2 ** -134 },
};

/** What rounding `want` to a type may cost. */
export function roundingOf(dtype: FloatName, want: number): number {
  const { relative, absolute } = ROUNDING[dtype];
  return relative * Math.abs(want) + absolute;
}

/** `count` units in the last place. */
export function ulps(dtype: FloatName, count: number, want: number): number {
  return 2 * count * roundingOf(dtype, want);
}

export const exact: Budget = { says: "exact", allowed: () => 0 };
export const unstated: Budget = { says: "no figure", allowed: undefined };

/**
 * "float64 …, rounded once": the rounding of the result, and the first-order bound for a float64 sum of `terms` terms whose
 * absolute values add up to `size(i)` (Higham 2002, chapter 4). Each term may itself cost a few operations, the definition
 * has as many again: together no more than 16 units beyond the additions.
 */
export function float64Sum(dtype: FloatName, terms: number, size: (want: number, i: number) => number): Budget {
  return {
    says: "float64, rounded once",
    allowed: (want, i) => roundingOf(dtype, want) + (terms + 16) * U64 * size(want, i),
  };
}

/** As float64Sum, where the sum cancels nothing: relative to the result. */
export function float64Relative(dtype: FloatName, operations = 1): Budget {
  return float64Sum(dtype, operations, Math.abs);
}
