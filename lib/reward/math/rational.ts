// Numbers as they are written, exactly.

/** n / d in lowest terms, d > 0. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

/** Longer numbers are left to the comparison of texts: powers of ten would fill the memory. */
const MOST_DIGITS = 400;

function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}

function rational(n: bigint, d = 1n): Rational | null {
  if (d === 0n) return null;
  const sign = d < 0n ? -1n : 1n;
  const shared = gcd(n, d < 0n ? -d : d) || 1n;
  return { n: (sign * n) / shared, d: (sign * d) / shared };
}

const times = (a: Rational | null, b: Rational | null): Rational | null => a && b && rational(a.n * b.n, a.d * b.d);
const over = (a: Rational | null, b: Rational | null): Rational | null => a && b && rational(a.n * b.d, a.d * b.n);
const plus = (a: Rational | null, b: Rational | null): Rational | null =>
  a && b && rational(a.n * b.d + b.n * a.d, a.d * b.d);
const negative = (a: Rational | null): Rational | null => a && { n: -a.n, d: a.d };

function powerOfTen(exponent: number): Rational | null {
  if (Math.abs(exponent) > MOST_DIGITS) return null;
  const power = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0 ? rational(1n, power) : rational(power);
}

function decimal(text: string): Rational | null {
  const match = /^(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (!match) return null;
  const [, whole = "", fraction = "", exponent = "0"] = match;
  if (whole + fraction === "" || text.length > MOST_DIGITS) return null;
  return times(rational(BigInt(whole + fraction)), powerOfTen(Number(exponent) - fraction.length));
}

/**
 * A number in plain or LaTeX notation: integers, decimals, `1e5`, `a \times 10^{n}`, fractions (`a/b`, `\frac{a}{b}`), mixed numbers, percents.
 * The text is one that `plainNotation` gives. null: no number that is written out.
 */
export function readRational(text: string): Rational | null {
  const trimmed = text.trim();
  if (trimmed.startsWith("-")) return negative(readRational(trimmed.slice(1)));
  if (trimmed.startsWith("+")) return readRational(trimmed.slice(1));
  const percent = /^(.*)%$/s.exec(trimmed);
  if (percent) return over(readRational(percent[1]!), rational(100n));
  const scaled = /^(.*?)\s*(?:\\times|\\cdot|\*)\s*10\s*\^\s*(?:\{\s*([+-]?\d+)\s*\}|([+-]?\d+))$/s.exec(trimmed);
  if (scaled) return times(readRational(scaled[1]!), powerOfTen(Number(scaled[2] ?? scaled[3])));
  const fraction = /^(\d*)\s*\\frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))$/.exec(trimmed);
  if (fraction) {
    const part = over(readRational(fraction[2] ?? fraction[3]!), readRational(fraction[4] ?? fraction[5]!));
    return fraction[1] === "" ? part : plus(decimal(fraction[1]!), part);
  }
  const mixed = /^(\d+)\s+(\d+)\s*\/\s*(\d+)$/.exec(trimmed);
  if (mixed) return plus(decimal(mixed[1]!), rational(BigInt(mixed[2]!), BigInt(mixed[3]!)));
  const quotient = /^\(?\s*([^()/]+?)\s*\)?\s*\/\s*\(?\s*([^()/]+?)\s*\)?$/.exec(trimmed);
  if (quotient) return over(readRational(quotient[1]!), readRational(quotient[2]!));
  return decimal(trimmed);
}

/** Whether |a − b| <= tolerance · max(1, |b|); exactly with tolerance 0. */
export function sameRational(a: Rational, b: Rational, tolerance: number): boolean {
  if (a.n === b.n && a.d === b.d) return true;
  if (tolerance === 0) return false;
  const difference = rational(a.n * b.d - b.n * a.d, a.d * b.d)!;
  return Math.abs(toNumber(difference)) <= tolerance * Math.max(1, Math.abs(toNumber(b)));
}

function toNumber({ n, d }: Rational): number {
  const [a, b] = [Number(n), Number(d)];
  return Number.isFinite(a) && Number.isFinite(b) ? a / b : Number((n * 10n ** 20n) / d) / 1e20;
}
