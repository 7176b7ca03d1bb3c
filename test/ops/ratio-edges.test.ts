// Ties, bounds, overflow, NaN and emptiness: values that are exact, not close.
import type { FloatArray } from "../../lib";
import { clippedObjective, type ClippedObjectiveOptions } from "../../lib/ops/loss";
import { logRatio } from "../../lib/ops/ratio";
import { eachBackend } from "../support/each-backend";

const LEVELS = ["token", "sequence", "group"] as const;
const outputs = ["losses", "ratios", "clipped", "gradLogProbs"] as const;
const ONE = { shape: [1, 1] } as const;
// Two libraries' exp may differ in the last bit.
const ULPS = { rtol: 4 * Number.EPSILON };
const f64 = (...values: number[]) => Float64Array.of(...values);

eachBackend((backend) => {
  /** One row of one token: the same at all three levels. */
  function single(x: number, advantage: number, options: Partial<ClippedObjectiveOptions>) {
    const results = LEVELS.map((level) =>
      clippedObjective(f64(x), f64(0), f64(advantage), {
        clipLow: 0.2,
        clipHigh: 0.2,
        ...options,
        ...ONE,
        level,
        groups: level === "group" ? "all" : undefined,
        outputs,
        backend,
      }),
    );
    const [token, ...others] = results.map(({ objective, gradLogProbs, clipFraction, dualClipFraction, ratios }) => ({
      term: objective,
      grad: gradLogProbs[0]!,
      ratio: ratios[0]!,
      clipped: clipFraction,
      limited: dualClipFraction,
    }));
    for (const other of others) expect(other).toEqual(token);
    return token!;
  }

  test("equal policies have ratio 1, the advantage as term and as gradient, even with clip widths of 0", () => {
    for (const advantage of [1.5, -1.5])
      expect(single(0, advantage, { clipLow: 0, clipHigh: 0, ratioCap: 1, maxLogRatio: 0 })).toEqual({
        term: advantage,
        grad: advantage,
        ratio: 1,
        clipped: 0,
        limited: 0,
      });
  });

  // The bound is set to the very ratio that the backend computes: r − 1 and 1 + (r − 1) are exact for r in [1, 2].
  test("on its bounds a ratio is not clipped, and the gradient is whole", () => {
    const { ratio } = single(0.25, 1, { clipHigh: 1 });
    const onBound = single(0.25, 1, { clipHigh: ratio - 1 });
    expect(onBound).toMatchObject({ term: ratio, grad: ratio, clipped: 0 });
    const above = single(0.25 + 1e-15, 1, { clipHigh: ratio - 1 });
    expect(above).toMatchObject({ term: ratio, grad: 0, clipped: 1 });

    const small = single(-0.25, -1, { clipLow: 1 }).ratio;
    expect(single(-0.25, -1, { clipLow: 1 - small })).toMatchObject({ term: -small, grad: -small, clipped: 0 });
    expect(single(-0.25 - 1e-15, -1, { clipLow: 1 - small })).toMatchObject({ term: -small, grad: 0, clipped: 1 });
  });

  test("clipping silences a ratio only on the side that the advantage would push it to", () => {
    expect(single(1, 1, {})).toMatchObject({ term: 1.2, grad: 0, clipped: 1 });
    expect(single(-1, -1, {})).toMatchObject({ term: -0.8, grad: 0, clipped: 1 });
    const high = single(1, -1, {});
    expect(high).toMatchObject({ term: -high.ratio, grad: -high.ratio, clipped: 0 });
    const low = single(-1, 1, {});
    expect(low).toMatchObject({ term: low.ratio, grad: low.ratio, clipped: 0 });
  });

  test("a zero gradient is +0, for either sign of the advantage", () => {
    expect(Object.is(single(1, 1, {}).grad, 0)).toBe(true);
    expect(Object.is(single(-1, -1, {}).grad, 0)).toBe(true);
    expect(Object.is(single(0, 0, {}).grad, 0)).toBe(true);
    expect(Object.is(single(0, -0, {}).term, 0)).toBe(true);
  });

  test("the dual clip holds a negative term at c·A: inclusive at the limit, and without effect on a positive one", () => {
    const { ratio } = single(1, -2, {});
    expect(single(1, -2, { dualClip: ratio })).toMatchObject({ term: -2 * ratio, grad: -2 * ratio, limited: 0 });
    expect(single(1, -2, { dualClip: 2 })).toMatchObject({ term: -4, grad: 0, limited: 1, clipped: 0 });
    expect(single(1, 2, { dualClip: 1.1 })).toEqual(single(1, 2, {}));
  });

  test("the ratio cap holds the unclipped term: inclusive at the cap, reported ratios uncapped", () => {
    const { ratio } = single(0.5, -1, {});
    expect(single(0.5, -1, { ratioCap: ratio })).toMatchObject({ term: -ratio, grad: -ratio });
    expect(single(0.5, -1, { ratioCap: 1.5 })).toMatchObject({ term: -1.5, grad: 0, ratio });
    // A cap inside the band makes the unclipped term the smaller one for A > 0: it is taken, but does not move.
    expect(single(0.5, 1, { ratioCap: 1.1 })).toMatchObject({ term: 1.1, grad: 0, clipped: 0 });
  });

  test("a clamped log ratio has no gradient outside of the clamp, and a whole one on it", () => {
    const wide = { clipLow: 1, clipHigh: Infinity };
    const { ratio } = single(0.5, 1, wide);
    for (const clamp of [{ logClamp: 0.5 }, { maxLogRatio: 0.5 }]) {
      expect(single(0.5, 1, { ...wide, ...clamp })).toMatchObject({ ratio, term: ratio, grad: ratio });
      expect(single(0.75, 1, { ...wide, ...clamp })).toMatchObject({ ratio, term: ratio, grad: 0 });
    }
    const low = single(-0.5, 1, wide).ratio;
    expect(single(-0.75, 1, { ...wide, logClamp: 0.5 })).toMatchObject({ ratio: low, grad: 0 });
    expect(single(-0.75, 1, { ...wide, maxLogRatio: 0.5 }).grad).toBeAllClose(Math.exp(-0.75), ULPS);
  });

  test("an overflowing ratio is clipped for a positive advantage, infinite for a negative one, nothing for none", () => {
    expect(single(800, 1, {})).toMatchObject({ ratio: Infinity, term: 1.2, grad: 0 });
    expect(single(800, -1, {})).toMatchObject({ ratio: Infinity, term: -Infinity, grad: -Infinity });
    expect(single(800, 0, {})).toMatchObject({ ratio: Infinity, term: 0, grad: 0 });
    expect(single(800, -1, { dualClip: 3 })).toMatchObject({ term: -3, grad: 0, limited: 1 });
    expect(single(800, -1, { maxLogRatio: 0.1 }).term).toBeAllClose(-Math.exp(0.1), ULPS);
    expect(single(-800, 1, {})).toMatchObject({ ratio: 0, term: 0, grad: 0 });
    expect(single(-Infinity, -1, {})).toMatchObject({ ratio: 0, term: -0.8, grad: 0, clipped: 1 });
  });

  test("every pair of special numbers gives what the js backend gives", () => {
    const special = [0, -0, 1e-300, 0.25, -0.25, 1, -1, 800, -800, Infinity, -Infinity, NaN];
    const n = special.length ** 2;
    const x = Float64Array.from({ length: n }, (_, i) => special[i % special.length]!);
    const advantages = Float64Array.from({ length: n }, (_, i) => special[Math.floor(i / special.length)]!);
    const clip = { level: "token", clipLow: 0.2, clipHigh: 0.28 } as const;
    const base = { shape: [n, 1], advantagesPer: "row", outputs, ...clip } as const;
    for (const more of [
      {},
      { dualClip: 2, ratioCap: 1.1, logClamp: 0.5 },
      { clipLow: Infinity, clipHigh: Infinity },
      { maxLogRatio: 0 },
    ]) {
      const options = { ...base, ...more };
      const got = clippedObjective(x, new Float64Array(n), advantages, { ...options, backend });
      const js = clippedObjective(x, new Float64Array(n), advantages, { ...options, backend: "js" });
      for (const name of ["losses", "gradLogProbs", "ratios", "clipped", "objectives"] as const)
        expect(got[name]).toBeAllClose(js[name], ULPS);
    }
  });

  test("a row weight of 0 silences an infinite term", () => {
    for (const level of LEVELS) {
      const got = clippedObjective(f64(800, 0), f64(0, 0), f64(-1, 1), {
        clipLow: 0.2,
        clipHigh: 0.2,
        shape: [2, 1],
        rowWeights: f64(0, 2),
        level,
        backend,
        ...(level === "group" && { groups: ["a", "b"] }),
      });
      expect([...got.objectives, ...got.gradLogProbs]).toEqual([0, 2, 0, 2]);
    }
  });

  test("NaN spreads to its token, row or group, and to the sums it enters", () => {
    const current = f64(0, NaN, 0, 0, 0, 0);
    const options = { clipLow: 0.2, clipHigh: 0.2, shape: [3, 2], outputs, backend } as const;
    const nan = (values: FloatArray) => [...values].map(Number.isNaN);
    for (const advantages of [f64(1, 1, 1), f64(0, 1, 1), f64(-1, 1, 1)]) {
      const token = clippedObjective(current, new Float64Array(6), advantages, { ...options, level: "token" });
      expect(nan(token.gradLogProbs)).toEqual([false, true, false, false, false, false]);
      const sequence = clippedObjective(current, new Float64Array(6), advantages, { ...options, level: "sequence" });
      expect(nan(sequence.ratios)).toEqual([true, false, false]);
      expect(nan(sequence.gradLogProbs)).toEqual([true, true, false, false, false, false]);
      const group = clippedObjective(current, new Float64Array(6), advantages, {
        ...options,
        level: "group",
        groups: [7, 8, 7],
      });
      expect(nan(group.ratios)).toEqual([true, false, true]);
      expect(nan(group.losses)).toEqual([true, false, true]);
      expect(nan(group.gradLogProbs)).toEqual([true, true, false, false, true, true]);
      for (const result of [token, sequence, group]) {
        expect([result.objective, result.meanRatio, result.maxRatio]).toEqual([NaN, NaN, NaN]);
        expect(nan(result.objectives)[1]).toBe(false);
      }
    }
  });

  test("NaN as advantage makes its terms NaN and leaves the others", () => {
    const zeros = new Float64Array(2);
    const got = clippedObjective(zeros, zeros, f64(NaN, 1), {
      clipLow: 0.2,
      clipHigh: 0.2,
      shape: [2, 1],
      level: "token",
      outputs,
      backend,
    });
    expect([...got.losses, ...got.gradLogProbs]).toEqual([NaN, -1, NaN, 0.5]);
  });

  test("a row without kept tokens has ratio 1 and its advantage as term, and no effect at token level", () => {
    const current = f64(NaN, NaN, 0.5, 0.5);
    const mask = Uint8Array.of(0, 0, 1, 1);
    const options = { clipLow: 0.2, clipHigh: 0.2, shape: [2, 2], mask, outputs, backend } as const;
    const sequence = clippedObjective(current, new Float64Array(4), f64(3, 1), { ...options, level: "sequence" });
    expect([...sequence.losses]).toEqual([-3, -1.2]);
    expect(sequence.ratios[0]).toBe(1);
    expect([...sequence.gradLogProbs]).toEqual([0, 0, 0, 0]);
    const token = clippedObjective(current, new Float64Array(4), f64(3, 1), { ...options, level: "token" });
    expect([...token.losses]).toEqual([0, 0, -1.2, -1.2]);
    expect([...token.ratios.subarray(0, 2)]).toEqual([0, 0]);
    expect([...token.objectives]).toEqual([0, 1.2]);
    expect(token.clipFraction).toBe(1);
  });

  test("a group without rows has ratio 1, and a row of another group its own", () => {
    const got = clippedObjective(f64(0.5), f64(0), f64(1), {
      clipLow: 0.2,
      clipHigh: 0.2,
      ...ONE,
      level: "group",
      groupOffsets: Int32Array.of(0, 0, 1, 1),
      outputs,
      backend,
    });
    expect(got.ratios).toBeAllClose([Math.exp(0.5)], ULPS);
    expect(got.objective).toBe(1.2);
    const logs = logRatio(f64(0.5), f64(0), {
      ...ONE,
      level: "group",
      groupOffsets: Int32Array.of(0, 0, 1, 1),
      backend,
    });
    expect([...logs.logRatios]).toEqual([0, 0.5, 0]);
  });

  test("log ratios of masked tokens are 0 with ratio 0, of empty rows 0 with ratio 1", () => {
    const options = { shape: [2, 2], mask: Uint8Array.of(1, 0, 0, 0), backend } as const;
    const token = logRatio(f64(1, NaN, NaN, NaN), f64(1, 1, 1, 1), { ...options, level: "token" });
    expect([...token.logRatios, ...token.ratios]).toEqual([0, 0, 0, 0, 1, 0, 0, 0]);
    const sequence = logRatio(f64(1, NaN, NaN, NaN), f64(1, 1, 1, 1), { ...options, level: "sequence" });
    expect([...sequence.logRatios, ...sequence.ratios]).toEqual([0, 0, 1, 1]);
  });

  test.each([
    ["no rows", { shape: [0, 4] as const }, 0],
    ["rows without tokens", { shape: [3, 0] as const }, 3],
    ["packed rows without tokens", { offsets: Int32Array.of(0, 0, 0) }, 2],
    ["no packed rows", { offsets: Int32Array.of(0) }, 0],
  ])("%s give an objective of 0 at token level, and finite figures", (_, layout, B) => {
    const none = new Float32Array(0);
    const advantages = new Float32Array(B).fill(2);
    const clip = { clipLow: 0.2, clipHigh: 0.2, ...layout, outputs, backend };
    const token = clippedObjective(none, none, advantages, { ...clip, level: "token", advantagesPer: "row" });
    expect(token).toMatchObject({ objective: 0, clipFraction: 0, meanRatio: NaN, maxRatio: NaN });
    expect(token.objectives).toEqual(new Float64Array(B));
    for (const level of ["sequence", "group"] as const) {
      const got = clippedObjective(none, none, advantages, {
        ...clip,
        level,
        groups: level === "group" ? "all" : undefined,
      });
      expect(got.objective).toBeCloseTo(B > 0 ? 2 : 0, 12);
      expect(got.ratios).toEqual(new Float32Array(B).fill(1));
    }
    expect(logRatio(none, none, { level: "sequence", ...layout, backend }).ratios).toEqual(new Float32Array(B).fill(1));
  });

  test.each(LEVELS)("results land in the caller's memory, whatever was there before (%s level)", (level) => {
    const zeros = new Float32Array(4);
    const options = {
      level,
      groups: level === "group" ? "all" : undefined,
      shape: [2, 2],
      mask: Uint8Array.of(1, 0, 1, 0),
      clipLow: 0.2,
      clipHigh: 0.2,
      backend,
    } as const;
    const units = { token: 4, sequence: 2, group: 1 }[level];
    const terms = level === "token" ? 4 : 2;
    const dirty = (length: number) => new Float32Array(length).fill(7);
    const out = {
      gradLogProbs: dirty(4),
      losses: dirty(terms),
      ratios: dirty(terms),
      clipped: new Uint8Array(terms).fill(7),
    };
    const got = clippedObjective(zeros, zeros, Float32Array.of(4, -2), { ...options, outputs, out });
    for (const name of outputs) expect(got[name]).toBe(out[name]);
    expect(got).toEqual(clippedObjective(zeros, zeros, Float32Array.of(4, -2), { ...options, outputs }));
    expect([...out.gradLogProbs]).toEqual(level === "group" ? [0.5, 0, 0.5, 0] : [2, 0, -1, 0]);
    const logs = { logRatios: dirty(units), ratios: dirty(units) };
    expect(
      logRatio(zeros, zeros, { level, groups: options.groups, shape: [2, 2], mask: options.mask, out: logs, backend }),
    ).toEqual(logs);
    expect([...logs.logRatios]).toEqual(Array<number>(units).fill(0));
  });

  test("float32 log-probs with float64 advantages answer in float64", () => {
    const zeros = new Float32Array(2);
    const got = clippedObjective(zeros, zeros, f64(0.1, 0.3), {
      clipLow: 0.2,
      clipHigh: 0.2,
      shape: [2, 1],
      level: "sequence",
      outputs,
      backend,
    });
    expect([...got.losses]).toEqual([-0.1, -0.3]);
    expect(got.gradLogProbs).toBeInstanceOf(Float64Array);
  });

  test("resizable and shared memory are read like any other", () => {
    const shared = new Float32Array(new SharedArrayBuffer(8)).fill(1);
    // Node 20 knows resizable buffers, the TypeScript library of ES2023 does not.
    const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
    const resizable = new Float32Array(new Resizable(8, { maxByteLength: 16 })).fill(1);
    expect([...logRatio(shared, resizable, { shape: [1, 2], level: "token", backend }).ratios]).toEqual([1, 1]);
  });
});
