// Laws on generated batches: any number of rows of any length, with any mask.
import fc from "fast-check";

import { boundMismatch, measureMismatch, type MismatchStatistic } from "../../../lib";
import { eachBackend } from "../../support/each-backend";

const RUNS = { numRuns: 30, seed: 13 };

interface Token {
  readonly current: number;
  readonly old: number;
  readonly kept: boolean;
}
const logProb = fc.float({ min: -20, max: 0, noNaN: true });
const batches = fc.array(
  fc.array(fc.record<Token>({ current: logProb, old: logProb, kept: fc.boolean() }), { maxLength: 12 }),
  {
    maxLength: 8,
  },
);
const statistics = fc.constantFrom("k1" as const, "k2" as const, "k3" as const, "ratio" as const, "distance" as const);
const BOUNDS = { logClamp: 5, low: 0.1, high: 1.5 };

function arrays(tokens: readonly Token[], under?: number) {
  const of = (name: "current" | "old") =>
    Float32Array.from(tokens, (token) => (token.kept ? token[name] : (under ?? token[name])));
  return { current: of("current"), old: of("old"), mask: Uint8Array.from(tokens, ({ kept }) => Number(kept)) };
}

function packed(rows: readonly (readonly Token[])[], under?: number) {
  const offsets = Int32Array.from([0, ...rows.map((row) => row.length)]);
  for (let b = 1; b < offsets.length; ++b) offsets[b]! += offsets[b - 1]!;
  return { ...arrays(rows.flat(), under), offsets };
}

eachBackend((backend) => {
  const measures = ({ current, old, ...where }: ReturnType<typeof packed>, statistic: MismatchStatistic) =>
    measureMismatch(current, old, { ...where, statistic, ...BOUNDS, backend });
  const bounds = ({ current, old, ...where }: ReturnType<typeof packed>, statistic: MismatchStatistic) =>
    boundMismatch(current, old, { ...where, statistic, ...BOUNDS, backend });

  test("what lies under the mask changes no bit", () => {
    fc.assert(
      fc.property(batches, statistics, (rows, statistic) => {
        expect(measures(packed(rows, NaN), statistic)).toEqual(measures(packed(rows), statistic));
        expect(bounds(packed(rows, NaN), statistic)).toEqual(bounds(packed(rows), statistic));
      }),
      RUNS,
    );
  });

  test("packed rows equal padded ones to the bit, however wide the padding is", () => {
    fc.assert(
      fc.property(batches, statistics, fc.integer({ min: 12, max: 20 }), (rows, statistic, width) => {
        const filler: Token = { current: NaN, old: NaN, kept: false };
        const table = arrays(rows.flatMap((row) => Array.from({ length: width }, (_, t) => row[t] ?? filler)));
        const where = { shape: [rows.length, width] as const, mask: table.mask, statistic, ...BOUNDS, backend };
        const ragged = packed(rows);
        expect(measureMismatch(table.current, table.old, where)).toEqual(measures(ragged, statistic));
        const { weights, keptCounts } = boundMismatch(table.current, table.old, where);
        const want = bounds(ragged, statistic);
        expect(keptCounts).toEqual(want.keptCounts);
        rows.forEach((row, b) =>
          row.forEach((_, t) => expect(weights[b * width + t]).toBe(want.weights[ragged.offsets[b]! + t])),
        );
      }),
      RUNS,
    );
  });

  test("rows in another order have the same figures in that order", () => {
    fc.assert(
      fc.property(batches, statistics, (rows, statistic) => {
        const { moments, above } = measures(packed(rows), statistic);
        const back = measures(packed(rows.slice().reverse()), statistic);
        expect(Array.from(back.moments.sums).reverse()).toEqual(Array.from(moments.sums));
        expect(Array.from(back.moments.m2s).reverse()).toEqual(Array.from(moments.m2s));
        expect(Array.from(back.above).reverse()).toEqual(Array.from(above));
      }),
      RUNS,
    );
  });

  test("a token is kept exactly where it is counted neither above nor below", () => {
    fc.assert(
      fc.property(batches, statistics, (rows, statistic) => {
        const { moments, above, below } = measures(packed(rows), statistic);
        const { keptCounts } = bounds(packed(rows), statistic);
        expect(Array.from(keptCounts)).toEqual(Array.from(moments.counts, (count, b) => count - above[b]! - below[b]!));
      }),
      RUNS,
    );
  });
});
