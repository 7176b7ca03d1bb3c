// The exponentials of log ratios on the backend js: against Math's, which are within 1 ulp.
import { expLessOne, ratioOf } from "../../lib/backend/js/exp-less-one";
import { rng } from "../support/rng";

/** The distance in units of the last place of `wanted`. */
function ulps(got: number, wanted: number): number {
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(wanted))) - 52);
  return Math.abs(got - wanted) / unit;
}

test("e^x − 1 and e^x keep their digits, near 0, from entry to entry of the table and beyond it", () => {
  const r = rng(17);
  const near = Array.from(r.normal(20_000), (x) => x / 4);
  const tiny = Array.from(r.normal(2_000), (x, i) => x * 2 ** -(i % 200));
  const ties = Array.from({ length: 97 }, (_, i) => ((i - 48.5) * Math.LN2) / 64);
  const edges = [0.5, -0.5, 0.5 + 2 ** -53, -0.5 - 2 ** -53, 3, -3, 700, -700];
  for (const x of [...near, ...tiny, ...ties, ...edges]) {
    expect(ulps(expLessOne(x), Math.expm1(x))).toBeLessThan(5);
    expect(ulps(ratioOf(x), Math.exp(x))).toBeLessThan(2);
  }
});

test.each([
  [NaN, NaN, NaN],
  [Infinity, Infinity, Infinity],
  [-Infinity, -1, 0],
  [0, 0, 1],
])("of %p they are %p and %p", (x, lessOne, ratio) => {
  expect(expLessOne(x)).toBe(lessOne);
  expect(ratioOf(x)).toBe(ratio);
});
