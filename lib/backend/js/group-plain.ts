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
  for (; g < G; ++g) {
    const begin = offsets[g]!;
    const end = offsets[g + 1]!;
    const n = end - begin;
    let [sum, left, squares] = [0, 0, 0];
    for (let k = begin; k < end; ++k) sum += values[k]!;
    const mean = sum / n;
    for (let k = begin; k < end; ++k) {
      const d = values[k]! - mean;
      left += d;
      squares += d * d;
    }
    // Equal numbers deviate from their mean by its rounding alone.
    const rounding = n * 2 ** -51 * mean;
    if (!(n > least && squares > n * rounding * rounding && squares < Infinity)) break;
    const residue = left / n;
    const std = Math.sqrt(Math.max((squares - n * residue * residue) / (n - ddof), varianceFloor));
    const divisor = std + epsilon;
    if (normalized) for (let k = begin; k < end; ++k) normalized[k] = gain * ((values[k]! - mean - residue) / divisor);
    if (means) means[g] = mean + residue;
    if (stds) stds[g] = std;
    if (counts) counts[g] = n;
  }
  return g;
}
