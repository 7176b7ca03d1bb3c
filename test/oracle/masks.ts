// Masks by their definitions, row by row, on plain lists.

/** Up to and including the first of the ends. */
export function untilFirst(row: readonly number[], ends: readonly number[]): number[] {
  return row.map((_, t) => (row.slice(0, t).some((id) => ends.includes(id)) ? 0 : 1));
}

export function firstIndex(row: readonly number[], ends: readonly number[]): number {
  return untilFirst(row, ends).filter((flag, t) => flag === 1 && !ends.includes(row[t]!)).length;
}

/** Mean of u − ℓ over the kept tokens; 0 without any. */
export function meanDifference(u: readonly number[], l: readonly number[], mask: readonly number[]): number {
  const differences = u.map((x, t) => x - l[t]!).filter((_, t) => mask[t] !== 0);
  return differences.reduce((sum, x) => sum + x, 0) / Math.max(differences.length, 1);
}

/** Rows of a padded array. */
export function rowsOf(values: ArrayLike<number>, width: number): number[][] {
  const list = Array.from(values);
  return Array.from({ length: width > 0 ? list.length / width : 0 }, (_, b) => list.slice(b * width, (b + 1) * width));
}
