import { findSpans, spanMask, spanMeans } from "../../../lib";
import { spanMaskOracle, spanMeansOracle } from "../../oracle/delim";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

type Span = [row: number, begin: number, finish: number];

/** Rows of 0 to 70 values, more than two windows of a warp, and spans anywhere in them: nested, repeated, empty, unsorted. */
function randomSpans(seed: number): { rows: number[][]; values: Float64Array; offsets: Int32Array; spans: Span[] } {
  const r = rng(seed);
  const lengths = r.i32(6, 0, 71);
  const rows = Array.from(lengths, (length) => Array.from(r.f64(length, -3, 3)));
  const offsets = new Int32Array(rows.length + 1);
  rows.forEach((row, b) => (offsets[b + 1] = offsets[b]! + row.length));
  const spans = Array.from({ length: 40 }, (): Span => {
    const b = r.i32(1, 0, rows.length)[0]!;
    const [x, y] = r.i32(2, 0, rows[b]!.length + 1) as unknown as [number, number];
    return [b, Math.min(x, y), Math.max(x, y)];
  });
  return { rows, values: Float64Array.from(rows.flat()), offsets, spans };
}

eachBackend((backend) => {
  test("means and mask of random spans equal the definition", () => {
    for (let seed = 0; seed < 20; ++seed) {
      const { rows, values, offsets, spans } = randomSpans(seed);
      const flat = Int32Array.from(spans.flat());
      // Sums in float64 and in token order, as the definition: the same bits.
      expect(Array.from(spanMeans(values, flat, { offsets, backend }))).toEqual(spanMeansOracle(rows, spans));
      const lengths = rows.map((row) => row.length);
      expect(Array.from(spanMask(flat, { offsets, backend }))).toEqual(spanMaskOracle(lengths, spans));

      const T = Math.max(...lengths);
      const padded = rows.map((row) => [...row, ...new Array<number>(T - row.length).fill(NaN)]);
      const shape = [rows.length, T] as const;
      expect(Array.from(spanMeans(Float64Array.from(padded.flat()), flat, { shape, backend }))).toEqual(
        spanMeansOracle(rows, spans),
      );
      expect(Array.from(spanMask(flat, { shape, backend }))).toEqual(spanMaskOracle(lengths.fill(T), spans));
    }
  });

  test("float32 values are summed in float64", () => {
    const values = Float32Array.of(1, 2 ** -30, 2 ** -30, 2 ** -30);
    expect(spanMeans(values, Int32Array.of(0, 0, 4), { backend })[0]).toBe((1 + 3 * 2 ** -30) / 4);
  });

  test("what lies outside a span cannot leak into its mean, an infinity or NaN inside stays in its span", () => {
    const values = Float64Array.of(NaN, 1, 2, Infinity, 5, NaN, 6);
    const means = spanMeans(values, Int32Array.of(0, 1, 3, 0, 3, 5, 0, 5, 7, 0, 6, 7), { backend });
    expect(Array.from(means)).toEqual([1.5, Infinity, NaN, 6]);
  });

  test("an empty span has no mean and covers nothing, at the end of its row too", () => {
    const spans = Int32Array.of(0, 1, 1, 0, 2, 2, 1, 0, 0);
    expect(Array.from(spanMeans(Float32Array.of(4, 5, 6, 7), spans, { shape: [2, 2], backend }))).toEqual([
      NaN,
      NaN,
      NaN,
    ]);
    expect(Array.from(spanMask(spans, { shape: [2, 2], backend }))).toEqual([0, 0, 0, 0]);
  });

  test("the answer of findSpans goes in as it is", () => {
    const shape = [2, 5] as const;
    const found = findSpans([1, 7, 7, 2, 0, 0, 1, 7, 2, 1], { shape, start: [1], end: [2], backend });
    const entropies = Float32Array.from([0, 1, 2, 3, 9, 9, 9, 5, 7, 9]);
    expect(spanMeans(entropies, found, { shape, backend })).toEqual(Float64Array.of(2, 6));
    expect(spanMask(found, { shape, backend })).toEqual(Uint8Array.of(0, 1, 1, 1, 0, 0, 0, 1, 1, 0));
  });

  test("given outputs are filled and returned, whatever they held", () => {
    const spans = Int32Array.of(0, 1, 3);
    const means = new Float64Array(1).fill(NaN);
    const mask = new Uint8Array(3).fill(9);
    expect(spanMeans(Float32Array.of(1, 2, 4), spans, { out: { means }, backend })).toBe(means);
    expect(spanMask(spans, { shape: [1, 3], out: { mask }, backend })).toBe(mask);
    expect(means).toEqual(Float64Array.of(3));
    expect(mask).toEqual(Uint8Array.of(0, 1, 1));
  });

  test("no spans, no rows and no tokens work", () => {
    const none = new Int32Array(0);
    expect(spanMeans(new Float32Array(0), none, { backend })).toHaveLength(0);
    expect(spanMeans(new Float32Array(3), none, { backend })).toHaveLength(0);
    expect(spanMask(none, { shape: [0, 4], backend })).toHaveLength(0);
    expect(spanMask(none, { shape: [3, 0], backend })).toHaveLength(0);
    expect(Array.from(spanMask(none, { shape: [1, 2], backend }))).toEqual([0, 0]);
    expect(Array.from(spanMask(Int32Array.of(1, 0, 0), { shape: [3, 0], backend }))).toEqual([]);
  });
});

eachBackend(
  (backend) => {
    // Marking each token of each span would be 5e11 steps: hours, far past the limit of a test.
    test("a mask of a million nested spans takes linear time", () => {
      const n = 1_000_000;
      const spans = Int32Array.from({ length: 3 * n }, (_, i) => (i % 3 === 0 ? 0 : i % 3 === 1 ? (i - 1) / 3 : n));
      expect(spanMask(spans, { shape: [1, n], backend }).every((flag) => flag === 1)).toBe(true);
    });
  },
  ["js", "cpu"],
);
