import { mergeMoments, Moments, moments } from "../../../lib/ops/reduce";
import { type ExactMoments, keptRows, momentsOracle } from "../../oracle/reduce";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const FLOATS = [
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const;

/** Sums and means against the magnitude of what was added, M2 relatively: n · 2^-53 each, for up to 10 000 numbers. */
const CLOSE = { rtol: 2e-13, atol: 2e-13 };

function expectMoments(got: Moments, want: readonly ExactMoments[], tolerance = CLOSE): void {
  expect(Array.from(got.counts)).toEqual(want.map((m) => m.count));
  expect(Array.from(got.mins)).toEqual(want.map((m) => m.min));
  expect(Array.from(got.maxs)).toEqual(want.map((m) => m.max));
  expect(got.sums).toBeAllClose(
    want.map((m) => m.sum),
    tolerance,
  );
  expect(got.means).toBeAllClose(
    want.map((m) => m.mean),
    tolerance,
  );
  expect(got.m2s).toBeAllClose(
    want.map((m) => m.m2),
    tolerance,
  );
}

eachBackend((backend) => {
  describe.each(FLOATS)("%s", (_, Floats) => {
    test("each row has the moments of the exact formula", () => {
      const r = rng(1);
      const values = Floats.from(r.normal(7 * 83, 3, 2));
      const mask = r.mask(7 * 83, 0.6);
      const got = moments(values, { shape: [7, 83], mask, over: "row", backend });
      expectMoments(got, keptRows(values, mask, 83).map(momentsOracle));
    });

    test("so has everything together, and each group of rows", () => {
      const r = rng(2);
      const values = Floats.from(r.normal(9 * 31));
      const mask = r.mask(9 * 31, 0.5);
      const rows = keptRows(values, mask, 31);
      const layout = { shape: [9, 31], mask, backend } as const;
      expectMoments(moments(values, layout), [momentsOracle(rows.flat())]);
      const groups = [5, 2, 5, 5, 9, 2, 9, 9, 5];
      const members = [5, 2, 9].map((label) => rows.filter((_, b) => groups[b] === label).flat());
      expectMoments(moments(values, { ...layout, groups }), members.map(momentsOracle));
    });

    test("rows longer than a chunk, of every length around its border", () => {
      const lengths = [4095, 4096, 4097, 0, 8192, 9000];
      const offsets = Int32Array.from([0, ...lengths]);
      for (let b = 1; b < offsets.length; ++b) offsets[b]! += offsets[b - 1]!;
      const values = Floats.from(rng(3).normal(offsets[lengths.length]!, 1000, 1));
      const got = moments(values, { offsets, over: "row", backend });
      const rows = lengths.map((_, b) => Array.from(values.subarray(offsets[b], offsets[b + 1])));
      // Sums reach 9e6 here: 1e-13 of that.
      expectMoments(got, rows.map(momentsOracle), { rtol: 2e-13, atol: 2e-9 });
      expectMoments(moments(values, { backend }), [momentsOracle(Array.from(values))], { rtol: 2e-13, atol: 2e-9 });
    });

    test("neither other rows nor padding nor the layout change a bit", () => {
      const r = rng(4);
      const tokens = 5000;
      const row = Floats.from(r.normal(tokens));
      const mask = r.mask(tokens, 0.7);
      const alone = moments(row, { mask, backend }).partials;
      const width = 9001;
      const values = new Floats(3 * width).fill(NaN);
      const wide = new Uint8Array(3 * width);
      values.set(row, width);
      wide.set(mask, width);
      const padded = moments(values, { shape: [3, width], mask: wide, over: "row", backend }).partials;
      expect(Array.from(padded.subarray(6, 12))).toEqual(Array.from(alone));
      const packed = new Floats(tokens + 10).fill(1);
      packed.set(row, 3);
      const mixed = new Uint8Array(tokens + 10).fill(1);
      mixed.set(mask, 3);
      const offsets = Int32Array.of(0, 3, 3 + tokens, 10 + tokens);
      const ragged = moments(packed, { offsets, mask: mixed, over: "row", backend }).partials;
      expect(Array.from(ragged.subarray(6, 12))).toEqual(Array.from(alone));
      // Rows without a kept token at the end of a batch add nothing either.
      expect(
        Array.from(
          moments(values.subarray(width), { shape: [2, width], mask: wide.subarray(width), backend }).partials,
        ),
      ).toEqual(Array.from(alone));
    });

    test.each([
      ["0.1", 0.1],
      ["0.97", 0.97],
      ["a huge number", 1e30],
      ["a tiny number", 1e-30],
    ])("equal numbers have exactly themselves as mean, and no spread: %s", (_, value) => {
      const values = new Floats(3 * 5003).fill(value);
      const got = moments(values, { shape: [3, 5003], over: "all", backend });
      expect(got.means[0]).toBe(values[0]);
      expect(got.m2s[0]).toBe(0);
      expect(got.stds()[0]).toBe(0);
    });

    test("nothing kept is the identity of merging", () => {
      const empty = moments(new Floats(0), { backend });
      expect(Array.from(empty.partials)).toEqual([0, 0, 0, 0, Infinity, -Infinity]);
      const masked = moments(Floats.of(NaN, 7), { mask: new Uint8Array(2), backend });
      expect(masked.partials).toEqual(empty.partials);
      expect(Array.from(masked.variances(0))).toEqual([NaN]);
      const some = moments(Floats.from(rng(5).normal(40)), { backend });
      expect(mergeMoments([empty, some, masked], { backend }).partials).toEqual(some.partials);
      expect(mergeMoments([], { backend }).partials).toEqual(empty.partials);
      // Whatever else it says: count 0 means nothing was seen.
      expect(mergeMoments([Float64Array.of(0, 5, 5, 5, 5, 5), some], { backend }).partials).toEqual(some.partials);
      expect(moments(new Floats(0), { shape: [0, 4], over: "row", backend }).units).toBe(0);
      expect(moments(new Floats(0), { shape: [3, 0], over: "row", backend }).partials.length).toBe(18);
    });

    test("a NaN makes its unit NaN or abstains", () => {
      const values = Floats.of(1, NaN, 3, 4, 5, 6);
      const layout = { shape: [2, 3], over: "row", backend } as const;
      const got = moments(values, layout);
      expect(Array.from(got.partials.subarray(0, 6))).toEqual([3, NaN, NaN, NaN, NaN, NaN]);
      expect(Array.from(got.partials.subarray(6))).toEqual([3, 15, 5, 2, 4, 6]);
      const abstained = moments(values, { ...layout, nan: "abstain" });
      expect(Array.from(abstained.partials.subarray(0, 6))).toEqual([2, 4, 2, 2, 1, 3]);
      expect(Array.from(moments(Floats.of(NaN), { nan: "abstain", backend }).counts)).toEqual([0]);
      expect(Array.from(mergeMoments(got, { backend }).partials)).toEqual([6, NaN, NaN, NaN, NaN, NaN]);
    });

    test("infinities follow IEEE arithmetic, in a row and merged", () => {
      const values = Floats.of(1, Infinity, -Infinity, 2, Infinity, Infinity, Infinity, -Infinity);
      const rows = moments(values, { shape: [4, 2], over: "row", backend });
      expect(Array.from(rows.means)).toEqual([Infinity, -Infinity, Infinity, NaN]);
      expect(Array.from(rows.m2s)).toEqual([NaN, NaN, NaN, NaN]);
      expect(Array.from(rows.mins)).toEqual([1, -Infinity, Infinity, -Infinity]);
      expect(Array.from(mergeMoments(rows, { groups: [0, 1, 0, 1], backend }).means)).toEqual([Infinity, NaN]);
      expect(Array.from(mergeMoments(rows, { groups: [0, 0, 1, 2], backend }).means)).toEqual([NaN, Infinity, NaN]);
    });
  });

  test("merging the parts of a batch gives the whole, however it was split", () => {
    const r = rng(6);
    const values = r.normal(3000, 1e6, 1);
    const whole = momentsOracle(Array.from(values));
    for (const cuts of [
      [0, 3000],
      [0, 1, 3000],
      [0, 700, 700, 2999, 3000],
      [0, 1000, 2000, 3000],
    ]) {
      const parts = cuts.slice(1).map((end, k) => moments(values.subarray(cuts[k], end), { backend }));
      // A mean of 1e6 is known to 1e-10 at best, so M2 (3000) to a part of 1e-12 or so.
      expectMoments(mergeMoments(parts, { backend }), [whole], { rtol: 1e-11, atol: 1e-9 });
      expectMoments(
        mergeMoments(
          parts.map((part) => part.partials),
          { backend },
        ),
        [whole],
        { rtol: 1e-11, atol: 1e-9 },
      );
    }
  });

  test("merging many units at once, and within groups in any order", () => {
    const r = rng(7);
    const B = 700;
    const values = r.normal(B * 3);
    const rows = moments(values, { shape: [B, 3], over: "row", backend });
    expectMoments(mergeMoments(rows, { backend }), [momentsOracle(Array.from(values))]);
    const groups = r.i32(B, 0, 5).map((label, b) => (b < 5 ? b : label));
    const want = [0, 1, 2, 3, 4].map((label) =>
      momentsOracle(Array.from(values).filter((_, i) => groups[Math.floor(i / 3)] === label)),
    );
    expectMoments(mergeMoments(rows, { groups, backend }), want);
    expectMoments(mergeMoments(rows, { groupOffsets: Int32Array.of(0, 0, B), backend }), [
      momentsOracle([]),
      momentsOracle(Array.from(values)),
    ]);
  });

  test("variances and stds give up as many degrees of freedom as asked", () => {
    const got = moments(Float64Array.of(1, 2, 4, 5), { backend });
    expect(got.variances(0)[0]).toBe(2.5);
    expect(got.variances()[0]).toBeCloseTo(10 / 3, 15);
    expect(got.stds(0)[0]).toBe(Math.sqrt(2.5));
    expect(got.variances(4)[0]).toBeNaN();
  });
});

test("moments survive a copy to another worker as their partials", () => {
  const sent = structuredClone(moments(Float32Array.of(1, 2, 3)).partials);
  expect(Array.from(new Moments(sent).means)).toEqual([2]);
});
