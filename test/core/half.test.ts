import {
  fromBFloat16Bits,
  fromFloat16Bits,
  fromHalfBits,
  type HalfDType,
  toBFloat16Bits,
  toFloat16Bits,
  toHalfBits,
} from "../../lib/core/half";
import { rng } from "../support/rng";

interface Format {
  readonly name: HalfDType;
  readonly mantissa: number;
  readonly bias: number;
  readonly infinity: number;
  encode(x: number): number;
  decode(bits: number): number;
}

const FORMATS: readonly Format[] = [
  { name: "float16", mantissa: 10, bias: 15, infinity: 0x7c00, encode: toFloat16Bits, decode: fromFloat16Bits },
  { name: "bfloat16", mantissa: 7, bias: 127, infinity: 0x7f80, encode: toBFloat16Bits, decode: fromBFloat16Bits },
];

/** sign · 2^(exponent − bias) · 1.mantissa, by arithmetic on the fields. */
function valueOf({ mantissa, bias, infinity }: Format, bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const magnitude = bits & 0x7fff;
  if (magnitude > infinity) return NaN;
  if (magnitude === infinity) return sign * Infinity;
  const exponent = magnitude >> mantissa;
  const fraction = (magnitude & (2 ** mantissa - 1)) / 2 ** mantissa;
  return sign * (exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias));
}

/** The nearest pattern by search: the values of patterns 0 … infinity ascend, infinity counting as the next power of two. */
function nearestBits(format: Format, x: number): number {
  const at = (pattern: number) => (pattern === format.infinity ? 2 ** (format.bias + 1) : valueOf(format, pattern));
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(x);
  let low = 0;
  let high = format.infinity;
  if (magnitude >= at(high)) return sign | high;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (at(middle) <= magnitude) low = middle;
    else high = middle;
  }
  const tie = (at(low) + at(high)) / 2; // exact: one bit more than the format has
  if (magnitude === tie) return sign | (low % 2 === 0 ? low : high);
  return sign | (magnitude < tie ? low : high);
}

/** The inputs among many for which a law does not hold: one expectation for all of them. */
function exceptions(inputs: Iterable<number>, holds: (x: number) => boolean): number[] {
  return Array.from(inputs).filter((x) => !holds(x));
}

const PATTERNS = Array.from({ length: 65536 }, (_, bits) => bits);

describe.each(FORMATS)("$name", (format) => {
  test("every pattern stands for the number of its fields", () => {
    expect(exceptions(PATTERNS, (bits) => Object.is(format.decode(bits), valueOf(format, bits)))).toEqual([]);
  });

  test("every number that a pattern stands for comes back as that pattern", () => {
    const comesBack = (bits: number) => {
      const value = format.decode(bits);
      return Number.isNaN(value) ? (format.encode(value) & 0x7fff) > format.infinity : format.encode(value) === bits;
    };
    expect(exceptions(PATTERNS, comesBack)).toEqual([]);
  });

  test("halfway between neighbours the even one wins, and a hair decides", () => {
    const inputs = PATTERNS.slice(0, format.infinity).flatMap((bits) => {
      const upper = bits + 1 === format.infinity ? 2 ** (format.bias + 1) : format.decode(bits + 1);
      const tie = (format.decode(bits) + upper) / 2;
      // 2^-50 is lost in float32: rounding twice would take these for ties.
      return [tie, tie * (1 + 2 ** -50), tie * (1 - 2 ** -50), -tie];
    });
    expect(exceptions(inputs, (x) => format.encode(x) === nearestBits(format, x))).toEqual([]);
  });

  test("random float64 of every size round to the nearest", () => {
    const r = rng(1);
    const inputs = Array.from(
      { length: 100_000 },
      () => (r.uniform() - 0.5) * 2 ** Math.floor(r.uniform() * 300 - 160),
    );
    expect(exceptions(inputs, (x) => format.encode(x) === nearestBits(format, x))).toEqual([]);
  });

  test("what is too large is infinite, what is too small is zero, and NaN stays NaN", () => {
    for (const x of [1e300, Infinity])
      expect([format.encode(x), format.encode(-x)]).toEqual([format.infinity, 0x8000 | format.infinity]);
    for (const x of [1e-300, 0]) expect([format.encode(x), format.encode(-x)]).toEqual([0, 0x8000]);
    expect(format.decode(format.encode(NaN))).toBeNaN();
  });

  test("arrays convert element by element", () => {
    const bits = toHalfBits([1, -2, 0.333, Infinity], format.name);
    expect(Array.from(bits, (pattern) => format.encode(format.decode(pattern)))).toEqual(Array.from(bits));
    expect(fromHalfBits(bits, format.name)).toEqual(Float32Array.from(bits, (pattern) => format.decode(pattern)));
  });
});
