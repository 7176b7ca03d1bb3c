import fc from "fast-check";

import { quantileMask, topMask } from "../../lib/ops/select";
import { membersOf, quantileOracle, topOracle } from "../oracle/select";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const FLOATS = [
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const;
const SCOPES = ["row", "all"] as const;

eachBackend((backend) => {
  describe.each(FLOATS)("%s", (_, Floats) => {
    // 37: no power of two, not a warp; 700: more than one stride of a block. Few distinct values: many ties.
    const [B, T] = [6, 37];
    const samples = {
      normal: Floats.from(rng(1).normal(B * T, 1, 2)),
      ties: Floats.from(rng(2).i32(B * T, -3, 4)),
      flat: new Floats(B * T).fill(0.1),
      wide: Floats.from(rng(3).normal(B * T, 0, 1)).map((x, i) => x * 10 ** ((i % 70) - 35)),
    };
    const mask = rng(4)
      .mask(B * T, 0.7)
      .fill(0, T, 2 * T); // row 1 has no candidate

    describe.each(SCOPES)("over %s", (over) => {
      test.each(Object.entries(samples))("the top k equal a sort: %s", (__, values) => {
        const units = membersOf(B * T, B, mask, over);
        for (const k of [0, 1, 5, 26, 1e6]) {
          const got = topMask(values, { shape: [B, T], mask, over, k, backend });
          expect(got.selected).toEqual(topOracle(values, units, () => k));
          expect([...got.counts]).toEqual(units.map((unit) => Math.min(k, unit.length)));
        }
        for (const share of [0, 0.2, 0.29, 0.5, 1])
          for (const least of [0, 1, 3]) {
            const got = topMask(values, { shape: [B, T], mask, over, share, least, backend });
            expect(got.selected).toEqual(
              topOracle(values, units, (count) => Math.max(least, Math.floor(share * count))),
            );
          }
      });

      test.each(Object.entries(samples))("thresholds are the interpolated quantiles: %s", (__, values) => {
        const units = membersOf(B * T, B, mask, over);
        for (const q of [0, 0.1, 1 / 3, 0.5, 0.8, 0.99, 1]) {
          const got = quantileMask(values, { shape: [B, T], mask, over, q, backend });
          const want = units.map((unit) =>
            unit.length > 0
              ? quantileOracle(
                  unit.map((i) => values[i]!),
                  q,
                )
              : NaN,
          );
          // The same few float64 operations in the same order: equal to the bit.
          expect([...got.thresholds]).toEqual(want);
          const selected = new Uint8Array(B * T);
          units.forEach((unit, u) => unit.forEach((i) => (selected[i] = values[i]! >= want[u]! ? 1 : 0)));
          expect(got.selected).toEqual(selected);
        }
      });

      test("what lies under the mask changes no bit", () => {
        const poisoned = samples.normal.map((x, i) => (mask[i] !== 0 ? x : [NaN, Infinity, 1e30][i % 3]!));
        const options = { shape: [B, T], mask, over, backend } as const;
        expect(topMask(poisoned, { ...options, share: 0.4 })).toEqual(
          topMask(samples.normal, { ...options, share: 0.4 }),
        );
        expect(quantileMask(poisoned, { ...options, q: 0.4 })).toEqual(
          quantileMask(samples.normal, { ...options, q: 0.4 }),
        );
      });
    });

    test("rows that are longer than a block, and a long batch", () => {
      const long = Floats.from(rng(5).i32(3 * 2500, 0, 50));
      for (const over of SCOPES) {
        const units = membersOf(long.length, 3, undefined, over);
        const got = topMask(long, { shape: [3, 2500], over, share: 0.3, backend });
        expect(got.selected).toEqual(topOracle(long, units, (count) => Math.floor(0.3 * count)));
        const quantiles = quantileMask(long, { shape: [3, 2500], over, q: 0.7, backend });
        expect([...quantiles.thresholds]).toEqual(
          units.map((unit) =>
            quantileOracle(
              unit.map((i) => long[i]!),
              0.7,
            ),
          ),
        );
      }
    });

    test("a batch that all of a device ranks: ties, few and many candidates", () => {
      const rows = [3, 7000] as const;
      const n = rows[0] * rows[1];
      const kept = rng(6).mask(n, 0.8);
      for (const values of [
        Floats.from(rng(7).i32(n, -20, 20)),
        Floats.from(rng(8).normal(n, -1, 3)),
        new Floats(n).fill(2),
      ])
        for (const [share, q] of [
          [0.001, 0.5],
          [0.4, 0.99],
          [1, 0],
        ] as const) {
          const units = membersOf(n, rows[0], kept, "all");
          const got = topMask(values, { shape: rows, mask: kept, over: "all", share, backend });
          expect(
            Buffer.compare(
              got.selected,
              topOracle(values, units, (count) => Math.floor(share * count)),
            ),
          ).toBe(0);
          const above = quantileMask(values, { shape: rows, mask: kept, over: "all", q, backend });
          const threshold = quantileOracle(
            units[0]!.map((i) => values[i]!),
            q,
          );
          expect([...above.thresholds]).toEqual([threshold]);
          expect(above.selected.every((flag, i) => flag === Number(kept[i] !== 0 && values[i]! >= threshold))).toBe(
            true,
          );
        }
      const holes = Floats.from(rng(9).normal(n, 0, 1)).fill(NaN, 5, 6);
      const options = { shape: rows, over: "all", backend } as const;
      expect(quantileMask(holes, { ...options, q: 0.5 }).thresholds[0]).toBeNaN();
      expect(() => topMask(holes, { ...options, k: n - 1 })).toThrow("topMask: values[5] is NaN");
      expect(topMask(holes, { ...options, k: 0 }).selected.indexOf(1)).toBe(-1);
    });

    test("packed rows equal padded rows under a mask, and padding columns change nothing", () => {
      const lengths = [4, 0, 6, 1];
      const offsets = Int32Array.of(0, 4, 4, 10, 11);
      const values = Floats.from(rng(6).normal(11, 0, 1));
      for (const width of [6, 40]) {
        const padded = new Floats(4 * width).fill(9);
        const live = new Uint8Array(4 * width);
        lengths.forEach((length, b) => {
          padded.set(values.subarray(offsets[b], offsets[b + 1]), b * width);
          live.fill(1, b * width, b * width + length);
        });
        for (const over of SCOPES) {
          const top = topMask(values, { offsets, over, share: 0.5, least: 1, backend });
          const wide = topMask(padded, { shape: [4, width], mask: live, over, share: 0.5, least: 1, backend });
          expect(top.counts).toEqual(wide.counts);
          const quantile = quantileMask(values, { offsets, over, q: 0.6, backend });
          const wideQuantile = quantileMask(padded, { shape: [4, width], mask: live, over, q: 0.6, backend });
          expect(quantile.thresholds).toEqual(wideQuantile.thresholds);
          lengths.forEach((length, b) => {
            const row = (flags: Uint8Array): Uint8Array => flags.slice(b * width, b * width + length);
            expect(top.selected.slice(offsets[b], offsets[b + 1])).toEqual(row(wide.selected));
            expect(quantile.selected.slice(offsets[b], offsets[b + 1])).toEqual(row(wideQuantile.selected));
          });
        }
      }
    });

    test("equal values: the smaller index first; 0 and -0 are equal", () => {
      const top = (values: readonly number[], k: number): number[] => [
        ...topMask(Floats.from(values), { k, backend }).selected,
      ];
      expect(top([5, 5, 5, 5], 2)).toEqual([1, 1, 0, 0]);
      expect(top([1, 5, 0, 5, 5], 2)).toEqual([0, 1, 0, 1, 0]);
      expect(top([-0, 0, -0, 0], 2)).toEqual([1, 1, 0, 0]);
      expect(top([0, -0, -1], 2)).toEqual([1, 1, 0]);
      expect([...quantileMask(Floats.of(-0, -0), { q: 0, backend }).thresholds]).toEqual([0]);
      expect([...quantileMask(Floats.of(-0, 0, -1), { q: 0.5, backend }).selected]).toEqual([1, 1, 0]);
    });

    test("neighbours in the last bit and subnormal numbers are told apart", () => {
      const tiny = Floats.BYTES_PER_ELEMENT === 4 ? 2 ** -149 : Number.MIN_VALUE;
      const above = Floats.BYTES_PER_ELEMENT === 4 ? 1 + 2 ** -23 : 1 + Number.EPSILON;
      const values = Floats.of(1, above, 0, tiny, -tiny, -above, -1);
      const ranked = Array.from(values, (__, k) => topMask(values, { k: k + 1, backend }).selected);
      const largest = ranked.map((flags) => flags.reduce((sum, flag, i) => sum + flag * 2 ** i, 0));
      // Indices in the order of the values: 1, 0, 3, 2, 4, 6, 5.
      expect(largest).toEqual(
        [1, 0, 3, 2, 4, 6, 5].map((__, k, order) => order.slice(0, k + 1).reduce((sum, i) => sum + 2 ** i, 0)),
      );
    });

    test("NaN has no rank and is refused by name, wherever it lies, unless it is masked or nothing is selected", () => {
      const values = Floats.of(3, -Infinity, 2, NaN, Infinity, NaN);
      const named = "topMask: values[3] is NaN, expected a number";
      for (const k of [1, 3, 4, 5, 9]) expect(() => topMask(values, { k, backend })).toThrow(named);
      expect([...topMask(values, { k: 0, backend }).selected]).toEqual([0, 0, 0, 0, 0, 0]);
      const mask = Uint8Array.of(1, 1, 1, 0, 1, 0);
      expect([...topMask(values, { k: 3, mask, backend }).selected]).toEqual([1, 0, 1, 0, 1, 0]);
      for (const n of [1100, 70_000]) {
        const many = Floats.from(rng(14).normal(n, 0, 1));
        for (const i of [0, n >> 1, n - 1]) {
          const one = many.slice().fill(NaN, i, i + 1);
          for (const k of [1, n >> 3, n]) {
            const refused = `topMask: values[${i}] is NaN`;
            expect(() => topMask(one, { k, over: "all", backend })).toThrow(refused);
          }
        }
      }
    });

    test("a NaN candidate leaves its row without a threshold, and no other row", () => {
      const got = quantileMask(Floats.of(1, NaN, 3, 4), { shape: [2, 2], q: 0, backend });
      expect([...got.thresholds]).toEqual([NaN, 3]);
      expect([...got.selected]).toEqual([0, 0, 1, 1]);
    });

    test("infinite neighbours: the infinite one is the threshold, NaN between two of them", () => {
      const threshold = (values: readonly number[], q: number): number =>
        quantileMask(Floats.from(values), { q, backend }).thresholds[0]!;
      expect(threshold([-Infinity, 1, 2], 0.25)).toBe(-Infinity);
      expect(threshold([-Infinity, 1, 2], 0.5)).toBe(1);
      expect(threshold([1, Infinity], 0.5)).toBe(Infinity);
      expect(threshold([1, Infinity], 0)).toBe(1);
      expect(threshold([Infinity, Infinity, 0], 0.75)).toBe(Infinity);
      expect(threshold([-Infinity, Infinity], 0.5)).toBeNaN();
      const most = Floats.BYTES_PER_ELEMENT === 4 ? 3.4028234663852886e38 : Number.MAX_VALUE;
      expect(threshold([-most, most], 0.5)).toBe(0);
    });

    test("a threshold never passes the value above it", () => {
      // The largest fraction below 1, where rounding up would show first.
      const q = 1 - 2 ** -53;
      const ends = rng(8).normal(400, 0, 1);
      for (let i = 0; i < 200; ++i) {
        const [low, high] = [ends[2 * i]!, ends[2 * i]! + Math.abs(ends[2 * i + 1]!) * 10 ** ((i % 12) - 9)];
        const values = Floats.of(low, high);
        const got = quantileMask(values, { q, backend });
        expect(got.thresholds[0]!).toBeLessThanOrEqual(values[1]!);
        expect(got.selected[1]).toBe(1);
      }
    });

    test("one value, no value, no row", () => {
      expect(quantileMask(Floats.of(3), { q: 0.7, backend })).toEqual({
        selected: Uint8Array.of(1),
        thresholds: Float64Array.of(3),
      });
      expect(topMask(Floats.of(3), { share: 0.99, backend }).selected).toEqual(Uint8Array.of(0));
      for (const over of SCOPES) {
        const units = over === "row" ? 2 : 1;
        const empty = { shape: [2, 0], over, backend } as const;
        expect(quantileMask(new Floats(0), { ...empty, q: 0.5 }).thresholds).toEqual(new Float64Array(units).fill(NaN));
        expect(topMask(new Floats(0), { ...empty, k: 3 }).counts).toEqual(new Int32Array(units));
      }
      expect(quantileMask(new Floats(0), { shape: [0, 4], q: 0.5, backend }).thresholds).toHaveLength(0);
      expect(topMask(new Floats(0), { offsets: Int32Array.of(0), k: 3, backend }).counts).toHaveLength(0);
    });

    test("results go into the caller's memory, all of it written", () => {
      const values = Floats.of(1, 2, 3, 4);
      const selected = new Uint8Array(4).fill(9);
      const thresholds = new Float64Array(2).fill(9);
      const counts = new Int32Array(2).fill(9);
      const shape = [2, 2] as const;
      const dropped = Uint8Array.of(1, 1, 0, 1);
      expect(
        quantileMask(values, { shape, mask: dropped, q: 1, out: { selected, thresholds }, backend }).selected,
      ).toBe(selected);
      expect([...selected, ...thresholds]).toEqual([0, 1, 0, 1, 2, 4]);
      selected.fill(9);
      expect(topMask(values, { shape, mask: dropped, k: 0, out: { selected, counts }, backend }).counts).toBe(counts);
      expect([...selected, ...counts]).toEqual([0, 0, 0, 0, 0, 0]);
      selected.fill(9);
      topMask(values, { shape, mask: dropped, k: 2, out: { selected, counts }, backend });
      expect([...selected, ...counts]).toEqual([1, 1, 0, 1, 2, 1]);
    });

    test("laws: permuted values select the same ones, all selected or above what is not", () => {
      const value = fc.integer({ min: -20, max: 20 });
      fc.assert(
        fc.property(
          fc.array(value, { minLength: 1, maxLength: 60 }),
          fc.double({ min: 0, max: 1, noNaN: true }),
          (list, share) => {
            const values = Floats.from(list);
            const { selected, counts } = topMask(values, { share, backend });
            expect(selected.reduce((sum, flag) => sum + flag, 0)).toBe(counts[0]);
            const taken = list.filter((__, i) => selected[i] === 1);
            const left = list.filter((__, i) => selected[i] === 0);
            expect(Math.min(...taken)).toBeGreaterThanOrEqual(Math.max(...left));
            const reversed = values.slice().reverse();
            expect(quantileMask(reversed, { q: share, backend }).thresholds).toEqual(
              quantileMask(values, { q: share, backend }).thresholds,
            );
          },
        ),
        { numRuns: 40, seed: 7 },
      );
    });
  });

  test("0.29 of 100 are 28, since the product is a little less than 29", () => {
    const values = Float32Array.from({ length: 100 }, (_, i) => i);
    expect(topMask(values, { share: 0.29, backend }).counts[0]).toBe(28);
  });

  test("a mask of other numbers than 1 keeps too", () => {
    expect([...topMask(Float32Array.of(1, 2, 3), { k: 1, mask: Uint8Array.of(255, 2, 0), backend }).selected]).toEqual([
      0, 1, 0,
    ]);
  });
});
