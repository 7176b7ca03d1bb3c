// Rows inside rows: runs of kept tokens, turns by number, spans; and what lies at the ends of them.
import fc from "fast-check";
import { discountedReturns, endValues, findSpans, groupBroadcast, logRatio, moments, segments } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const shape = [3, 5] as const;
// Two runs; nothing kept; a run at each end.
const mask = Uint8Array.of(0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1);

test("a run of kept tokens is a segment, and every token belongs to one", () => {
  const { offsets, rowOffsets, kept, counts, mask: inside } = segments({ shape, mask });
  expect([...offsets]).toEqual([0, 4, 5, 10, 12, 15]);
  expect([...rowOffsets]).toEqual([0, 2, 3, 5]);
  expect([...kept]).toEqual([1, 1, 0, 1, 1]);
  expect([...counts]).toEqual([2, 0, 2]);
  expect([...inside]).toEqual([...mask]);
});

test("turns go on over masked tokens, whose numbers are not read", () => {
  const turns = Int32Array.of(9, 0, 0, -1, 0, 0, 0, 0, 0, 0, 1, -7, 1, 2, 4);
  const { offsets, counts } = segments({ shape, mask, turns });
  expect([...offsets]).toEqual([0, 5, 10, 13, 14, 15]);
  expect([...counts]).toEqual([1, 0, 3]);
  expect(() => segments({ shape, mask, turns: turns.map((turn) => -turn) })).toThrow(
    /turns\[13\] is -2, expected at least -1/,
  );
  expect(() => segments({ shape, mask, turns: turns.subarray(1) })).toThrow(/turns has 14/);
});

test("spans of delimiters are segments; what lies outside of them is masked", () => {
  const tokens = Int32Array.of(1, 5, 2, 5, 5, 1, 1, 5, 2, 1, 6, 2);
  const { spans } = findSpans(tokens, { shape: [2, 6], start: [1], end: [2], includeEnd: "none" });
  const { offsets, rowOffsets, mask: inside } = segments({ shape: [2, 6], spans });
  expect([...offsets]).toEqual([0, 6, 10, 12]);
  expect([...rowOffsets]).toEqual([0, 1, 3]);
  expect([...inside]).toEqual([0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0]);
  expect(() => segments({ shape: [2, 6], spans: Int32Array.of(0, 1, 4, 0, 3, 5) })).toThrow(/spans\[1\]/);
  expect(() => segments({ shape: [2, 6], spans, turns: new Int32Array(12) })).toThrow(/nothing where turns are given/);
});

test("packed rows have the segments of the padded ones, and no rows have none", () => {
  const packed = segments({ offsets: Int32Array.of(0, 3, 3, 5), mask: Uint8Array.of(1, 0, 1, 0, 0) });
  expect([...packed.offsets]).toEqual([0, 2, 3, 5]);
  expect([...packed.rowOffsets]).toEqual([0, 2, 2, 3]);
  expect([...segments({ shape: [0, 4] }).offsets]).toEqual([0]);
});

test("endValues picks the first or last kept number of each row, and 0 from nothing", () => {
  const values = Float32Array.from({ length: 15 }, (_, i) => (mask[i] === 0 ? NaN : i));
  expect([...endValues(values, { shape, mask, at: "first" })]).toEqual([1, 0, 10]);
  expect([...endValues(values, { shape, mask, at: "last" })]).toEqual([4, 0, 14]);
  expect(() => endValues(values, { shape, mask, at: "middle" as "last" })).toThrow(/at is "middle"/);
});

test("segments part every row, each begins with a kept token but the first, and masks, packing and padding are what they are for rows", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.record({ kept: fc.boolean(), next: fc.boolean() }), { maxLength: 6 }), { maxLength: 5 }),
      fc.boolean(),
      (lists, numbered) => {
        const flat = lists.flat();
        const starts = Int32Array.from([0, ...lists].map((_, b) => lists.slice(0, b).flat().length));
        const keeps = Uint8Array.from(flat, ({ kept: on }) => (on ? 1 : 0));
        const numbers = Int32Array.from(
          lists.flatMap((row) => row.map((_, t) => row.slice(0, t + 1).filter(({ next }) => next).length)),
        );
        const given = numbered ? { turns: numbers } : {};
        const {
          offsets,
          rowOffsets,
          mask: inside,
          kept,
          counts,
        } = segments({ offsets: starts, mask: keeps, ...given });
        expect([...inside]).toEqual([...keeps]);
        expect([offsets[0], offsets.at(-1)]).toEqual([0, flat.length]);
        lists.forEach((row, b) => {
          const [from, to] = [rowOffsets[b]!, rowOffsets[b + 1]!];
          if (row.length > 0) expect([offsets[from], offsets[to]]).toEqual([starts[b], starts[b + 1]]);
          expect(counts[b]).toBe(kept.subarray(from, to).reduce((sum, on) => sum + on, 0));
          for (let s = from; s < to; ++s) {
            const tokens = Array.from({ length: offsets[s + 1]! - offsets[s]! }, (_, k) => offsets[s]! + k);
            const own = tokens.filter((i) => keeps[i] === 1);
            expect(kept[s]).toBe(own.length > 0 ? 1 : 0);
            if (s > from) expect(own[0]).toBe(offsets[s]);
            if (numbered) expect(new Set(own.map((i) => numbers[i])).size).toBeLessThanOrEqual(1);
            else expect(own).toEqual(own.map((_, k) => own[0]! + k));
            const behind = s + 1 < to ? offsets[s + 1]! : -1;
            if (numbered && behind >= 0) expect(numbers[behind]).toBeGreaterThan(numbers[own[0]!]!);
          }
        });
        const hidden = numbers.map((turn, i) => (keeps[i] === 1 ? turn : -99));
        const poisoned = segments({ offsets: starts, mask: keeps, ...(numbered && { turns: hidden }) });
        expect(poisoned).toEqual({ offsets, rowOffsets, mask: inside, kept, counts });
        const width = 1 + Math.max(0, ...lists.map((row) => row.length));
        const spread = (values: ArrayLike<number>, pad: number) =>
          lists.flatMap((row, b) =>
            Array.from({ length: width }, (_, t) => (t < row.length ? values[starts[b]! + t]! : pad)),
          );
        const padded = segments({
          shape: [lists.length, width],
          mask: Uint8Array.from(spread(keeps, 0)),
          ...(numbered && { turns: Int32Array.from(spread(numbers, -1)) }),
        });
        expect([...padded.counts]).toEqual([...counts]);
      },
    ),
    { numRuns: 150, seed: 25 },
  );
});

eachBackend((backend) => {
  test(`${backend}: ops on rows are ops on segments`, () => {
    const r = rng(3);
    const values = r.f64(15, -1, 1);
    const { offsets, rowOffsets, mask: inside, kept } = segments({ shape, mask });
    const poisoned = values.map((x, i) => (mask[i] === 0 ? NaN : x));
    const { sums } = moments(poisoned, { offsets, mask: inside, over: "row", backend });
    expect(sums).toBeAllClose(
      [values[1]! + values[2]!, values[4]!, 0, values[10]!, values[12]! + values[13]! + values[14]!],
      {
        atol: 1e-14,
        rtol: 0,
      },
    );
    const returns = discountedReturns(sums, { offsets: rowOffsets, mask: kept, gamma: 0.5, backend });
    const back = groupBroadcast(returns, { offsets, mask: inside, backend });
    expect(back[1]).toBeCloseTo(sums[0]! + 0.5 * sums[1]!, 14);
    expect(back[14]).toBe(sums[4]);
    const { logRatios } = logRatio(poisoned, new Float64Array(15), {
      offsets,
      mask: inside,
      level: "sequence",
      backend,
    });
    expect(logRatios[0]).toBeCloseTo((values[1]! + values[2]!) / 2, 14);
  });
});
