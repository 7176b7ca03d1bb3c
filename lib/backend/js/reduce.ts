// Moments, merge, whitening and affine maps (contract: native/include/surprisal/reduce.h), one row after the other.
// Numbers are float64 here; an array rounds once when it stores.
import { rowBegin, rowEnd } from "../../core/row-layout";
import { GROUP_CENTERS, GROUP_SCALES, NAN_POLICIES } from "../contract/group";
import {
  CLAMPED_COUNTS,
  MOMENTS,
  REDUCE_SCOPES,
  type ReduceAffineArgs,
  type ReduceClampArgs,
  type ReduceCountsArgs,
  type ReduceGammaArgs,
  type ReduceMergeArgs,
  type ReduceMomentsArgs,
  type ReduceOps,
  type ReduceWhitenArgs,
} from "../contract/reduce";

const ABSTAIN = NAN_POLICIES.indexOf("abstain");
const BY_STD = GROUP_SCALES.indexOf("std");
const CENTRED = GROUP_CENTERS.indexOf("mean");
const OVER_ROW = REDUCE_SCOPES.indexOf("row");
const OVER_ALL = REDUCE_SCOPES.indexOf("all");

/** Positions of a chunk: where sums are cut. */
const CHUNK = 4096;

interface Moments {
  readonly count: number;
  readonly sum: number;
  readonly mean: number;
  readonly m2: number;
  readonly min: number;
  readonly max: number;
}

const EMPTY: Moments = { count: 0, sum: 0, mean: 0, m2: 0, min: Infinity, max: -Infinity };

function load(partials: Float64Array, unit: number): Moments {
  const field = (name: keyof Moments): number => partials[unit * MOMENTS.length + MOMENTS.indexOf(name)]!;
  if (field("count") === 0) return EMPTY;
  return {
    count: field("count"),
    sum: field("sum"),
    mean: field("mean"),
    m2: field("m2"),
    min: field("min"),
    max: field("max"),
  };
}

function store(partials: Float64Array, unit: number, moments: Moments): void {
  MOMENTS.forEach((name, k) => (partials[unit * MOMENTS.length + k] = moments[name]));
}

/** Both sides as one (Chan, Golub and LeVeque 1979, equations 2.1). */
function merge(a: Moments, b: Moments): Moments {
  if (a.count === 0) return b;
  if (b.count === 0) return a;
  const count = a.count + b.count;
  const sum = a.sum + b.sum;
  const distance = b.mean - a.mean;
  return {
    count,
    sum,
    // An infinite mean makes the distance infinite or NaN: only the sum still knows the sign.
    mean: Number.isFinite(distance) ? a.mean + distance * (b.count / count) : sum / count,
    m2: a.m2 + b.m2 + distance * distance * (a.count * (b.count / count)),
    min: Math.min(a.min, b.min), // NaN wins, as it does in the native text
    max: Math.max(a.max, b.max),
  };
}

/** The numbers of positions begin … end that enter, in two passes. */
function momentsOfChunk(a: ReduceMomentsArgs, begin: number, end: number): Moments {
  const abstain = a.nanPolicy === ABSTAIN;
  const enters = (i: number): boolean => (!a.mask || a.mask[i] !== 0) && !(abstain && Number.isNaN(a.values[i]));
  let count = 0;
  let sum = 0;
  let min = Infinity;
  let max = -Infinity;
  for (let i = begin; i < end; ++i) {
    if (!enters(i)) continue;
    const x = a.values[i]!;
    ++count;
    sum += x;
    min = Math.min(min, x);
    max = Math.max(max, x);
  }
  if (count === 0) return EMPTY;
  // Equal numbers have themselves as mean; the rounded quotient need not be.
  if (min === max && Number.isFinite(min)) return { count, sum, mean: min, m2: 0, min, max };

  const mean = sum / count;
  let left = 0;
  let squares = 0;
  for (let i = begin; i < end; ++i) {
    if (!enters(i)) continue;
    const deviation = a.values[i]! - mean;
    left += deviation;
    squares += deviation * deviation;
  }
  const residue = left / count;
  if (!Number.isFinite(residue)) return { count, sum, mean, m2: squares, min, max };
  return { count, sum, mean: mean + residue, m2: Math.max(squares - count * residue * residue, 0), min, max };
}

function reduceMoments(a: ReduceMomentsArgs): void {
  for (let b = 0; b < a.B; ++b) {
    const end = rowEnd(a, b);
    let moments = EMPTY;
    for (let begin = rowBegin(a, b); begin < end; begin += CHUNK)
      moments = merge(moments, momentsOfChunk(a, begin, Math.min(begin + CHUNK, end)));
    store(a.partials, b, moments);
  }
}

function reduceMerge(a: ReduceMergeArgs): void {
  for (let g = 0; g < a.G; ++g) {
    let moments = EMPTY;
    const begin = a.offsets ? a.offsets[g]! : 0;
    const end = a.offsets ? a.offsets[g + 1]! : a.B;
    for (let k = begin; k < end; ++k) moments = merge(moments, load(a.partials, a.members ? a.members[k]! : k));
    store(a.merged, g, moments);
  }
}

type RowMap = RowLayout & Pick<ReduceAffineArgs, "values" | "mask" | "transformMasked" | "mapped">;
type RowLayout = Pick<ReduceAffineArgs, "offsets" | "T">;

/** mapped = map(value) over the kept tokens of row b; the others as transformMasked says. */
function mapRow(a: RowMap, b: number, map: (x: number) => number): void {
  const mask = a.transformMasked ? null : a.mask;
  for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) a.mapped[i] = !mask || mask[i] !== 0 ? map(a.values[i]!) : 0;
}

function whitening(a: ReduceWhitenArgs, m: Moments): (x: number) => number {
  const mean = m.min === m.max && Number.isFinite(m.min) ? m.min : m.mean;
  const share = m.count > 0 ? m.count / (m.count + a.countEpsilon) : 1;
  const shrunk = mean * share;
  const center = a.center === CENTRED ? shrunk : 0;
  const back = a.keepMean ? center : 0;
  const shift = share === 1 ? 0 : mean - shrunk; // an infinite mean would make it NaN
  const variance = m.count > a.ddof ? ((m.m2 + m.count * shift * shift) / (m.count - a.ddof)) * share : 0;
  const std = Math.sqrt(Math.max(variance, a.varianceFloor) + a.varianceEpsilon);
  const divisor = a.scale === BY_STD ? std + a.epsilon : 1;
  return (x) => {
    if (a.nanPolicy === ABSTAIN && Number.isNaN(x)) return 0;
    const centred = x - center;
    return (centred === 0 ? 0 : centred / divisor) + back;
  };
}

function reduceWhiten(a: ReduceWhitenArgs): void {
  for (let b = 0; b < a.B; ++b) {
    const unit = a.over === OVER_ROW ? b : a.over === OVER_ALL ? 0 : a.groupIds![b]!;
    mapRow({ ...a, mapped: a.whitened }, b, whitening(a, load(a.moments, unit)));
  }
}

function reduceAffine(a: ReduceAffineArgs): void {
  for (let b = 0; b < a.B; ++b) {
    const center = a.center ? a.center[b]! : 0;
    const scale = a.scale ? a.scale[b]! : 1;
    mapRow(a, b, (x) => ((x - center) * scale) / a.divisor);
  }
}

function clip(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

function reduceClamp(a: ReduceClampArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let kept = 0;
    let outside = 0;
    for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) {
      const counts = !a.mask || a.mask[i] !== 0;
      const read = counts || a.transformMasked !== 0;
      const x = read ? a.values[i]! : 0;
      if (counts) ++kept;
      if (counts && (x < a.low || x > a.high)) ++outside;
      if (a.clamped) a.clamped[i] = read ? clip(x, a.low, a.high) : 0;
    }
    a.counts?.set([kept, outside], b * CLAMPED_COUNTS.length);
  }
}

/** What a ratio is not taken below. */
const TINY = 1e-8;

function reduceGamma(a: ReduceGammaArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let sum = 0;
    for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) {
      const kept = !a.mask || a.mask[i] !== 0;
      const term = kept ? clip(a.logRatios[i]!, -a.bound, a.bound) : 0;
      const multiplies = a.factors && (kept || a.allFactors !== 0);
      sum += multiplies ? term + clip(Math.log(a.factors[i]!), Math.log(TINY), a.bound) : term;
    }
    const sign = a.signs[b]!;
    const positive = sign >= 0;
    const shape = positive ? a.shapePositive : a.shapeNegative;
    const rate = positive ? a.ratePositive : a.rateNegative;
    const logWeight = clip(sum, Math.log(TINY), a.bound);
    const weight = Math.exp(rate + shape * logWeight - rate * Math.exp(logWeight));
    if (a.weights) a.weights[b] = Number.isNaN(sign) ? NaN : Number.isFinite(weight) ? weight : 0;
    if (a.logWeights) a.logWeights[b] = logWeight;
  }
}

function reduceCounts(a: ReduceCountsArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let kept = a.mask ? 0 : rowEnd(a, b) - rowBegin(a, b);
    if (a.mask) for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) if (a.mask[i] !== 0) ++kept;
    a.counts[b] = kept;
  }
}

export const reduceOps: ReduceOps = {
  reduceMoments,
  reduceMerge,
  reduceWhiten,
  reduceAffine,
  reduceClamp,
  reduceGamma,
  reduceCounts,
};
