// Scalars over the rows of a batch, for logging. Over no rows at all: 0, which a chart can show.

/** Those values whose flag says so. */
export function chosen(values: ArrayLike<number>, flag: (b: number) => boolean): number[] {
  return Array.from(values).filter((_, b) => flag(b));
}

export function average(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((sum, x) => sum + x, 0) / values.length : 0;
}

/** Standard deviation; NaN for one value and ddof 1. */
export function deviation(values: readonly number[], ddof: 0 | 1): number {
  if (values.length === 0) return 0;
  const mean = average(values);
  return Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (values.length - ddof));
}

/** NaN wins. */
export function smallest(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((a, b) => Math.min(a, b)) : 0;
}

/** NaN wins. */
export function largest(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((a, b) => Math.max(a, b)) : 0;
}
