// The k largest of a unit: how many they are, and which.
import type { SelectTopArgs } from "../contract/select";

/** How many of `count` candidates. */
export function topCount({ share, k, least }: Pick<SelectTopArgs, "share" | "k" | "least">, count: number): number {
  return Math.min(Number.isNaN(share) ? k : Math.max(Math.floor(share * count), least), count);
}

/**
 * Says of the candidates, asked in index order, whether they are among the k largest. `sorted`: those that are not NaN,
 * upwards.
 */
export function topCut(sorted: Float64Array, k: number): (x: number) => boolean {
  // Every number above the k-th is taken, and the first of those equal to it. The k-th is NaN where numbers run out: then
  // all of them are above it, and NaN counts as equal to it.
  const smallest = k > 0 && k <= sorted.length ? sorted[sorted.length - k]! : k > 0 ? NaN : Infinity;
  const above = (x: number): boolean => (Number.isNaN(smallest) ? !Number.isNaN(x) : x > smallest);
  const equal = (x: number): boolean => (Number.isNaN(smallest) ? Number.isNaN(x) : x === smallest);
  let left = k;
  for (const x of sorted) if (above(x)) --left;
  return (x) => above(x) || (equal(x) && left-- > 0);
}
