import { groupBroadcast, groupSoftmax, groupTop2 } from "../../lib/ops/group";
import { groupSoftmaxOracle, groupTop2Oracle, partition } from "../oracle/group";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const FLOATS = [
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const;

/** One rounding for float32; for float64 the exponential may differ by an ulp between libraries, 300 terms add up. */
const TOLERANCE = { float32: { rtol: 1.2e-7, atol: 1e-45 }, float64: { rtol: 1e-13, atol: 0 } };

eachBackend((backend) => {
  describe.each(FLOATS)("softmax, %s", (dtype, Floats) => {
    const tolerance = TOLERANCE[dtype];

    test.each([0.05, 1, 30])("matches the definition at temperature %p", (temperature) => {
      const labels = rng(1).i32(300, 0, 13);
      const values = Floats.from(rng(2).normal(300, 1, 2));
      const got = groupSoftmax(values, { groups: labels, temperature, backend });
      expect(got).toBeAllClose(groupSoftmaxOracle(values, partition(labels), temperature), tolerance);
      expect(got).toBeInstanceOf(Floats);
    });

    test("weights of a group sum to one", () => {
      const labels = rng(3).i32(500, 0, 7);
      const got = groupSoftmax(Floats.from(rng(4).normal(500, 0, 5)), { groups: labels, backend });
      for (const items of partition(labels)) {
        const sum = items.reduce((total, i) => total + got[i]!, 0);
        // Each weight is rounded by at most half a unit of its type; together less than that of 1 per item.
        expect(Math.abs(sum - 1)).toBeLessThan(items.length * (dtype === "float32" ? 6e-8 : 2e-16));
      }
    });

    test("a common shift changes nothing", () => {
      const values = Floats.from(rng(5).i32(40, -50, 50)).map((x) => x / 8); // exact in both types, shifted or not
      const base = groupSoftmax(values, { groups: "all", backend });
      expect(
        Array.from(
          groupSoftmax(
            values.map((x) => x + 1024),
            { groups: "all", backend },
          ),
        ),
      ).toEqual(Array.from(base));
    });

    test("near temperature zero the best take all, and equal best ones share exactly", () => {
      const values = Floats.of(1, 3, 2.999, 3, 3, -1e30, 3);
      for (const temperature of [1e-9, 1e-200, Number.MIN_VALUE])
        expect(Array.from(groupSoftmax(values, { groups: "all", temperature, backend }))).toEqual([
          0, 0.25, 0, 0.25, 0.25, 0, 0.25,
        ]);
    });

    test("a group of one has weight one", () => {
      expect(Array.from(groupSoftmax(Floats.of(-700, 3e38), { groups: [0, 1], backend }))).toEqual([1, 1]);
    });

    test("large values do not overflow", () => {
      expect(Array.from(groupSoftmax(Floats.of(3e38, 3e38, -3e38), { groups: "all", backend }))).toEqual([0.5, 0.5, 0]);
    });

    test("minus infinity has no weight; NaN, plus infinity and minus infinity alone make their group NaN", () => {
      const values = Floats.of(-Infinity, 2, 2, NaN, 1, -Infinity, -Infinity, Infinity, 0);
      const got = groupSoftmax(values, { groups: [0, 0, 0, 1, 1, 2, 2, 3, 3], backend });
      expect(Array.from(got)).toEqual([0, 0.5, 0.5, NaN, NaN, NaN, NaN, NaN, NaN]);
    });

    test("one group of very many items, empty groups, no items", () => {
      const n = 100_000;
      const uniform = groupSoftmax(new Floats(n).fill(5), { groupOffsets: Int32Array.of(0, 0, n, n), backend });
      expect(new Set(uniform)).toEqual(new Set([Floats.of(1 / n)[0]]));
      expect(groupSoftmax(new Floats(0), { groups: "all", backend })).toHaveLength(0);
    });
  });

  describe.each(FLOATS)("top 2, %s", (_, Floats) => {
    test("matches sorting, with many ties", () => {
      const labels = rng(6).i32(400, 0, 40);
      const values = Floats.from(rng(7).i32(400, 0, 4));
      const got = groupTop2(values, { groups: labels, backend });
      const want = groupTop2Oracle(values, partition(labels));
      expect(Array.from(got.best)).toEqual(want.map(([best]) => best));
      expect(Array.from(got.second)).toEqual(want.map(([, second]) => second));
      expect(Array.from(got.bestValues)).toEqual(want.map(([best]) => values[best] ?? NaN));
      expect(Array.from(got.secondValues)).toEqual(want.map(([, second]) => values[second] ?? NaN));
    });

    test("ties go to the smaller index, wherever the members stand in the batch", () => {
      const got = groupTop2(Floats.of(7, 5, 7, 5, 7, 5), { groups: [1, 0, 1, 0, 1, 0], backend });
      expect(Array.from(got.best)).toEqual([0, 1]);
      expect(Array.from(got.second)).toEqual([2, 3]);
      expect(Array.from(groupTop2(Floats.of(-0, 0), { groups: "all", backend }).best)).toEqual([0]);
    });

    test("NaN is refused by name, minus infinity is picked", () => {
      const named = "groupTop2: values[2] is NaN, expected a number";
      expect(() => groupTop2(Floats.of(3, 1, NaN, 4), { groups: [0, 0, 1, 1], backend })).toThrow(named);
      const many = new Floats(2000).fill(1).fill(NaN, 1999);
      expect(() => groupTop2(many, { groups: "all", backend })).toThrow("values[1999] is NaN");
      const got = groupTop2(Floats.of(-Infinity, 1, -Infinity, -Infinity), { groups: [0, 0, 1, 1], backend });
      expect(Array.from(got.best)).toEqual([1, 2]);
      expect(Array.from(got.second)).toEqual([0, 3]);
      expect(Array.from(got.secondValues)).toEqual([-Infinity, -Infinity]);
    });

    test("groups of one have no second, empty groups no best", () => {
      const got = groupTop2(Floats.of(4, 9), { groupOffsets: Int32Array.of(0, 1, 1, 2), backend });
      expect(Array.from(got.best)).toEqual([0, -1, 1]);
      expect(Array.from(got.second)).toEqual([-1, -1, -1]);
      expect(groupTop2(new Floats(0), { groups: "all", backend }).best).toHaveLength(0);
    });

    test("one group of very many items", () => {
      const values = new Floats(100_000).map((__, i) => (i * 7919) % 99_991);
      values[60_000] = values[77_777] = 1e6;
      const got = groupTop2(values, { groups: "all", backend });
      expect([got.best[0], got.second[0]]).toEqual([60_000, 77_777]);
    });
  });

  describe.each(FLOATS)("broadcast, %s", (_, Floats) => {
    test("each kept token gets its row's value, others 0", () => {
      const got = groupBroadcast(Floats.of(1.5, -2), {
        shape: [2, 3],
        mask: Uint8Array.of(1, 0, 1, 0, 1, 255),
        backend,
      });
      expect(Array.from(got)).toEqual([1.5, 0, 1.5, 0, -2, -2]);
      expect(Array.from(groupBroadcast(Floats.of(1.5, -2), { shape: [2, 2], backend }))).toEqual([1.5, 1.5, -2, -2]);
    });

    test("packed rows, some empty", () => {
      const got = groupBroadcast(Floats.of(1, 2, 3, 4), { offsets: Int32Array.of(0, 0, 3, 3, 4), backend });
      expect(Array.from(got)).toEqual([2, 2, 2, 4]);
    });

    test("a factor per row multiplies", () => {
      const got = groupBroadcast(Floats.of(3, 5), { shape: [2, 2], rowFactors: Floats.of(0.5, -2), backend });
      expect(Array.from(got)).toEqual([1.5, 1.5, -10, -10]);
    });

    test("what a row without kept tokens holds is not seen", () => {
      const options = { shape: [3, 2], mask: Uint8Array.of(1, 0, 0, 0, 0, 1), backend } as const;
      const got = groupBroadcast(Floats.of(1, NaN, 2), { ...options, rowFactors: Floats.of(1, Infinity, 1) });
      expect(Array.from(got)).toEqual([1, 0, 0, 0, 0, 2]);
    });

    test("long rows and many rows", () => {
      const long = groupBroadcast(Floats.of(1, 2), { shape: [2, 5000], backend });
      expect(long.indexOf(2)).toBe(5000);
      expect(long.every((x, i) => x === (i < 5000 ? 1 : 2))).toBe(true);
      const many = groupBroadcast(
        new Floats(5000).map((__, b) => b),
        { shape: [5000, 3], backend },
      );
      expect(many.every((x, i) => x === Math.floor(i / 3))).toBe(true);
    });

    test("no rows, no tokens", () => {
      expect(groupBroadcast(new Floats(0), { shape: [0, 4], backend })).toHaveLength(0);
      expect(groupBroadcast(Floats.of(1), { shape: [1, 0], backend })).toHaveLength(0);
    });
  });

  test("the widest input decides the type", () => {
    const got = groupBroadcast(Float32Array.of(0.5), { shape: [1, 1], rowFactors: Float64Array.of(0.1), backend });
    expect(got).toEqual(Float64Array.of(0.05));
  });

  test("results go into the caller's memory", () => {
    const weights = new Float32Array(2);
    expect(groupSoftmax(Float32Array.of(0, 0), { groups: "all", out: { weights }, backend })).toBe(weights);
    expect(Array.from(weights)).toEqual([0.5, 0.5]);
    const tokens = new Float32Array(2).fill(9);
    groupBroadcast(Float32Array.of(1), { shape: [1, 2], mask: Uint8Array.of(0, 1), out: { tokens }, backend });
    expect(Array.from(tokens)).toEqual([0, 1]);
  });
});
