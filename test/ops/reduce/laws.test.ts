// Laws on generated batches: any number of rows of any length, with any mask.
import fc from "fast-check";

import { aggregateLoss } from "../../../lib";
import { mergeMoments, moments, whiten } from "../../../lib/ops/reduce";
import { eachBackend } from "../../support/each-backend";

const RUNS = { numRuns: 30, seed: 11 };

interface Token {
  readonly x: number;
  readonly kept: boolean;
}
const token = fc.record<Token>({ x: fc.float({ min: -100, max: 100, noNaN: true }), kept: fc.boolean() });
const batches = fc.array(fc.array(token, { maxLength: 12 }), { maxLength: 8 });

function packed(rows: readonly (readonly Token[])[]) {
  const offsets = Int32Array.from([0, ...rows.map((row) => row.length)]);
  for (let b = 1; b < offsets.length; ++b) offsets[b]! += offsets[b - 1]!;
  const tokens = rows.flat();
  return {
    values: Float32Array.from(tokens, ({ x }) => x),
    mask: Uint8Array.from(tokens, ({ kept }) => Number(kept)),
    offsets,
  };
}

/** The same rows in `width` columns; padding and what lies under the mask hold `under`. */
function padded(rows: readonly (readonly Token[])[], width: number, under: number) {
  const cell = (b: number, t: number): Token => rows[b]![t] ?? { x: under, kept: false };
  const tokens = rows.flatMap((_, b) => Array.from({ length: width }, (_, t) => cell(b, t)));
  return {
    values: Float32Array.from(tokens, ({ x, kept }) => (kept ? x : under)),
    mask: Uint8Array.from(tokens, ({ kept }) => Number(kept)),
    shape: [rows.length, width] as const,
  };
}

eachBackend((backend) => {
  test("packed rows equal padded ones to the bit, whatever the padding holds and however wide it is", () => {
    fc.assert(
      fc.property(
        batches,
        fc.integer({ min: 12, max: 20 }),
        fc.constantFrom("row" as const, "all" as const),
        (rows, width, over) => {
          const a = packed(rows);
          const b = padded(rows, width, NaN);
          const ragged = { offsets: a.offsets, mask: a.mask, over, backend };
          const wide = { shape: b.shape, mask: b.mask, over, backend };
          expect(moments(b.values, wide).partials).toEqual(moments(a.values, ragged).partials);
          const whitened = whiten(a.values, ragged);
          const table = whiten(b.values, wide);
          rows.forEach((row, r) =>
            row.forEach((_, t) => expect(table[r * width + t]).toBe(whitened[a.offsets[r]! + t])),
          );
          const mode = "rowMean";
          expect(aggregateLoss(b.values, { shape: b.shape, mask: b.mask, mode, backend }).loss).toBe(
            aggregateLoss(a.values, { offsets: a.offsets, mask: a.mask, mode, backend }).loss,
          );
        },
      ),
      RUNS,
    );
  });

  test("a batch cut anywhere and merged has the moments of the whole", () => {
    fc.assert(
      fc.property(batches, fc.nat(8), (rows, at) => {
        const part = (some: typeof rows) => {
          const { values, mask, offsets } = packed(some);
          return moments(values, { offsets, mask, backend });
        };
        const whole = part(rows).partials;
        const merged = mergeMoments([part(rows.slice(0, at)), part(rows.slice(at))], { backend }).partials;
        // Up to 96 numbers of up to 100: sums of 1e4 and squares of 1e6 in float64, added in another order.
        expect(merged).toBeAllClose(whole, { rtol: 1e-13, atol: 1e-9 });
      }),
      RUNS,
    );
  });

  test("the order of rows permutes what is whitened, and the names of groups do not matter", () => {
    fc.assert(
      fc.property(batches, fc.infiniteStream(fc.nat(2)), (rows, labels) => {
        const groups = rows.map(() => labels.next().value as number);
        const { values, mask, offsets } = packed(rows);
        const base = whiten(values, { offsets, mask, groups, epsilon: 1, backend });
        const renamed = whiten(values, {
          offsets,
          mask,
          groups: groups.map((g) => `prompt ${9 - g}`),
          epsilon: 1,
          backend,
        });
        expect(renamed).toEqual(base);
        const back = packed(rows.slice().reverse());
        const turned = whiten(back.values, {
          offsets: back.offsets,
          mask: back.mask,
          groups: groups.slice().reverse(),
          epsilon: 1,
          backend,
        });
        const expected = rows
          .map((_, b) => Array.from(base.subarray(offsets[b], offsets[b + 1])))
          .reverse()
          .flat();
        // Partials merge in another order: one rounding to float32, numbers of up to 100 divided by 1 or more.
        expect(turned).toBeAllClose(expected, { rtol: 1.2e-7, atol: 1e-10 });
      }),
      RUNS,
    );
  });
});
