import { rng } from "./rng";

const mean = (values: ArrayLike<number>) => Array.from(values).reduce((sum, v) => sum + v, 0) / values.length;

test("a seed gives the same numbers every time, another seed others", () => {
  expect(rng(7).f64(5)).toEqual(rng(7).f64(5));
  expect(rng(7).f64(5)).not.toEqual(rng(8).f64(5));
  // Pinned: tests with stated tolerances have been judged on these numbers.
  expect(rng(0).uniform()).toBe(0.22483583652178363);
});

test("values go on where the last call stopped", () => {
  const whole = rng(3).f64(6);
  const parts = rng(3);
  expect([...parts.f64(2), ...parts.f64(4)]).toEqual([...whole]);
});

test("ranges and shares are kept", () => {
  const r = rng(1);
  const u = r.f64(20_000, -2, 3);
  expect(Math.min(...u)).toBeGreaterThanOrEqual(-2);
  expect(Math.max(...u)).toBeLessThan(3);
  // Standard errors at n = 20 000: uniform of width 5 0.010, share 0.3 0.0032, normal mean 0.014. Five of each.
  expect(Math.abs(mean(u) - 0.5)).toBeLessThan(0.05);
  expect(Math.abs(mean(r.mask(20_000, 0.3)) - 0.3)).toBeLessThan(0.016);
  const ints = r.i32(20_000, -1, 2);
  expect(new Set(ints)).toEqual(new Set([-1, 0, 1]));
  const z = r.normal(20_000, 5, 2);
  expect(Math.abs(mean(z) - 5)).toBeLessThan(0.07);
  const variance = mean(z.map((v) => (v - 5) ** 2));
  // The variance of a normal sample has relative standard error sqrt(2 / n) = 0.01.
  expect(Math.abs(variance / 4 - 1)).toBeLessThan(0.05);
});

test("neighbouring seeds and neighbouring draws are uncorrelated", () => {
  const a = rng(10).f64(20_000, -1, 1);
  const b = rng(11).f64(20_000, -1, 1);
  // The correlation of independent samples has standard error 1 / sqrt(n) = 0.007.
  expect(Math.abs(3 * mean(a.map((v, i) => v * (b[i] as number))))).toBeLessThan(0.035);
  expect(Math.abs(3 * mean(a.subarray(1).map((v, i) => v * (a[i] as number))))).toBeLessThan(0.035);
});
