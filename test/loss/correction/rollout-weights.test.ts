// Rollout weights and their metrics by definition.
import { rolloutWeights } from "../../../lib";
import { boundedFigures, mean, rowFigures, statistics, sum } from "../../oracle/correction";
import { eachBackend } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";
import { batchOf, placed, T } from "./batch";

const CLOSE = { rtol: 1e-12, atol: 1e-14 }; // float64 sums of some tens of numbers
const IS = "rollout_is";

eachBackend((backend) => {
  const { oldLogProbs, samplerLogProbs, mask, rows, shape } = batchOf(1);
  const live = rows.filter((row) => row.old.length > 0);
  const where = { shape, mask, backend, figures: "raw" } as const;

  test("token: truncated ratios, and every metric of the ratios before", () => {
    const threshold = 1.5;
    const got = rolloutWeights(oldLogProbs, samplerLogProbs, { ...where, level: "token", threshold });
    const w = live.flatMap((row) => statistics("ratio", row));
    expect(got.weights).toBeAllClose(
      placed(
        w.map((x) => Math.min(x, threshold)),
        mask,
      ),
      CLOSE,
    );
    const rowMeans = live.map((row) => mean(statistics("ratio", row)));
    expect(got.metrics).toBeAllClose(
      {
        [`${IS}_mean`]: mean(w),
        [`${IS}_max`]: Math.max(...w),
        [`${IS}_min`]: Math.min(...w),
        [`${IS}_ratio_fraction_high`]: mean(w.map((x) => Number(x > threshold))),
        [`${IS}_ratio_fraction_low`]: mean(w.map((x) => Number(x < 1 / threshold))),
        ...boundedFigures(IS, w, threshold),
        ...rowFigures(IS, rowMeans, 1 / threshold, threshold, 1),
      },
      CLOSE,
    );
  });

  test("sequence: one weight a row, and every metric", () => {
    const threshold = 1.6;
    const got = rolloutWeights(oldLogProbs, samplerLogProbs, { ...where, level: "sequence", threshold });
    const logs = live.map((row) => sum(statistics("k1", row).map((x) => -x)));
    const perRow = logs.map(Math.exp);
    const w = live.flatMap((row, b) => row.old.map(() => perRow[b]!));
    expect(got.weights).toBeAllClose(
      placed(
        w.map((x) => Math.min(x, threshold)),
        mask,
      ),
      CLOSE,
    );
    expect(got.metrics).toBeAllClose(
      {
        [`${IS}_mean`]: mean(w),
        [`${IS}_max`]: Math.max(...perRow),
        [`${IS}_min`]: Math.min(...perRow),
        [`${IS}_ratio_fraction_high`]: mean(logs.map((x) => Number(x > Math.log(threshold)))),
        [`${IS}_ratio_fraction_low`]: mean(logs.map((x) => Number(x < -Math.log(threshold)))),
        ...boundedFigures(IS, w, threshold),
        ...rowFigures(IS, perRow, 1 / threshold, threshold, 1),
      },
      CLOSE,
    );
  });

  test("normalised weights have mean 1: over tokens, or of the rows", () => {
    const token = rolloutWeights(oldLogProbs, samplerLogProbs, { ...where, level: "token", batchNormalize: true });
    const kept = Array.from(token.weights).filter((_, i) => mask[i]);
    expect(mean(kept)).toBeCloseTo(1, 14);
    const plain = rolloutWeights(oldLogProbs, samplerLogProbs, { ...where, level: "token" });
    const factor = token.metrics[`${IS}_batch_norm_factor`]!;
    expect(token.weights.map((w) => w * factor)).toBeAllClose(plain.weights, CLOSE);
    const sequence = rolloutWeights(oldLogProbs, samplerLogProbs, {
      ...where,
      level: "sequence",
      batchNormalize: true,
    });
    const rowWeights = [0, 1, 3, 4, 5].map((b) => sequence.weights[mask.indexOf(1, b * T)]!);
    expect(mean(rowWeights)).toBeCloseTo(1, 14);
  });

  test("log ratios beyond the clamp weigh as at the clamp; the threshold cuts above only", () => {
    const old = Float64Array.of(-1, -60, -1);
    const rollout = Float64Array.of(-60, -1, -1);
    const { weights, metrics } = rolloutWeights(old, rollout, {
      shape: [3, 1],
      level: "token",
      figures: "raw",
      backend,
    });
    expect(weights).toBeAllClose([2, Math.exp(-20), 1], { rtol: 1e-15, atol: 0 });
    expect(metrics[`${IS}_max`]).toBeCloseTo(Math.exp(20), 4);
  });

  test("the same policy twice: weights of exactly 1, std 0", () => {
    for (const level of ["token", "sequence"] as const) {
      const { weights, metrics } = rolloutWeights(oldLogProbs, oldLogProbs, { ...where, level });
      expect(Array.from(weights)).toEqual(Array.from(mask));
      expect(metrics).toMatchObject({
        [`${IS}_mean`]: 1,
        [`${IS}_std`]: 0,
        [`${IS}_eff_sample_size`]: 1,
        [`${IS}_seq_std`]: 0,
      });
    }
  });

  test("epsilon is added to the mean of the effective sample size", () => {
    for (const level of ["token", "sequence"] as const) {
      const { metrics } = rolloutWeights(oldLogProbs, oldLogProbs, { ...where, level, epsilon: 0.5 });
      expect(metrics[`${IS}_eff_sample_size`]).toBe(1.5 ** 2);
    }
  });

  test("preset verl counts rows without tokens and adds its epsilon", () => {
    const skip = rolloutWeights(oldLogProbs, samplerLogProbs, { ...where, level: "token" }).metrics;
    const count = rolloutWeights(oldLogProbs, samplerLogProbs, { ...where, level: "token", preset: "verl" }).metrics;
    expect(count[`${IS}_seq_mean`]).toBeAllClose((skip[`${IS}_seq_mean`]! * 5) / 6, { rtol: 1e-7, atol: 0 });
    expect(count[`${IS}_seq_min`]).toBe(0);
    expect(skip[`${IS}_seq_min`]).toBeGreaterThan(0.3);
  });

  test("no rows and nothing kept: weights 0, metrics 0", () => {
    for (const level of ["token", "sequence"] as const) {
      const none = new Float32Array(0);
      const nothing = rolloutWeights(none, none, { shape: [0, 4], level, batchNormalize: true, backend });
      expect(nothing.weights).toHaveLength(0);
      const masked = rolloutWeights(
        oldLogProbs.map(() => NaN),
        samplerLogProbs,
        { ...where, mask: new Uint8Array(54), level },
      );
      expect(new Set(masked.weights)).toEqual(new Set([0]));
      for (const [name, value] of Object.entries({ ...nothing.metrics, ...masked.metrics }))
        expect([name, value]).toEqual([name, name.endsWith("norm_factor") ? 1 : 0]);
    }
  });

  test("what lies under the mask changes nothing, and packed rows equal padded ones", () => {
    const poisoned = oldLogProbs.map((x, i) => (mask[i] ? x : NaN));
    const offsets = Int32Array.from({ length: 7 }, (_, b) => b * T);
    for (const level of ["token", "sequence"] as const) {
      const want = rolloutWeights(oldLogProbs, samplerLogProbs, { ...where, level });
      expect(rolloutWeights(poisoned, samplerLogProbs, { ...where, level })).toEqual(want);
      expect(rolloutWeights(poisoned, samplerLogProbs, { offsets, mask, level, backend, figures: "raw" })).toEqual(
        want,
      );
    }
  });
});

test("bad input", () => {
  const three = new Float32Array(3);
  const call = (options: object, old: unknown = three): string | undefined =>
    errorCode(() => rolloutWeights(old as Float32Array, three, { shape: [1, 3], level: "token", ...options }));
  expect(call({ level: "row" })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ threshold: 0.5 })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ batchNormalize: 1 })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ logClamp: 0 })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ epsilon: -1 })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ emptyRows: "drop" })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ preset: "trl" })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({}, new Float32Array(4))).toBe("ERR_SURPRISAL_SHAPE");
  expect(call({}, Int16Array.of(1, 2, 3))).toBe("ERR_SURPRISAL_DTYPE");
});
