// How sure a difference of means is: the percentile bootstrap.
import { integersBelow } from "../../core/random";
import { quantile } from "../../core/quantile";

const LEVEL = 0.95;
const MOST_DRAWS = 2000;
/** Numbers read in all draws together; above it there are fewer draws, and never fewer than the least. */
const MOST_READ = 4e7;
const LEAST_DRAWS = 200;
const SEED = 1;

/** The middle 95 % of means of samples drawn with replacement, each draw by `sample`. */
function interval(size: number, sample: () => number): readonly [low: number, high: number] {
  const draws = Math.max(LEAST_DRAWS, Math.min(MOST_DRAWS, Math.floor(MOST_READ / Math.max(size, 1))));
  const means = Float64Array.from({ length: draws }, sample).sort();
  return [quantile(means, (1 - LEVEL) / 2), quantile(means, (1 + LEVEL) / 2)];
}

function drawnMean(values: Float64Array, next: () => number): number {
  let sum = 0;
  for (let i = 0; i < values.length; ++i) sum += values[next()]!;
  return sum / values.length;
}

/** Interval of the mean of differences of pairs. */
export function pairedInterval(differences: Float64Array): readonly [low: number, high: number] {
  const next = integersBelow(differences.length, SEED);
  return interval(differences.length, () => drawnMean(differences, next));
}

/** Interval of mean(other) − mean(first), each drawn on its own. */
export function apartInterval(first: Float64Array, other: Float64Array): readonly [low: number, high: number] {
  const [one, two] = [integersBelow(first.length, SEED), integersBelow(other.length, SEED + 1)];
  return interval(first.length + other.length, () => drawnMean(other, two) - drawnMean(first, one));
}
