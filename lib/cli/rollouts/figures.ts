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

/** The figures of all values together, from those of several parts. */
export function joinFigures(parts: readonly Figures[]): Figures {
  const filled = parts.filter(({ count }) => count > 0);
  if (filled.length <= 1) return filled[0] ?? figuresOf([]);
  let [count, mean, squares, min, max] = [0, 0, 0, Infinity, -Infinity];
  for (const part of filled) {
    const all = count + part.count;
    const difference = part.mean - mean;
    mean += (difference * part.count) / all;
    squares += part.std ** 2 * (part.count - 1) + (difference ** 2 * count * part.count) / all;
    [count, min, max] = [all, Math.min(min, part.min), Math.max(max, part.max)];
  }
  return { count, mean, std: Math.sqrt(squares / (count - 1)), min, max };
}
