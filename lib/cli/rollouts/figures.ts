// Count, mean, standard deviation and range of numbers.

export interface Figures {
  readonly count: number;
  readonly mean: number;
  /** ddof 1; 0 for one value. */
  readonly std: number;
  readonly min: number;
  readonly max: number;
}

/** Returns NaN for everything but the count where there are no values. */
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
