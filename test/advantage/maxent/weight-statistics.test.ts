import {
  advantageWeightStatistics,
  grpoAdvantage,
  listwiseWeights,
  listwiseWeightStatistics,
  semanticEntropyScales,
  splitReferenceLogProbs,
  splitReferenceTokenCounts,
  uniformWeightStatistics,
  weightLoggingView,
  weightStatistics,
} from "../../../lib";
import { groupEntropyOracle } from "../../oracle/group-weights";
import { eachBackend } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";
import { rng } from "../../support/rng";

const F64 = { atol: 1e-12, rtol: 1e-10 };
const groupOffsets = Int32Array.of(0, 3, 3, 5);
const sums = Float64Array.of(-4, -9, -1, -2, -6);
const tokenCounts = Float64Array.of(2, 3, 0, NaN, 4);

describe("the statistics of the reference", () => {
  test("are the means, or the sums divided by positive counts, or the sums", () => {
    const means = Float64Array.of(1, 2, 3, 4, 5);
    expect([...splitReferenceLogProbs({ means, sums, tokenCounts }, groupOffsets).values]).toEqual([1, 2, 3, 4, 5]);
    const derived = splitReferenceLogProbs({ sums, tokenCounts }, groupOffsets);
    expect([...derived.values]).toEqual([-2, -3, -1, -2, -1.5]);
    expect(derived.byGroup.map((part) => [...part])).toEqual([[-2, -3, -1], [], [-2, -1.5]]);
    expect([...splitReferenceLogProbs({ means, sums }, groupOffsets, { lengthNormalize: false }).values]).toEqual([
      ...sums,
    ]);
  });

  test("are refused where they are missing or too short: 0 would mean certainty", () => {
    const code = (reference: object, options = {}) =>
      errorCode(() => splitReferenceLogProbs(reference, groupOffsets, options));
    expect(code({})).toBe("ERR_SURPRISAL_OPTION");
    expect(code({ sums })).toBe("ERR_SURPRISAL_OPTION"); // no counts
    expect(code({ means: sums }, { lengthNormalize: false })).toBe("ERR_SURPRISAL_OPTION");
    for (const preset of [undefined, "maxent"] as const) {
      expect(code({ means: sums.subarray(1) }, { preset })).toBe("ERR_SURPRISAL_SHAPE");
      expect(code({ sums, tokenCounts: tokenCounts.subarray(1) }, { preset })).toBe("ERR_SURPRISAL_SHAPE");
    }
    expect(errorCode(() => splitReferenceTokenCounts(undefined as never, groupOffsets))).toBe("ERR_SURPRISAL_DTYPE");
    expect(errorCode(() => splitReferenceTokenCounts(tokenCounts.subarray(2), groupOffsets))).toBe(
      "ERR_SURPRISAL_SHAPE",
    );
  });

  test("may go on behind the last group in the preset alone", () => {
    const longer = Float64Array.of(-1, -2, -3, -4, -5, -6);
    expect(errorCode(() => splitReferenceLogProbs({ means: longer }, groupOffsets))).toBe("ERR_SURPRISAL_SHAPE");
    expect(splitReferenceLogProbs({ means: longer }, groupOffsets, { preset: "maxent" }).values).toHaveLength(5);
    expect([...splitReferenceTokenCounts(longer, groupOffsets, { preset: "maxent" }).values]).toEqual([
      -1, -2, -3, -4, -5,
    ]);
  });
});

eachBackend((backend) => {
  const targets = rng(31).f64(5, 0.1, 1);

  test("listwise statistics are those of the listwise weights", () => {
    const options = { groupOffsets, temperature: 0.7, beta: 0.2, backend } as const;
    const got = listwiseWeightStatistics(targets, { sums, tokenCounts }, options)!;
    const referenceLogProbs = splitReferenceLogProbs({ sums, tokenCounts }, groupOffsets).values;
    const weights = listwiseWeights(targets, { ...options, referenceLogProbs });
    expect(got.weights).toEqual(weights);
    expect(got).toEqual(weightStatistics(weights, { groupOffsets, backend }));
    expect([...got.counts]).toEqual([3, 0, 2]);
    const entropies = groupEntropyOracle(weights, [
      [0, 1, 2],
      [3, 4],
    ]);
    expect([got.entropyMin, got.entropyMax]).toBeAllClose([Math.min(...entropies), Math.max(...entropies)], F64);
    // At beta 0 nothing is asked of the reference.
    expect(listwiseWeightStatistics(targets, {}, { ...options, beta: 0 })).not.toBeNull();
    expect(errorCode(() => listwiseWeightStatistics(targets, {}, options))).toBe("ERR_SURPRISAL_OPTION");
  });

  test("uniform statistics have the largest entropy and no deviation", () => {
    const got = uniformWeightStatistics({ groupOffsets, backend })!;
    expect([got.entropy, got.entropyMax]).toBeAllClose([Math.log(6) / 2, Math.log(3)], F64);
    expect([...got.deviations]).toEqual([0, 0, 0, 0, 0]);
    expect(uniformWeightStatistics({ groupOffsets: Int32Array.of(0, 0), backend })).toBeNull();
  });

  test("advantages stand in for weights as they are, or are computed", () => {
    const rewards = Float64Array.of(1, 0, 0, 2, 5);
    const computed = advantageWeightStatistics({ rewards }, { groupOffsets, backend })!;
    expect(computed.weights).toEqual(grpoAdvantage({ rewards, groupOffsets }, { epsilon: 1e-4, backend }).advantages);
    expect([computed.entropy, computed.deviations.length]).toEqual([0, 0]);
    expect(advantageWeightStatistics({ advantages: rewards }, { groupOffsets, backend })!.weights).toBe(rewards);
    expect(errorCode(() => advantageWeightStatistics({}, { groupOffsets, backend }))).toBe("ERR_SURPRISAL_OPTION");
    expect(advantageWeightStatistics({ rewards: new Float64Array(0) }, { groups: [], backend })).toBeNull();
  });

  test("a log counts prompts alike, whichever worker had them, and none that is empty", () => {
    const weights = listwiseWeights(targets, { groupOffsets, temperature: 0.7, backend });
    const whole = weightStatistics(weights, { groupOffsets, backend })!;
    const parts = [
      weightStatistics(weights.slice(0, 3), { groups: "all", backend })!,
      weightStatistics(weights.slice(3), { groups: "all", backend })!,
    ];
    const view = weightLoggingView(whole, { backend });
    expect(Object.values(weightLoggingView(parts, { backend }))).toBeAllClose(Object.values(view), F64);
    const [three, two] = groupEntropyOracle(weights, [
      [0, 1, 2],
      [3, 4],
    ]) as [number, number];
    expect(view.entropyNorm).toBeCloseTo((three / Math.log(3) + two / Math.LN2) / 2, 10);
    expect(view.deviationMean).toBeCloseTo(0, 14);
    expect(weightLoggingView([], { backend })).toEqual({
      entropy: 0,
      entropyNorm: 0,
      entropyMin: 0,
      entropyMax: 0,
      deviationMean: 0,
      deviationStd: 0,
    });
  });

  describe("semanticEntropyScales", () => {
    const logProbSums = Float64Array.of(-1, -2, -3, -4, -5);
    const batch = { logProbSums, tokenCounts: [1, 2, 3, 4, 5], clusters: ["x", "x", "y", null, null] };

    test("equal likelihoods: clusters by their size, completions without an answer each on its own", () => {
      const got = semanticEntropyScales(batch, { groupOffsets, alpha: 0.5, backend });
      const want = [(2 / 3) * Math.log(3 / 2) + (1 / 3) * Math.log(3), 0, Math.LN2];
      expect(got.semanticEntropies).toBeAllClose(want, F64);
      expect(got.maxEntropy).toBe(Math.log(3));
      expect(got.alphaEffective).toBeCloseTo(0.5 / Math.log(3), 14);
      expect(got.scales).toBeAllClose(
        want.map((h) => 1 / (1 + got.alphaEffective * h)),
        F64,
      );
    });

    test("summed likelihoods weigh clusters by probability; labels only name", () => {
      const options = { groupOffsets, lengthNormalize: false, backend } as const;
      const { semanticEntropies } = semanticEntropyScales(batch, options);
      const p = [Math.exp(-1) + Math.exp(-2), Math.exp(-3), Math.exp(-4), Math.exp(-5)];
      expect(semanticEntropies).toBeAllClose(
        [groupEntropyOracle(p, [[0, 1]])[0]!, 0, groupEntropyOracle(p, [[2, 3]])[0]!],
        F64,
      );
      const renamed = { ...batch, clusters: [7, 7, 8, 9, 7] };
      expect(semanticEntropyScales(renamed, options).semanticEntropies).toEqual(semanticEntropies);
    });

    test("counts are needed for means; the preset mixes sums in", () => {
      const code = (change: object, options = {}) =>
        errorCode(() => semanticEntropyScales({ ...batch, ...change }, { groupOffsets, backend, ...options }));
      expect(code({ tokenCounts: undefined })).toBe("ERR_SURPRISAL_VALUE");
      expect(code({ tokenCounts: [1, 2, 0, 4, 5] })).toBe("ERR_SURPRISAL_VALUE");
      expect(code({ tokenCounts: undefined }, { preset: "maxent" })).toBeUndefined();
      expect(code({ tokenCounts: [1] })).toBe("ERR_SURPRISAL_SHAPE");
      expect(code({ clusters: ["x"] })).toBe("ERR_SURPRISAL_SHAPE");
      expect(code({ logProbSums: Float64Array.of(-1, -2, NaN, -1, -1) })).toBe("ERR_SURPRISAL_VALUE");
      expect(code({ logProbSums: undefined })).toBe("ERR_SURPRISAL_DTYPE");
      for (const options of [{ alpha: -0.25 }, { alpha: NaN }, { generations: 1.5 }])
        expect(code({}, options)).toBe("ERR_SURPRISAL_OPTION");
    });
  });
});
