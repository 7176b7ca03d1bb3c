// Statistics of two policies' log-probs, and their bounds (contract: native/include/surprisal/correction.h), one row after
// the other. Numbers are float64 here; an array rounds once when it stores.
import { DTYPE_CODE } from "../../core/dtype";
import { rowBegin, rowEnd } from "../../core/row-layout";
import { NAN_POLICIES } from "../contract/group";
import {
  type CorrectionBoundArgs,
  type CorrectionMeasureArgs,
  type CorrectionOps,
  MISMATCH_STATISTICS,
  type MismatchStatistic,
  OUTSIDE_RULES,
} from "../contract/correction";
import { MOMENTS } from "../contract/reduce";
import { scaled } from "./loss-forms";
import { reduceOps } from "./reduce";

const PROPAGATE = NAN_POLICIES.indexOf("propagate");
const ZERO = OUTSIDE_RULES.indexOf("zero");

/** NaN passes. */
function bounded(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

/** exp(d) − 1 − d: near 0 by the sum of dⁿ/n! from n = 2 on, since the two numbers of size d would cancel. */
function exponentialBeyondLine(d: number): number {
  if (!(Math.abs(d) < 0.5)) return Math.expm1(d) - d;
  let term = (d * d) / 2;
  let sum = term;
  for (let n = 3; n <= 15; ++n) sum += term *= d / n;
  return sum;
}

/** |exp(a) − exp(b)| from the larger of the two, with full precision where they are close. */
function probabilityDistance(a: number, b: number): number {
  if (a === b) return 0; // both may be −∞
  return Math.exp(Math.max(a, b)) * -Math.expm1(-Math.abs(a - b));
}

const STATISTICS: Readonly<Record<MismatchStatistic, (d: number, current: number, old: number) => number>> = {
  k1: (d) => 0 - d,
  k2: (d) => (d * d) / 2,
  k3: exponentialBeyondLine,
  ratio: Math.exp,
  distance: (_, current, old) => probabilityDistance(current, old),
  current: (_, current) => Math.exp(current),
  old: (_, __, old) => Math.exp(old),
  total: (_, current, old) => Math.exp(current) + Math.exp(old),
};

/** The statistic at token i. */
function statisticAt(a: CorrectionMeasureArgs | CorrectionBoundArgs): (i: number) => number {
  const of = STATISTICS[MISMATCH_STATISTICS[a.statistic]!];
  return (i) => {
    const current = a.logProbs[i]!;
    const old = a.oldLogProbs[i]!;
    return of(bounded(current - old, -a.logClamp, a.logClamp), current, old);
  };
}

/** Moments of a row's kept numbers to partials[b]. */
function storeMoments(partials: Float64Array | null, b: number, values: Float64Array, mask: Uint8Array | null): void {
  if (!partials) return;
  const T = values.length;
  const row = partials.subarray(b * MOMENTS.length, (b + 1) * MOMENTS.length);
  reduceOps.reduceMoments({
    dtype: DTYPE_CODE.float64,
    values,
    mask,
    offsets: null,
    n: T,
    B: 1,
    T,
    nanPolicy: PROPAGATE,
    partials: row,
  });
}

function correctionMeasure(a: CorrectionMeasureArgs): void {
  const at = statisticAt(a);
  for (let b = 0; b < a.B; ++b) {
    const begin = rowBegin(a, b);
    const end = rowEnd(a, b);
    const values = new Float64Array(end - begin);
    let difference = 0;
    let above = 0;
    let below = 0;
    for (let i = begin; i < end; ++i) {
      if (a.mask && a.mask[i] === 0) continue;
      const x = at(i);
      values[i - begin] = x;
      difference += a.logProbs[i]! - a.oldLogProbs[i]!;
      if (!(x <= a.high)) ++above; // and NaN
      if (x < a.low) ++below;
    }
    const mask = a.mask && a.mask.subarray(begin, end);
    storeMoments(a.moments, b, values, mask);
    storeMoments(
      a.bounded,
      b,
      values.map((x) => bounded(x, a.low, a.high)),
      mask,
    );
    if (a.differences) a.differences[b] = difference;
    if (a.above) a.above[b] = above;
    if (a.below) a.below[b] = below;
  }
}

function correctionBound(a: CorrectionBoundArgs): void {
  const at = statisticAt(a);
  for (let b = 0; b < a.B; ++b) {
    const factor = a.rowFactors ? a.rowFactors[b]! : 1;
    let count = 0;
    for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) {
      let weight = a.maskedWeight;
      let kept = false;
      if (!a.mask || a.mask[i] !== 0) {
        const x = at(i);
        const outside = x < a.low || x > a.high;
        weight = scaled(factor, !outside ? x : a.outside === ZERO ? 0 : bounded(x, a.low, a.high));
        kept = !outside && !Number.isNaN(x) && factor !== 0;
      }
      if (a.weights) a.weights[i] = weight;
      if (a.kept) a.kept[i] = kept ? 1 : 0;
      if (kept) ++count;
    }
    if (a.keptCounts) a.keptCounts[b] = count;
  }
}

export const correctionOps: CorrectionOps = { correctionMeasure, correctionBound };
