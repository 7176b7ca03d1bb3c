// Scores of rows from rewards per token.
import type { FloatArray } from "../core/dtype";
import { rowBegin, rowEnd, type Rows } from "../core/rows";

/** Sums in float64, in token order. */
export function rowSums(rewards: FloatArray, rows: Rows, mask: Uint8Array | null): Float64Array {
  const sums = new Float64Array(rows.B);
  for (let b = 0; b < rows.B; ++b) {
    let sum = 0;
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) if (!mask || mask[i] !== 0) sum += rewards[i]!;
    sums[b] = sum;
  }
  return sums;
}
