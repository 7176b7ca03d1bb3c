// Bounded weights and masks against their definitions.
import { boundMismatch } from "../../../lib";
import { statisticOf, within } from "../../oracle/correction";
import { eachBackend } from "../../support/each-backend";
import { mismatch, SHAPE } from "./cases";

eachBackend((backend) => {
  test.each(["clamp", "zero"] as const)("%s: weights, mask and counts are those of the definition", (outside) => {
    const { current, old, mask } = mismatch(4);
    const rowFactors = Float64Array.of(1, 0.5, 0, 2, 1);
    const [low, high] = [0.8, 1.3];
    const got = boundMismatch(current, old, {
      shape: SHAPE,
      mask,
      statistic: "ratio",
      outside,
      low,
      high,
      rowFactors,
      maskedWeight: 7,
      backend,
    });
    const x = Array.from(current, (c, i) => statisticOf("ratio", c, old[i]!));
    const factor = (i: number): number => rowFactors[Math.floor(i / 37)]!;
    const inside = x.map((value) => value >= low && value <= high);
    const weights = x.map((value, i) =>
      !mask[i] ? 7 : factor(i) * (outside === "clamp" ? within(value, low, high) : inside[i] ? value : 0),
    );
    expect(got.weights).toBeAllClose(weights, { rtol: 1e-14, atol: 0 });
    const kept = x.map((_, i) => Number(mask[i] !== 0 && inside[i] && factor(i) !== 0));
    expect(Array.from(got.kept)).toEqual(kept);
    expect(Array.from(got.keptCounts)).toEqual(
      [0, 1, 2, 3, 4].map((b) => kept.slice(37 * b, 37 * b + 37).filter(Boolean).length),
    );
  });

  test("at a bound a token is kept, beside it not", () => {
    const d = Float64Array.of(0.5, 0.5 + 2 ** -52, -0.25, -0.25 - 2 ** -54);
    const { kept } = boundMismatch(d, new Float64Array(4), {
      shape: [1, 4],
      statistic: "k1",
      low: -0.5,
      high: 0.25,
      backend,
    });
    expect(Array.from(kept)).toEqual([1, 0, 1, 0]);
  });

  test("two impossible tokens agree: their distance is 0, which is kept", () => {
    const none = Float64Array.of(-Infinity, -1, -Infinity);
    const { weights, kept } = boundMismatch(none, none, { shape: [1, 3], statistic: "distance", high: 0.5, backend });
    expect(Array.from(weights)).toEqual([0, 0, 0]);
    expect(Array.from(kept)).toEqual([1, 1, 1]);
  });

  test("a factor of 0 silences an infinite ratio; a NaN is not kept and stays visible", () => {
    const current = Float64Array.of(800, 800, NaN, NaN);
    const old = new Float64Array(4);
    const options = {
      shape: [4, 1],
      statistic: "ratio",
      outside: "zero",
      rowFactors: Float64Array.of(0, 1, 0, 1),
      backend,
    } as const;
    const { weights, kept } = boundMismatch(current, old, options);
    expect(Array.from(weights)).toEqual([0, Infinity, NaN, NaN]);
    expect(Array.from(kept)).toEqual([0, 1, 0, 0]);
  });

  test("the mask may be narrowed in place, and any mask value but 0 counts as 1", () => {
    const { current, old, mask } = mismatch(5);
    const loud = mask.map((flag) => flag * 200);
    const options = { shape: SHAPE, statistic: "k2", high: 0.1, backend } as const;
    const want = boundMismatch(current, old, { ...options, mask }).kept;
    const got = boundMismatch(current, old, { ...options, mask: loud, out: { kept: loud } });
    expect(got.kept).toBe(loud);
    expect(loud).toEqual(want);
  });

  test("float32 in, float32 out, rounded once", () => {
    const { current, old, mask } = mismatch(6);
    const [c, o] = [Float32Array.from(current), Float32Array.from(old)];
    const options = { shape: SHAPE, mask, statistic: "ratio", backend } as const;
    const wide = boundMismatch(Float64Array.from(c), Float64Array.from(o), options).weights;
    expect(boundMismatch(c, o, options).weights).toEqual(Float32Array.from(wide));
  });

  test("no rows, rows without tokens", () => {
    const none = new Float32Array(0);
    const options = { statistic: "ratio", backend } as const;
    expect(boundMismatch(none, none, { shape: [0, 3], ...options }).keptCounts).toHaveLength(0);
    expect(Array.from(boundMismatch(none, none, { shape: [2, 0], ...options }).keptCounts)).toEqual([0, 0]);
  });
});
