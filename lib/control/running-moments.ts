// Mean and variance of all numbers seen so far: an explicit state, and updates that return a new one.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import { gatherRowPartials } from "../core/row-partials";
import { mergeMoments, Moments, moments as momentsOf } from "../ops/reduce";
import { mapAffinely } from "../ops/reduce/affine";

/** Count, mean and variance of the numbers seen so far. Plain data: store it as JSON, merge it across workers. */
export interface RunningMoments {
  /** How many. */
  readonly count: number;
  /** Their mean; 0 where there is none. */
  readonly mean: number;
  /** Σ (x − mean)². */
  readonly m2: number;
}

/** Nothing seen yet. */
export const NO_MOMENTS: RunningMoments = Object.freeze({ count: 0, mean: 0, m2: 0 });

export interface RunningMomentsUpdate {
  /** The moments with the batch in them: the state of the next call. */
  readonly moments: RunningMoments;
  /** The moments of the batch alone, on all its workers. */
  readonly batch: RunningMoments;
}

function needMoments(op: string, name: string, moments: RunningMoments): void {
  const given: unknown = moments; // State comes from files and other processes.
  if (typeof given !== "object" || given === null) throw optionError(op, name, given, "{ count, mean, m2 }");
  needNumber(op, `${name}.count`, moments.count, { min: 0 });
  for (const field of ["mean", "m2"] as const)
    if (typeof moments[field] !== "number") throw optionError(op, `${name}.${field}`, moments[field], "a number");
}

const NOTHING_SEEN = new Moments(Float64Array.of(0, 0, 0, 0, Infinity, -Infinity));

/** The state as moments of one unit; its extremes are not known. */
function partialOf({ count, mean, m2 }: RunningMoments): Moments {
  return count === 0 ? NOTHING_SEEN : new Moments(Float64Array.of(count, count * mean, mean, m2, -Infinity, Infinity));
}

function stateOf({ counts, means, m2s }: Moments): RunningMoments {
  return { count: counts[0]!, mean: means[0]!, m2: m2s[0]! };
}

function merged(a: RunningMoments, b: RunningMoments): RunningMoments {
  return stateOf(mergeMoments([partialOf(a), partialOf(b)]));
}

/**
 * The moments of two disjoint sets of numbers together: of two workers, or of a state and a batch reduced elsewhere.
 *
 * @see Chan, Golub and LeVeque 1979, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances
 */
export function mergeRunningMoments(a: RunningMoments, b: RunningMoments): RunningMoments {
  needMoments("mergeRunningMoments", "a", a);
  needMoments("mergeRunningMoments", "b", b);
  return merged(a, b);
}

/**
 * Takes a batch in. Nothing is changed: the new state is in the result. NaN or an infinity in the batch makes the moments NaN
 * from then on.
 *
 * @param moments the state so far; `NO_MOMENTS` at the start
 * @param values any number of numbers; none leave the state as it is
 * @param options `collective`: the numbers of all its workers enter, in the order of the ranks, and every rank gets one state
 * @throws SurprisalError ERR_SURPRISAL_DTYPE, _OPTION or _BUFFER, naming the argument
 */
export function updateRunningMoments(
  moments: RunningMoments,
  values: FloatArray,
  options: CollectiveOption = {},
): RunningMomentsUpdate {
  const op = "updateRunningMoments";
  needMoments(op, "moments", moments);
  const length = ArrayBuffer.isView(values) ? values.length : 0;
  const given = needFloats(op, "values", values, length, "its own length");
  const { collective } = options;
  const batch = stateOf(
    momentsOf(collective ? gatherRowPartials(op, collective, Float64Array.from(given)).partials : given),
  );
  return { moments: merged(moments, batch), batch };
}

export interface MomentStatistics {
  readonly mean: number;
  /** Σ (x − mean)² / count; 0 where there is no number. */
  readonly variance: number;
  /** Standard deviation with ddof 1; 0 with fewer than two numbers. */
  readonly std: number;
}

/** Mean, population variance and sample std of what was seen. */
export function momentStatistics(moments: RunningMoments): MomentStatistics {
  needMoments("momentStatistics", "moments", moments);
  const { count, mean, m2 } = moments;
  return { mean, variance: count > 0 ? m2 / count : 0, std: count > 1 ? Math.sqrt(m2 / (count - 1)) : 0 };
}

export interface ScaleByMomentsOptions extends BackendOption {
  /** Subtracts the running mean first. Default false: rewards keep their sign. */
  readonly subtractMean?: boolean;
}

/**
 * Divides by the running std, without an epsilon. Where that is 0, since all numbers seen are equal or there is only one,
 * nothing is divided.
 *
 * @returns in the type of `values`
 */
export function scaleByMoments(
  values: FloatArray,
  moments: RunningMoments,
  options: ScaleByMomentsOptions = {},
): FloatArray {
  const op = "scaleByMoments";
  needMoments(op, "moments", moments);
  const length = ArrayBuffer.isView(values) ? values.length : 0;
  const given = needFloats(op, "values", values, length, "its own length");
  const { mean, std } = momentStatistics(moments);
  const { subtractMean, backend } = options;
  return mapAffinely(op, given, {
    shape: [1, length],
    center: subtractMean === true ? Float64Array.of(mean) : undefined,
    divisor: std !== 0 ? std : undefined,
    backend,
  });
}
