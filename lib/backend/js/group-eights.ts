// Groups of eight, as many as a prompt mostly has rollouts, as group-plain.ts normalises them and with the same bits: each item is read
// once, and its deviation stays in a register.
import type { GroupNormalizeArgs } from "../contract/group";

/** What is the same for all groups of a call (pieces.ts), and where. */
export const ofCall = new Float64Array(4);
export const GAIN = 0;
export const EPSILON = 1;
export const VARIANCE_FLOOR = 2;
export const DDOF = 3;

/** Groups g … end − 1, up to the first that is none of eight or has to be looked at. */
export function normalizeEights(a: GroupNormalizeArgs, g: number, end: number): number {
  const { values, offsets, normalized, means, stds, counts } = a;
  const gain = ofCall[GAIN]!;
  const epsilon = ofCall[EPSILON]!;
  const varianceFloor = ofCall[VARIANCE_FLOOR]!;
  const ddof = ofCall[DDOF]!;
  const ofVariance = 1 / (8 - ddof);
  if (ddof >= 8) return g;
  for (; g < end; ++g) {
    const k = offsets[g]!;
    if (offsets[g + 1]! - k !== 8) break;
    const s = values[k]!;
    const t = values[k + 1]!;
    const u = values[k + 2]!;
    const v = values[k + 3]!;
    const w = values[k + 4]!;
    const x = values[k + 5]!;
    const y = values[k + 6]!;
    const z = values[k + 7]!;
    const mean = (s + u + w + y + (t + v + x + z)) * (1 / 8);
    const ds = s - mean;
    const dt = t - mean;
    const du = u - mean;
    const dv = v - mean;
    const dw = w - mean;
    const dx = x - mean;
    const dy = y - mean;
    const dz = z - mean;
    const squares = ds * ds + du * du + dw * dw + dy * dy + (dt * dt + dv * dv + dx * dx + dz * dz);
    const rounding = 8 * 2 ** -51 * mean;
    if (!(squares > 8 * rounding * rounding && squares < Infinity)) break;
    const residue = (ds + du + dw + dy + (dt + dv + dx + dz)) * (1 / 8);
    const std = Math.sqrt(Math.max((squares - 8 * residue * residue) * ofVariance, varianceFloor));
    if (normalized) {
      const factor = gain / (std + epsilon);
      normalized[k] = (ds - residue) * factor;
      normalized[k + 1] = (dt - residue) * factor;
      normalized[k + 2] = (du - residue) * factor;
      normalized[k + 3] = (dv - residue) * factor;
      normalized[k + 4] = (dw - residue) * factor;
      normalized[k + 5] = (dx - residue) * factor;
      normalized[k + 6] = (dy - residue) * factor;
      normalized[k + 7] = (dz - residue) * factor;
    }
    if (means) means[g] = mean + residue;
    if (stds) stds[g] = std;
    if (counts) counts[g] = 8;
  }
  return g;
}
