// best@n and worst@n: the best and the worst of n samples drawn with replacement.
import { needFloats } from "../../core/arrays";
import { type FloatArray, isFloatArray } from "../../core/dtype";
import { shapeError } from "../../core/errors";
import { largest, smallest } from "../scalar-metrics";
import { type DrawOptions, optionalDraws } from "./draws";
import { meanAndStd } from "./mean-and-std";

export interface BestAtNResult {
  /** Mean and std (ddof 0) of the largest value of a draw. */
  readonly bestMean: number;
  readonly bestStd: number;
  /** Mean and std (ddof 0) of the smallest value of a draw. */
  readonly worstMean: number;
  readonly worstStd: number;
}

/** Values of samples: at least one. */
export function needSamples(op: string, name: string, values: unknown): FloatArray {
  const given = needFloats(op, name, values, isFloatArray(values) ? values.length : 0, "one per sample");
  if (given.length === 0) throw shapeError(op, name, given, "at least one sample");
  return given;
}

/**
 * Mean and std of the largest and of the smallest of n samples drawn with replacement.
 *
 * Without a seed they are exact: with x_1 <= … <= x_N the largest of n is x_i with chance (i/N)^n − ((i−1)/N)^n. With a seed,
 * or with given indices, they are means over draws, which is what trainers log; the draws of a seed are the same everywhere.
 *
 * @param values one per sample, at least one
 * @param options `n`; `seed` and `draws`, or `indices`, for a bootstrap
 * @returns numbers; NaN where a value is NaN
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function bestAtN(values: FloatArray, options: DrawOptions): BestAtNResult {
  const op = "bestAtN";
  const samples = needSamples(op, "values", values);
  const draws = optionalDraws(op, options);
  if (!draws) return exactBestAtN(samples, options.n);
  const best: number[] = [];
  const worst: number[] = [];
  draws(samples.length, (indices) => {
    const drawn = Array.from(indices, (i) => samples[i]!);
    best.push(largest(drawn));
    worst.push(smallest(drawn));
  });
  const [bestMean, bestStd] = meanAndStd(best);
  const [worstMean, worstStd] = meanAndStd(worst);
  return { bestMean, bestStd, worstMean, worstStd };
}

function exactBestAtN(samples: FloatArray, n: number): BestAtNResult {
  if (samples.some(Number.isNaN)) return { bestMean: NaN, bestStd: NaN, worstMean: NaN, worstStd: NaN };
  const rising = Float64Array.from(samples).sort();
  const [bestMean, bestStd] = largestOf(rising, n);
  const [worstMean, worstStd] = largestOf(rising.reverse(), n);
  return { bestMean, bestStd, worstMean, worstStd };
}

/** Mean and std of the last in order of n draws. */
function largestOf(ordered: Float64Array, n: number): [mean: number, std: number] {
  const N = ordered.length;
  const chance = (i: number): number => ((i + 1) / N) ** n - (i / N) ** n;
  // Infinite values of chance 0 do not count.
  const total = (f: (x: number) => number): number =>
    ordered.reduce((sum, x, i) => (chance(i) > 0 ? sum + chance(i) * f(x) : sum), 0);
  // About the last value, so that equal values give themselves and std 0.
  const last = ordered[N - 1]!;
  if (ordered.every((x) => x === last)) return [last, 0];
  if (!Number.isFinite(last)) return [last, NaN];
  const mean = last + total((x) => x - last);
  return [mean, Math.sqrt(total((x) => (x - mean) ** 2))];
}
