// Statistics of two policies per row against their definitions.
import { measureMismatch, type MismatchStatistic } from "surprisal";
import { keptRows, momentsOf, statisticOf, statistics, sum, within } from "../../oracle/correction";
import { eachBackend } from "../../support/each-backend";
import { mismatch, SHAPE } from "./cases";

const ALL = ["k1", "k2", "k3", "ratio", "distance", "current", "old", "total"] as const;

eachBackend((backend) => {
  test.each(ALL)("%s: moments, bounded moments, counts and differences are those of the definition", (statistic) => {
    const { current, old, mask } = mismatch(1);
    const bounds = { logClamp: 0.6, low: 0.05, high: 0.4 };
    const got = measureMismatch(current, old, { shape: SHAPE, mask, statistic, ...bounds, backend });
    const rows = keptRows(current, old, mask, 37);
    const values = rows.map((row) => statistics(statistic, row, bounds.logClamp));
    const bounded = values.map((list) => list.map((x) => within(x, bounds.low, bounds.high)));
    // float64 all along: sums of 37 numbers, squares of differences that cancel four digits.
    const close = { rtol: 1e-12, atol: 1e-13 };
    expect(got.moments.partials).toBeAllClose(values.flatMap(momentsOf), close);
    expect(got.bounded.partials).toBeAllClose(bounded.flatMap(momentsOf), close);
    expect(got.differences).toBeAllClose(
      rows.map((row) => sum(row.current) - sum(row.old)),
      close,
    );
    expect(Array.from(got.above)).toEqual(values.map((list) => list.filter((x) => x > bounds.high).length));
    expect(Array.from(got.below)).toEqual(values.map((list) => list.filter((x) => x < bounds.low).length));
  });

  test.each([1e-12, 1e-8, 1e-5, 1e-3, 0.06, 0.25, 0.499, 0.5, 0.7, -1e-9, -0.06, -0.499, -0.5, -3, 30])(
    "k3 at %p keeps its digits where exp(d) and 1 + d cancel",
    (d) => {
      const got = measureMismatch(Float64Array.of(d), Float64Array.of(0), { shape: [1, 1], statistic: "k3", backend });
      // 4 ulp of float64, and as much for the definition.
      expect(got.moments.sums).toBeAllClose([statisticOf("k3", d, 0)], { rtol: 1.8e-15, atol: 0 });
    },
  );

  test("close probabilities do not cancel, and two impossible tokens agree", () => {
    const current = Float64Array.of(-1, -Infinity);
    const old = Float64Array.of(-1 - 2 ** -50, -Infinity);
    const { moments } = measureMismatch(current, old, {
      offsets: Int32Array.of(0, 1, 2),
      statistic: "distance",
      backend,
    });
    expect(moments.sums[0]).toBeAllClose(Math.exp(-1) * 2 ** -50, { rtol: 1e-15, atol: 0 });
    expect(moments.sums[1]).toBe(0);
  });

  test("the same policy twice: ratios of exactly 1 and M2 of exactly 0", () => {
    const { old, mask } = mismatch(2);
    const { moments, differences } = measureMismatch(old, old, { shape: SHAPE, mask, statistic: "ratio", backend });
    const live = Array.from(moments.counts, (count) => count > 0);
    expect(Array.from(moments.means)).toEqual(live.map(Number));
    expect(Array.from(moments.m2s)).toEqual([0, 0, 0, 0, 0]);
    expect(Array.from(differences)).toEqual([0, 0, 0, 0, 0]);
  });

  test("a statistic at a bound is inside, beside it outside; NaN is above", () => {
    const at = (x: number) => {
      const options = { shape: [1, 1], statistic: "k1", low: -0.5, high: 0.25, backend } as const;
      const { above, below } = measureMismatch(Float64Array.of(-x), Float64Array.of(0), options);
      return [below[0], above[0]];
    };
    expect([at(-0.5), at(0.25), at(0)]).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    expect([at(-0.5 - 2 ** -53), at(0.25 + 2 ** -54), at(NaN)]).toEqual([
      [1, 0],
      [0, 1],
      [0, 1],
    ]);
  });

  test("NaN stays in its row", () => {
    const { current, old, mask } = mismatch(3);
    const i = mask.indexOf(1);
    const clean = measureMismatch(current, old, { shape: SHAPE, mask, statistic: "ratio", backend });
    const spoilt = measureMismatch(
      current.map((x, k) => (k === i ? NaN : x)),
      old,
      { shape: SHAPE, mask, statistic: "ratio", backend },
    );
    expect(spoilt.moments.sums[0]).toBeNaN();
    expect(spoilt.moments.partials.subarray(6)).toEqual(clean.moments.partials.subarray(6));
  });

  test("rows of several chunks of 4096 tokens", () => {
    const n = 3 * 4096 + 5;
    const current = Float32Array.from({ length: n }, (_, i) => Math.sin(i));
    const old = new Float32Array(n);
    const { moments } = measureMismatch(current, old, { shape: [1, n], statistic: "ratio", backend });
    const values = Array.from(current, Math.exp);
    const mean = sum(values) / n;
    // 12 293 numbers added in order in float64.
    expect(moments.means).toBeAllClose([mean], { rtol: 1e-12, atol: 0 });
    expect(moments.m2s).toBeAllClose([sum(values.map((x) => (x - mean) ** 2))], { rtol: 1e-11, atol: 0 });
  });

  test("no rows, rows without tokens", () => {
    const none = new Float32Array(0);
    const statistic: MismatchStatistic = "k2";
    expect(measureMismatch(none, none, { shape: [0, 4], statistic, backend }).moments.partials).toHaveLength(0);
    const empty = measureMismatch(none, none, { shape: [2, 0], statistic, low: 1, backend });
    expect(Array.from(empty.bounded.partials)).toEqual([...momentsOf([]), ...momentsOf([])]);
    expect(empty).toMatchObject({
      above: Int32Array.of(0, 0),
      below: Int32Array.of(0, 0),
      differences: Float64Array.of(0, 0),
    });
  });
});
