// A few numbers about many.

export interface Figures {
  readonly count: number;
  readonly mean: number;
  /** ddof 1; 0 for one value. */
  readonly std: number;
  readonly min: number;
  readonly max: number;
}

/** Of the values that `keep` says; NaN throughout where there are none. */
export function figuresOf(values: Iterable<number>): Figures {
  let count = 0;
  let mean = 0;
  let squares = 0;
  let min = Infinity;
  let max = -Infinity;
  for (const value of values) {
    ++count;
    const before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
    min = Math.min(min, value);
    max = Math.max(max, value);
  }
  if (count === 0) return { count, mean: NaN, std: NaN, min: NaN, max: NaN };
  return { count, mean, std: count > 1 ? Math.sqrt(squares / (count - 1)) : 0, min, max };
}

/** By linear interpolation between order statistics; `sorted` ascends. */
export function quantile(sorted: Float64Array, q: number): number {
  if (sorted.length === 0) return NaN;
  const at = q * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(sorted.length - 1, below + 1);
  return sorted[below]! + (at - below) * (sorted[above]! - sorted[below]!);
}
