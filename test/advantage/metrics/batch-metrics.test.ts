// Metrics of a training batch: critic and lengths, agreement of probabilities, variance proxies.
import { criticMetrics, dataMetrics, lengthMetrics, probabilityAgreement, varianceProxies } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";
import { rng } from "../../support/rng";

const mean = (list: readonly number[]): number => list.reduce((sum, x) => sum + x, 0) / list.length;
/** ddof 1, from the differences of all pairs. */
const variance = (list: readonly number[]): number =>
  list.flatMap((x) => list.map((y) => (x - y) ** 2)).reduce((sum, d) => sum + d, 0) /
  2 /
  list.length /
  (list.length - 1);

eachBackend((backend) => {
  describe("criticMetrics", () => {
    const shape = [6, 50] as const;
    const n = 300;
    const mask = rng(1).mask(n, 0.6).fill(0, 100, 150);
    const kept = (array: Float64Array): number[] => Array.from(array).filter((_, i) => mask[i] !== 0);
    const batch = {
      tokenScores: rng(2).f64(n, -1, 1),
      tokenRewards: rng(3).f64(n, -1, 1),
      advantages: rng(4).f64(n, -1, 1),
      returns: rng(5).f64(n, -1, 1),
      values: rng(6).f64(n, -1, 1),
    };

    test("matches the definitions", () => {
      const got = criticMetrics(batch, { shape, mask, backend });
      const want: Record<string, number> = {};
      const add = (name: string, list: readonly number[]): void => {
        Object.assign(want, {
          [`critic/${name}/mean`]: mean(list),
          [`critic/${name}/max`]: Math.max(...list),
          [`critic/${name}/min`]: Math.min(...list),
        });
      };
      const rows = (array: Float64Array): number[] =>
        [0, 1, 3, 4, 5].map((b) => array.subarray(b * 50, (b + 1) * 50).reduce((sum, x) => sum + x, 0)); // row 2 has no response
      add("score", rows(batch.tokenScores));
      add("rewards", rows(batch.tokenRewards));
      for (const name of ["advantages", "returns", "values"] as const) add(name, kept(batch[name]));
      const errors = batch.returns.map((x, i) => x - batch.values[i]!);
      want["critic/vf_explained_var"] = 1 - variance(kept(errors)) / (variance(kept(batch.returns)) + 1e-5);
      // A few hundred float64 additions.
      expect(got).toBeAllClose(want, { rtol: 1e-11, atol: 1e-13 });
    });

    test("what lies under the mask changes nothing; absent arrays have no metrics", () => {
      const poisoned = (array: Float64Array): Float64Array => array.map((x, i) => (mask[i] ? x : NaN));
      const { advantages, returns, values } = batch;
      const base = criticMetrics({ advantages, returns, values }, { shape, mask, backend });
      expect(
        criticMetrics(
          { advantages: poisoned(advantages), returns: poisoned(returns), values: poisoned(values) },
          { shape, mask, backend },
        ),
      ).toEqual(base);
      expect(Object.keys(criticMetrics({ advantages }, { shape, mask, backend }))).toEqual([
        "critic/advantages/mean",
        "critic/advantages/max",
        "critic/advantages/min",
      ]);
      expect(base).not.toHaveProperty("critic/score/mean");
    });

    test("a perfect critic explains everything, a constant one nothing", () => {
      const explained = (values: Float64Array): number =>
        criticMetrics({ returns: batch.returns, values }, { shape, mask, backend })["critic/vf_explained_var"]!;
      expect(explained(batch.returns)).toBe(1);
      expect(explained(new Float64Array(n).fill(0.3))).toBeCloseTo(0, 4); // the 1e-5 in the denominator
    });

    test("packed rows give the same as padded ones", () => {
      const offsets = Int32Array.from({ length: 7 }, (_, b) => b * 50);
      expect(criticMetrics(batch, { offsets, mask, backend })).toEqual(criticMetrics(batch, { shape, mask, backend }));
    });

    test("no rows, nothing kept: zeros", () => {
      expect(
        criticMetrics(
          { tokenScores: new Float32Array(0), advantages: new Float32Array(0) },
          { shape: [0, 4], backend },
        ),
      ).toEqual({
        "critic/score/mean": 0,
        "critic/score/max": 0,
        "critic/score/min": 0,
        "critic/advantages/mean": 0,
        "critic/advantages/max": 0,
        "critic/advantages/min": 0,
      });
    });

    test("bad input", () => {
      const call = (options: object, change: object = {}): string | undefined =>
        errorCode(() => criticMetrics({ ...batch, ...change }, { shape, mask, backend, ...options }));
      for (const name of Object.keys(batch)) {
        expect(call({}, { [name]: new Float64Array(3) })).toBe("ERR_SURPRISAL_SHAPE");
        expect(call({}, { [name]: Int16Array.of(1, 2) })).toBe("ERR_SURPRISAL_DTYPE");
      }
      expect(call({ mask: new Uint8Array(4) })).toBe("ERR_SURPRISAL_SHAPE");
      expect(call({ responseLengths: [1, 2] })).toBe("ERR_SURPRISAL_SHAPE");
      expect(call({ shape: undefined })).toBe("ERR_SURPRISAL_OPTION");
    });
  });

  describe("dataMetrics", () => {
    const shape = [2, 2] as const;
    const batch = { tokenScores: Float64Array.of(1, 2, 3, 4) };

    test("counts lengths in the attention mask: a tool's tokens belong to the response", () => {
      const got = dataMetrics(batch, {
        shape,
        mask: Uint8Array.of(1, 0, 0, 0),
        attentionMask: Uint8Array.of(0, 0, 1, 1, 1, 0, 1, 1, 1, 0),
        backend,
      });
      expect(got).toMatchObject({
        "critic/score/mean": 5, // both rows have a response
        "response_length/mean": 1.5,
        "response_length/clip_ratio": 0.5,
        "response/aborted_ratio": 0,
        "prompt_length/mean": 1.5,
        "prompt_length/max": 2,
      });
    });

    test("bad input", () => {
      const call = (attentionMask: unknown, rows = 2): string | undefined =>
        errorCode(() => dataMetrics({}, { shape: [rows, 2], attentionMask: attentionMask as Uint8Array, backend }));
      expect(call(null)).toBe("ERR_SURPRISAL_DTYPE");
      expect(call(Int16Array.of(1, 1, 1, 1))).toBe("ERR_SURPRISAL_DTYPE");
      expect(call(new Uint8Array(5))).toBe("ERR_SURPRISAL_SHAPE");
      expect(call(new Uint8Array(2))).toBe("ERR_SURPRISAL_SHAPE");
      expect(call(new Uint8Array(4), 0)).toBe("ERR_SURPRISAL_SHAPE");
    });
  });

  describe("varianceProxies", () => {
    const shape = [2, 2] as const;
    const batch = {
      oldLogProbs: Float64Array.of(Math.log(0.5), 0, Math.log(0.25), NaN),
      sumProbSquares: Float64Array.of(0.5, 1, 0.25, NaN),
      advantages: Float64Array.of(2, 4, -1, NaN),
    };
    const mask = Uint8Array.of(1, 1, 1, 0);

    test("by hand: w = 0.5 and 0 in the first row, 0.75 in the second; a = 3 and -1", () => {
      const got = varianceProxies(batch, { shape, mask, gradNorm: 1, backend });
      expect(got).toMatchObject({ signalStrength: 1, meanSquaredAdvantage: 5 });
      expect(got.totalPower).toBeCloseTo((9 * 0.5 + 0.75) / 2, 14);
      expect(got.pureNoise).toBeCloseTo(got.totalPower - 1, 14);
      expect(got.meanScoreNorm).toBeCloseTo((0.5 + 0.75) / 2, 14);
      expect(varianceProxies(batch, { shape, mask, backend })).toMatchObject({ signalStrength: 0, pureNoise: 0 });
      expect(varianceProxies(batch, { shape, mask, gradNorm: 100, backend }).pureNoise).toBe(0);
    });

    test("importance weights of 1 change nothing; their square scales w", () => {
      const ones = new Float64Array(4).fill(1);
      expect(varianceProxies({ ...batch, importanceWeights: ones }, { shape, mask, backend })).toEqual(
        varianceProxies(batch, { shape, mask, backend }),
      );
      const doubled = varianceProxies({ ...batch, importanceWeights: ones.map(() => 2) }, { shape, mask, backend });
      const base = varianceProxies(batch, { shape, mask, backend });
      expect(doubled.meanScoreNorm).toBeCloseTo(4 * base.meanScoreNorm, 13);
      expect(doubled.totalPower).toBeCloseTo(4 * base.totalPower, 13);
    });

    test("an importance weight near 0 weighs nothing and divides nothing by 0", () => {
      const faded = varianceProxies(
        { ...batch, importanceWeights: Float64Array.of(2, 1, 0, NaN) },
        { shape, mask, backend },
      );
      expect(faded.totalPower).toBeCloseTo((1.5 ** 2 * 9 * 0.5) / 2, 13); // ῑ = 1.5 in the first row, 0 in the second
      const half = varianceProxies(
        { ...batch, importanceWeights: Float64Array.of(1e-6, 3, 1, NaN) },
        { shape, mask, backend },
      );
      // w·1e-12 / 1e-10 in place of w = 0.5; ῑ = (3 + 1e-6)/2
      expect(half.totalPower).toBeCloseTo((((3 + 1e-6) / 2) ** 2 * 9 * 0.005 + 0.75) / 2, 13);
    });

    test("no rows, a row without kept tokens", () => {
      expect(
        varianceProxies(
          { oldLogProbs: new Float32Array(0), sumProbSquares: new Float32Array(0), advantages: new Float32Array(0) },
          { shape: [0, 3], gradNorm: 2, backend },
        ).metrics,
      ).toEqual({
        "variance_proxy/proxy1_signal_strength": 4,
        "variance_proxy/proxy2_total_power": 0,
        "variance_proxy/proxy3_pure_noise": 0,
        "variance_proxy/expected_a_squared": 0,
        "variance_proxy/expected_w": 0,
      });
      expect(varianceProxies(batch, { shape, mask: Uint8Array.of(1, 1, 0, 0), backend }).totalPower).toBeCloseTo(
        (9 * 0.5) / 2,
        14,
      );
    });

    test("bad input", () => {
      const call = (change: object, options: object = {}): string | undefined =>
        errorCode(() => varianceProxies({ ...batch, ...change }, { shape, mask, backend, ...options }));
      for (const name of [...Object.keys(batch), "importanceWeights"]) {
        expect(call({ [name]: new Float64Array(3) })).toBe("ERR_SURPRISAL_SHAPE");
        expect(call({ [name]: Int16Array.of(1) })).toBe("ERR_SURPRISAL_DTYPE");
      }
      for (const gradNorm of [-1, NaN, Infinity, "1"]) expect(call({}, { gradNorm })).toBe("ERR_SURPRISAL_OPTION");
    });
  });
});

describe("lengthMetrics", () => {
  test("statistics of all rows, of those with a response, and of prompts", () => {
    const got = lengthMetrics({
      responseLengths: [4, 0, 2],
      maxResponseLength: 4,
      promptLengths: [1, 3, 3],
      maxPromptLength: 3,
    });
    expect(got).toEqual({
      "response_length/mean": 2,
      "response_length/max": 4,
      "response_length/min": 0,
      "response_length/clip_ratio": 1 / 3,
      "response_length_non_aborted/mean": 3,
      "response_length_non_aborted/max": 4,
      "response_length_non_aborted/min": 2,
      "response_length_non_aborted/clip_ratio": 0.5,
      "response/aborted_ratio": 1 / 3,
      "prompt_length/mean": 7 / 3,
      "prompt_length/max": 3,
      "prompt_length/min": 1,
      "prompt_length/clip_ratio": 2 / 3,
    });
    expect(lengthMetrics({ responseLengths: [], maxResponseLength: 4 })["response_length/mean"]).toBe(0);
  });

  test("a length above the limit did not run into it", () => {
    const got = lengthMetrics({ responseLengths: [3, 4, 5, 6], maxResponseLength: 4 });
    expect(got["response_length/clip_ratio"]).toBe(0.25);
  });

  test("bad input", () => {
    expect(errorCode(() => lengthMetrics({ responseLengths: [-1], maxResponseLength: 4 }))).toBe("ERR_SURPRISAL_RANGE");
    expect(errorCode(() => lengthMetrics({ responseLengths: [1], maxResponseLength: NaN }))).toBe(
      "ERR_SURPRISAL_OPTION",
    );
    expect(errorCode(() => lengthMetrics({ responseLengths: [1], maxResponseLength: 4, promptLengths: [1] }))).toBe(
      "ERR_SURPRISAL_OPTION",
    );
    expect(
      errorCode(() =>
        lengthMetrics({ responseLengths: [1], maxResponseLength: 4, promptLengths: [1, 2], maxPromptLength: 3 }),
      ),
    ).toBe("ERR_SURPRISAL_SHAPE");
    expect(errorCode(() => lengthMetrics({ responseLengths: "1" as unknown as number[], maxResponseLength: 4 }))).toBe(
      "ERR_SURPRISAL_DTYPE",
    );
  });
});

eachBackend((backend) => {
  describe("probabilityAgreement", () => {
    const shape = [3, 30] as const;
    const mask = rng(1).mask(90, 0.7);
    const logProbs = rng(2).f64(90, -4, 0);
    const sampler = logProbs.map((x, i) => x + 0.1 * Math.sin(i));

    test("matches the definitions", () => {
      const pairs = Array.from(mask.keys())
        .filter((i) => mask[i] !== 0)
        .map((i) => [Math.exp(logProbs[i]!), Math.exp(sampler[i]!)] as const);
      const differences = pairs.map(([p, q]) => Math.abs(p - q));
      const p = pairs.map((pair) => pair[0]);
      const q = pairs.map((pair) => pair[1]);
      // cov(p, q) = (var(p + q) − var(p − q)) / 4
      const covariance = (variance(pairs.map(([a, b]) => a + b)) - variance(pairs.map(([a, b]) => a - b))) / 4;
      const got = probabilityAgreement(logProbs, sampler, { shape, mask, backend });
      expect(got).toBeAllClose(
        {
          count: pairs.length,
          maxDifference: Math.max(...differences),
          meanDifference: mean(differences),
          stdDifference: Math.sqrt(variance(differences)),
          correlation: covariance / Math.sqrt(variance(p) * variance(q)),
          metrics: got.metrics,
        },
        { rtol: 1e-12, atol: 0 },
      );
      expect(got.metrics["training/rollout_probs_diff_max"]).toBe(got.maxDifference);
    });

    test("close probabilities do not cancel", () => {
      const got = probabilityAgreement(Float64Array.of(-1), Float64Array.of(-1 - 2 ** -50), { shape: [1, 1], backend });
      expect(got.maxDifference).toBeAllClose(Math.exp(-1) * 2 ** -50, { rtol: 1e-15, atol: 0 });
    });

    test("equal log-probs agree, also at minus infinity; exchanging the two changes nothing", () => {
      const got = probabilityAgreement(Float64Array.of(-1, -Infinity, -2), Float64Array.of(-1, -Infinity, -2), {
        shape: [1, 3],
        backend,
      });
      expect(got).toMatchObject({ maxDifference: 0, meanDifference: 0, stdDifference: 0 });
      expect(got.correlation).toBeCloseTo(1, 14);
      expect(probabilityAgreement(sampler, logProbs, { shape, mask, backend }).metrics).toEqual(
        probabilityAgreement(logProbs, sampler, { shape, mask, backend }).metrics,
      );
    });

    test("what lies under the mask is not read; nothing kept is said so", () => {
      const poisoned = logProbs.map((x, i) => (mask[i] ? x : NaN));
      expect(probabilityAgreement(poisoned, sampler, { shape, mask, backend })).toEqual(
        probabilityAgreement(logProbs, sampler, { shape, mask, backend }),
      );
      const none = probabilityAgreement(logProbs, sampler, { shape, mask: new Uint8Array(90), backend });
      expect(none.metrics).toMatchObject({
        "training/rollout_probs_diff_valid": 0,
        "training/rollout_probs_diff_max": 0,
        "training/rollout_probs_diff_mean": 0,
      });
      expect(
        probabilityAgreement(Float64Array.of(-1), Float64Array.of(-2), { shape: [1, 1], backend }).stdDifference,
      ).toBeNaN();
    });

    test("bad input", () => {
      const call = (a: unknown, b: unknown, options: object = { shape }): string | undefined =>
        errorCode(() => probabilityAgreement(a as Float64Array, b as Float64Array, options));
      expect(call(Int16Array.of(1), sampler)).toBe("ERR_SURPRISAL_DTYPE");
      expect(call(logProbs, new Float64Array(3))).toBe("ERR_SURPRISAL_SHAPE");
      expect(call(logProbs, sampler, {})).toBe("ERR_SURPRISAL_OPTION");
      expect(call(logProbs, sampler, { shape, mask: new Uint8Array(1) })).toBe("ERR_SURPRISAL_SHAPE");
    });
  });
});
