// Figures over the rows of a batch, from one number a row. Over nothing: 0, which a chart can show.
import type { Bounds, CorrectionMetrics } from "./mismatch";

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const x of values) total += x;
  return total;
}

/** sum / count, 0 for nothing. */
export function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

export function average(values: readonly number[]): number {
  return share(sum(values), values.length);
}

/** NaN wins; 0 for nothing. */
export function largest(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((a, b) => Math.max(a, b)) : 0;
}

/** NaN wins; 0 for nothing. */
export function smallest(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((a, b) => Math.min(a, b)) : 0;
}

/** How many lie above the upper bound; a NaN does. */
export function countAbove(values: readonly number[], { high }: Bounds): number {
  return values.filter((x) => !(x <= high)).length;
}

export function countBelow(values: readonly number[], { low }: Bounds): number {
  return values.filter((x) => x < low).length;
}

/** NaN passes. */
export function bounded(x: number, { low, high }: Bounds): number {
  return Math.min(Math.max(x, low), high);
}

/** Mean and variance (ddof 0). */
export interface Spread {
  readonly mean: number;
  readonly variance: number;
}

/** Of numbers that stand for `counts` equal ones each. Equal numbers have themselves as mean and variance 0, exactly. */
export function weightedSpread(values: readonly number[], counts: readonly number[]): Spread {
  const total = sum(counts);
  if (total === 0) return { mean: 0, variance: 0 };
  const first = values[0]!;
  if (values.every((x) => x === first)) return { mean: first, variance: 0 };
  const mean = sum(values.map((x, b) => counts[b]! * x)) / total;
  return { mean, variance: sum(values.map((x, b) => counts[b]! * (x - mean) ** 2)) / total };
}

/** Standard deviation with ddof 1; 0 for fewer than two. */
function sampleDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const { variance } = weightedSpread(values, new Array<number>(values.length).fill(1));
  return Math.sqrt((variance * values.length) / (values.length - 1));
}

/** `seq_mean` … `seq_fraction_high` of numbers of which each is a row's; the deviation is from `center`, the fraction that of `counted`. */
export function rowFigures(
  prefix: string,
  values: readonly number[],
  bounds: Bounds,
  center: number,
  counted: readonly number[] = values,
): CorrectionMetrics {
  return {
    [`${prefix}_seq_mean`]: average(values),
    [`${prefix}_seq_std`]: sampleDeviation(values),
    [`${prefix}_seq_max`]: largest(values),
    [`${prefix}_seq_min`]: smallest(values),
    [`${prefix}_seq_max_deviation`]: largest(values.map((x) => Math.abs(x - center))),
    [`${prefix}_seq_fraction_high`]: share(countAbove(counted, bounds), counted.length),
  };
}
