// Samples as numbers and as bars: moments, quantiles, a histogram whose edges serve several samples.
import { finiteValues } from "../core/kept-values";
import { quantile } from "../core/quantile";
import type { Distribution, Histogram } from "./summary";

/** About so many bars: enough for a shape, few enough to read. */
const BINS = 24;
/** A range this many times wider than its middle 99 % is cut to them; the end bars then hold the rest. */
const OUTLIERS = 1.5;

/** The finite values in ascending order, and how many are not finite. */
export interface Sample {
  readonly sorted: Float64Array;
  readonly nonFinite: number;
}

export function sampleOf(values: readonly number[] | Float64Array): Sample {
  const sorted = finiteValues(values).sort();
  return { sorted, nonFinite: values.length - sorted.length };
}

/** The smallest of 1, 2, 2.5, 5 times a power of ten that is not below `width`. */
function niceWidth(width: number): number {
  const unit = 10 ** Math.floor(Math.log10(width));
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * unit >= width * (1 - 1e-9)) ?? 10;
  return factor * unit;
}

/** Edges that serve all samples: round numbers where there is a range, one bar of width 1 where there is none. */
export function commonEdges(samples: readonly Sample[], integers: boolean): number[] {
  const filled = samples.filter(({ sorted }) => sorted.length > 0);
  if (filled.length === 0) return [];
  const smallest = (of: (sorted: Float64Array) => number): number =>
    filled.reduce((low, { sorted }) => Math.min(low, of(sorted)), Infinity);
  const largest = (of: (sorted: Float64Array) => number): number =>
    filled.reduce((high, { sorted }) => Math.max(high, of(sorted)), -Infinity);
  const [least, most] = [smallest((sorted) => sorted[0]!), largest((sorted) => sorted.at(-1)!)];
  const [low, high] = [smallest((sorted) => quantile(sorted, 0.005)), largest((sorted) => quantile(sorted, 0.995))];
  const cut = high > low && most - least > OUTLIERS * (high - low);
  const [from, to] = cut ? [low, high] : [least, most];
  const range = to - from;
  const size = Math.max(Math.abs(from), Math.abs(to));
  // Where edges could overflow there is one bar for everything.
  if (size > 1e300) return [-Number.MAX_VALUE, Number.MAX_VALUE];
  // Below this, neighbouring edges would be the same double, or subnormal ones.
  if (!(range > Math.max(1e-9 * size, 1e-290)))
    return [from - Math.max(0.5, 1e-9 * size), from + Math.max(0.5, 1e-9 * size)];
  const width = Math.max(niceWidth(range / BINS), integers ? 1 : 0);
  const first = Math.floor(from / width + 1e-9);
  const last = Math.max(Math.ceil(to / width - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * width).toPrecision(12)));
}

function histogramOf(sorted: Float64Array, edges: readonly number[]): Histogram {
  const counts = new Array<number>(Math.max(edges.length - 1, 0)).fill(0);
  let bin = 0;
  for (const value of sorted) {
    while (bin < counts.length - 1 && value >= edges[bin + 1]!) ++bin;
    ++counts[bin]!;
  }
  return { edges, counts };
}

/** Of equal values exactly that value, so that their deviation is exactly 0. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  let constant = true;
  for (let i = 1; constant && i < values.length; ++i) constant = values[i] === values[0];
  if (constant && values.length > 0) return values[0]!;
  for (let i = 0; i < values.length; ++i) sum += values[i]!;
  return sum / values.length;
}

/** ddof 1; 0 for one value. */
export function deviation(values: ArrayLike<number>): number {
  if (values.length < 2) return 0;
  const center = mean(values);
  let sum = 0;
  for (let i = 0; i < values.length; ++i) sum += (values[i]! - center) ** 2;
  return Math.sqrt(sum / (values.length - 1));
}

/** null for a sample without a finite value. */
export function distributionOf({ sorted }: Sample, edges: readonly number[]): Distribution | null {
  if (sorted.length === 0) return null;
  return {
    count: sorted.length,
    mean: mean(sorted),
    std: deviation(sorted),
    min: sorted[0]!,
    max: sorted.at(-1)!,
    p5: quantile(sorted, 0.05),
    median: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    histogram: histogramOf(sorted, edges),
  };
}

/** Pearson's r, the same bits in whatever order the pairs come; null for fewer than three pairs, or where one side is constant. */
export function correlation(x: readonly number[], y: readonly number[]): number | null {
  const order = Array.from(x.keys()).sort((i, j) => x[i]! - x[j]! || y[i]! - y[j]!);
  const [xs, ys] = [order.map((i) => x[i]!), order.map((i) => y[i]!)];
  const [sx, sy] = [deviation(xs), deviation(ys)];
  if (xs.length < 3 || sx === 0 || sy === 0) return null;
  const [mx, my] = [mean(xs), mean(ys)];
  const covariance = xs.reduce((sum, value, i) => sum + (value - mx) * (ys[i]! - my), 0) / (xs.length - 1);
  return Math.max(-1, Math.min(1, covariance / (sx * sy)));
}
