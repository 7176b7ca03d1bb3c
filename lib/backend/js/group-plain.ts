// The usual normalisation of groups, of which most calls have no other (group.ts): loops over numbers, and the same bits.
import { GROUP_CENTERS, GROUP_SCALES, type GroupNormalizeArgs } from "../contract/group";
import { DDOF, EPSILON, GAIN, normalizeEights, ofCall, VARIANCE_FLOOR } from "./group-eights";
import { PIECE } from "./pieces";

const MEAN = GROUP_CENTERS.indexOf("mean");
const BY_STD = GROUP_SCALES.indexOf("std");

/** (x − mean) / (std + ε) of all items behind one another, and nothing of the items besides: the usual call. */
export const isPlain = (a: GroupNormalizeArgs): boolean =>
  a.center === MEAN && a.scale === BY_STD && !a.members && !a.weights && !a.centers && !a.spreads;

/** Groups g … end − 1, up to the first that has to be looked at. Two sums, as each waits for its last addition; four items in a step. */
function normalizePiece(a: GroupNormalizeArgs, g: number, end: number): number {
  const { values, offsets, normalized, means, stds, counts } = a;
  const gain = ofCall[GAIN]!;
  const epsilon = ofCall[EPSILON]!;
  const varianceFloor = ofCall[VARIANCE_FLOOR]!;
  const ddof = ofCall[DDOF]!;
  const least = Math.max(ddof, 1);
  let n = NaN;
  let ofMean = NaN;
  let ofVariance = NaN;
  for (; g < end; ++g) {
    const begin = offsets[g]!;
    const last = offsets[g + 1]!;
    if (last - begin !== n) {
      n = last - begin;
      ofMean = 1 / n;
      ofVariance = 1 / (n - ddof);
    }
    let sum = 0;
    let second = 0;
    let k = begin;
    for (; k + 3 < last; k += 4) {
      sum += values[k]!;
      second += values[k + 1]!;
      sum += values[k + 2]!;
      second += values[k + 3]!;
    }
    for (; k < last; ++k)
      if (((k - begin) & 1) === 0) sum += values[k]!;
      else second += values[k]!;
    const mean = (sum + second) * ofMean;
    let left = 0;
    let secondLeft = 0;
    let squares = 0;
    let secondSquares = 0;
    for (k = begin; k + 3 < last; k += 4) {
      const d = values[k]! - mean;
      const e = values[k + 1]! - mean;
      const f = values[k + 2]! - mean;
      const h = values[k + 3]! - mean;
      left += d;
      secondLeft += e;
      left += f;
      secondLeft += h;
      squares += d * d;
      secondSquares += e * e;
      squares += f * f;
      secondSquares += h * h;
    }
    for (; k < last; ++k) {
      const d = values[k]! - mean;
      if (((k - begin) & 1) === 0) {
        left += d;
        squares += d * d;
      } else {
        secondLeft += d;
        secondSquares += d * d;
      }
    }
    left += secondLeft;
    squares += secondSquares;
    // Equal numbers deviate from their mean by its rounding alone.
    const rounding = n * 2 ** -51 * mean;
    if (!(n > least && squares > n * rounding * rounding && squares < Infinity)) break;
    const residue = left * ofMean;
    const std = Math.sqrt(Math.max((squares - n * residue * residue) * ofVariance, varianceFloor));
    if (normalized) {
      const factor = gain / (std + epsilon);
      for (k = begin; k + 3 < last; k += 4) {
        normalized[k] = (values[k]! - mean - residue) * factor;
        normalized[k + 1] = (values[k + 1]! - mean - residue) * factor;
        normalized[k + 2] = (values[k + 2]! - mean - residue) * factor;
        normalized[k + 3] = (values[k + 3]! - mean - residue) * factor;
      }
      for (; k < last; ++k) normalized[k] = (values[k]! - mean - residue) * factor;
    }
    if (means) means[g] = mean + residue;
    if (stds) stds[g] = std;
    if (counts) counts[g] = n;
  }
  return g;
}

/** Groups of such a call from g on, by loops over numbers, up to one that is constant, too small, or has no finite variance. */
export function normalizePlain(a: GroupNormalizeArgs, g: number): number {
  ofCall[GAIN] = a.gain;
  ofCall[EPSILON] = a.epsilon;
  ofCall[VARIANCE_FLOOR] = a.varianceFloor;
  ofCall[DDOF] = a.ddof;
  for (let at = g; at < a.G;) {
    const end = Math.min(at + PIECE, a.G);
    at = normalizePiece(a, normalizeEights(a, at, end), end);
    if (at < end) return at;
  }
  return a.G;
}
