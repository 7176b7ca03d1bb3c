// Masked statistics by definition, in exact arithmetic: every float64 is an integer multiple of 2^-1074, so sums and squares
// are integers, the textbook formula Σx² − (Σx)²/n loses nothing, and each result is rounded once.
const SHIFT = 1074n;

/** A finite float64 as an integer, in units of 2^-1074. */
function exact(x: number): bigint {
  const bits = new BigUint64Array(Float64Array.of(x).buffer)[0]!;
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & ((1n << 52n) - 1n);
  const magnitude = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
  return bits >> 63n ? -magnitude : magnitude;
}

/** numerator / denominator · 2^-(units · 1074), to 60 bits or more before the one rounding. */
function quotient(numerator: bigint, denominator: bigint, units: bigint): number {
  if (numerator === 0n) return 0;
  const extra = BigInt(Math.max(0, 64 - numerator.toString(2).length + denominator.toString(2).length));
  let digits = (numerator << extra) / denominator;
  let power = -(units * SHIFT + extra);
  const excess = digits.toString(2).length - 65;
  if (excess > 0) {
    digits >>= BigInt(excess);
    power += BigInt(excess);
  }
  // In two steps: 2^power alone may be below the smallest float64.
  const half = Math.trunc(Number(power) / 2);
  return Number(digits) * 2 ** half * 2 ** (Number(power) - half);
}

export interface ExactMoments {
  readonly count: number;
  readonly sum: number;
  readonly mean: number;
  readonly m2: number;
  readonly min: number;
  readonly max: number;
}

/** Moments of finite numbers. */
export function momentsOracle(numbers: readonly number[]): ExactMoments {
  const n = BigInt(numbers.length);
  if (n === 0n) return { count: 0, sum: 0, mean: 0, m2: 0, min: Infinity, max: -Infinity };
  const integers = numbers.map(exact);
  const sum = integers.reduce((a, b) => a + b, 0n);
  const squares = integers.reduce((a, b) => a + b * b, 0n);
  const sorted = numbers.slice().sort((a, b) => a - b);
  return {
    count: numbers.length,
    sum: quotient(sum, 1n, 1n),
    mean: quotient(sum, n, 1n),
    m2: quotient(n * squares - sum * sum, n, 2n),
    min: sorted[0]!,
    max: sorted[sorted.length - 1]!,
  };
}

/** The kept numbers of each row of a padded array. */
export function keptRows(values: ArrayLike<number>, mask: ArrayLike<number> | null, tokens: number): number[][] {
  return Array.from({ length: values.length / tokens }, (_, b) =>
    Array.from({ length: tokens }, (_, t) => b * tokens + t)
      .filter((i) => !mask || mask[i] !== 0)
      .map((i) => values[i]!),
  );
}
