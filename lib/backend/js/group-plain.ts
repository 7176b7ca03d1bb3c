// The usual normalisation of groups, of which most calls have no other (group.ts): loops over numbers, and the same bits.
import { GROUP_CENTERS, GROUP_SCALES, type GroupNormalizeArgs } from "../contract/group";

const MEAN = GROUP_CENTERS.indexOf("mean");
const BY_STD = GROUP_SCALES.indexOf("std");

/** (x − mean) / (std + ε) of all items behind one another, and nothing of the items besides: the usual call. */
export const isPlain = (a: GroupNormalizeArgs): boolean =>
  a.center === MEAN && a.scale === BY_STD && !a.members && !a.weights && !a.centers && !a.spreads;

/** Groups of such a call from g on, by loops over numbers, up to one that is constant, too small, or has no finite variance. */
export function normalizePlain(a: GroupNormalizeArgs, g: number): number {
  const { values, offsets, normalized, means, stds, counts, gain, ddof, epsilon, varianceFloor, G } = a;
  const least = Math.max(ddof, 1);
  let n = 0;
  let ofMean = 0;
  let ofVariance = 0;
  for (; g < G; ++g) {
    const begin = offsets[g]!;
    const end = offsets[g + 1]!;
    if (end - begin !== n) {
      n = end - begin;
      ofMean = 1 / n;
      ofVariance = 1 / (n - ddof);
    }
    // Items two at a time: a sum waits for its last addition.
    const pairs = end - (n & 1);
    let sum = 0;
    let second = 0;
    for (let k = begin; k < pairs; k += 2) {
      sum += values[k]!;
      second += values[k + 1]!;
    }
    if (pairs < end) sum += values[pairs]!;
    const mean = (sum + second) * ofMean;
    let left = 0;
    let secondLeft = 0;
    let squares = 0;
    let secondSquares = 0;
    for (let k = begin; k < pairs; k += 2) {
      const d = values[k]! - mean;
      const e = values[k + 1]! - mean;
      left += d;
      secondLeft += e;
      squares += d * d;
      secondSquares += e * e;
    }
    if (pairs < end) {
      const d = values[pairs]! - mean;
      left += d;
      squares += d * d;
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
      for (let k = begin; k < pairs; k += 2) {
        normalized[k] = (values[k]! - mean - residue) * factor;
        normalized[k + 1] = (values[k + 1]! - mean - residue) * factor;
      }
      if (pairs < end) normalized[pairs] = (values[pairs]! - mean - residue) * factor;
    }
    if (means) means[g] = mean + residue;
    if (stds) stds[g] = std;
    if (counts) counts[g] = n;
  }
  return g;
}
