import fc from "fast-check";
import {
  bestAtN,
  evaluationMetrics,
  majorityAtN,
  majorityValue,
  validationMetrics,
  type EvaluatedSamples,
} from "../../../lib";
import { errorCode } from "../../support/error-code";
import { rng } from "../../support/rng";

/** All N^n draws with replacement, as one list of indices. */
function allDraws(N: number, n: number): Int32Array {
  return Int32Array.from({ length: N ** n * n }, (_, i) => Math.floor(Math.floor(i / n) / N ** (i % n)) % N);
}

describe("bestAtN", () => {
  test("the exact value is the mean over all draws there are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 4 }),
        (list, n) => {
          const values = Float64Array.from(list);
          const drawn = bestAtN(values, { n, indices: allDraws(values.length, n) });
          // Up to 625 numbers of size 3 are added in another order.
          expect(bestAtN(values, { n })).toBeAllClose(drawn, { rtol: 1e-12, atol: 1e-12 });
        },
      ),
    );
  });

  test("a bootstrap comes near the exact value, and repeats", () => {
    const values = rng(1).f64(16, -1, 1);
    const exact = bestAtN(values, { n: 4 });
    const drawn = bestAtN(values, { n: 4, seed: 42, draws: 20_000 });
    // Five standard errors of a mean of 20,000 draws.
    expect(Math.abs(drawn.bestMean - exact.bestMean)).toBeLessThan((5 * exact.bestStd) / Math.sqrt(20_000));
    expect(Math.abs(drawn.worstMean - exact.worstMean)).toBeLessThan((5 * exact.worstStd) / Math.sqrt(20_000));
    expect(bestAtN(values, { n: 4, seed: 42, draws: 20_000 })).toEqual(drawn);
    expect(bestAtN(values, { n: 4, seed: 43, draws: 20_000 })).not.toEqual(drawn);
  });

  test("the draws of a seed are these, on every machine", () => {
    const values = Float64Array.from({ length: 1000 }, (_, i) => i);
    const drawn: number[] = [];
    for (const seed of [0, 1, 2 ** 32 - 1]) drawn.push(bestAtN(values, { n: 1, seed, draws: 1 }).bestMean);
    expect(drawn).toEqual([658, 426, 170]); // from the definition of the generator in another language
  });

  test("a seed alone makes 1000 draws", () => {
    const values = rng(2).f64(16, -1, 1);
    expect(bestAtN(values, { n: 4, seed: 7 })).toEqual(bestAtN(values, { n: 4, seed: 7, draws: 1000 }));
  });

  test("one sample is its own best and worst, equal values have std 0", () => {
    expect(bestAtN(Float32Array.of(0.7), { n: 8 })).toEqual({
      bestMean: Math.fround(0.7),
      bestStd: 0,
      worstMean: Math.fround(0.7),
      worstStd: 0,
    });
    expect(bestAtN(Float64Array.of(0.1, 0.1, 0.1), { n: 2, seed: 1 })).toEqual({
      bestMean: 0.1,
      bestStd: 0,
      worstMean: 0.1,
      worstStd: 0,
    });
  });

  test("permuting samples changes nothing, NaN spreads, infinities follow", () => {
    const values = Float64Array.of(3, 1, 2, 1);
    expect(bestAtN(values.slice().reverse(), { n: 3 })).toEqual(bestAtN(values, { n: 3 }));
    expect(bestAtN(Float64Array.of(1, NaN), { n: 2 })).toEqual({
      bestMean: NaN,
      bestStd: NaN,
      worstMean: NaN,
      worstStd: NaN,
    });
    expect(bestAtN(Float64Array.of(1, Infinity), { n: 2 })).toMatchObject({ bestMean: Infinity, worstMean: Infinity });
    expect(bestAtN(Float64Array.of(1, -Infinity), { n: 2 })).toMatchObject({ worstMean: -Infinity });
  });

  test("an infinite value that no draw is made of does not count", () => {
    // (1/2)^2000 is 0 in float64.
    expect(bestAtN(Float64Array.of(-Infinity, 1), { n: 2000 })).toMatchObject({ bestMean: 1, bestStd: 0 });
    expect(bestAtN(Float64Array.of(Infinity, 1), { n: 2000 })).toMatchObject({ worstMean: 1, worstStd: 0 });
  });

  test("bad input", () => {
    const call = (options: object, values: unknown = Float64Array.of(1, 2)): string | undefined =>
      errorCode(() => bestAtN(values as Float64Array, { n: 2, ...options }));
    expect(call({}, Int16Array.of(1, 2))).toBe("ERR_SURPRISAL_DTYPE");
    expect(call({}, new Float64Array(0))).toBe("ERR_SURPRISAL_SHAPE");
    for (const n of [0, 1.5, NaN, undefined]) expect(call({ n })).toBe("ERR_SURPRISAL_OPTION");
    for (const seed of [-1, 0.5, 2 ** 32, "1"]) expect(call({ seed })).toBe("ERR_SURPRISAL_OPTION");
    for (const draws of [0, 1.5, NaN]) expect(call({ seed: 1, draws })).toBe("ERR_SURPRISAL_OPTION");
    expect(call({ draws: 5 })).toBe("ERR_SURPRISAL_OPTION");
    expect(call({ seed: 1, indices: Int32Array.of(0, 1) })).toBe("ERR_SURPRISAL_OPTION");
    expect(call({ indices: Int32Array.of(0, 2) })).toBe("ERR_SURPRISAL_RANGE");
    expect(call({ indices: Int32Array.of(0, 1, 0) })).toBe("ERR_SURPRISAL_SHAPE");
    expect(call({ indices: new Int32Array(0) })).toBe("ERR_SURPRISAL_SHAPE");
    expect(call({ indices: Int16Array.of(0, 1) })).toBe("ERR_SURPRISAL_DTYPE");
  });
});

describe("majority", () => {
  const values = Float64Array.of(0.1, 0.2, 0.3, 0.4);

  test("the most frequent answer wins with its first sample, the one seen first wins a tie", () => {
    expect(majorityValue(["b", "a", "a", "c"], values)).toBe(0.2);
    expect(majorityValue(["b", "a", "a", "b"], values)).toBe(0.1);
    expect(majorityValue([null, 1, "1", 1], values)).toBe(0.2);
  });

  test("over draws it is the mean of what each draw says", () => {
    const predictions = ["x", "y", "x", "y"];
    const indices = Int32Array.of(1, 0, 3, 2, 2, 1);
    // y y x → sample 1? Draw 1 is (1, 0, 3): y twice, first seen as sample 1. Draw 2 is (2, 2, 1): x, sample 2.
    expect(majorityAtN(predictions, values, { n: 3, indices }).mean).toBeCloseTo((0.2 + 0.3) / 2, 15);
    const sampled = majorityAtN(predictions, values, { n: 3, seed: 7, draws: 100 });
    expect(majorityAtN(["p", "q", "p", "q"], values, { n: 3, seed: 7, draws: 100 })).toEqual(sampled);
  });

  test("bad input", () => {
    expect(errorCode(() => majorityValue(["a"], values))).toBe("ERR_SURPRISAL_SHAPE");
    expect(errorCode(() => majorityValue("abcd" as unknown as string[], values))).toBe("ERR_SURPRISAL_OPTION");
    expect(errorCode(() => majorityValue([], new Float64Array(0)))).toBe("ERR_SURPRISAL_SHAPE");
    expect(errorCode(() => majorityAtN(["a", "b", "c", "d"], values, { n: 2 }))).toBe("ERR_SURPRISAL_OPTION");
  });
});

describe("validationMetrics", () => {
  const values = Float64Array.of(1, 0, 0, 1, 1, 0, 1, 0, 0.5);
  const groups = [0, 0, 0, 0, 0, 0, 1, 1, 2];

  test("n is 2, 4, … below N and N; prompts count where they have the metric", () => {
    const got = validationMetrics(values, { groups });
    const spread = (n: number): string[] => [`best@${n}/mean`, `best@${n}/std`, `worst@${n}/mean`, `worst@${n}/std`];
    expect(Object.keys(got).sort()).toEqual(
      [...spread(2), ...spread(4), ...spread(6), "mean@6", "std@6", "mean@2", "std@2", "mean@1"].sort(),
    );
    expect(got["mean@6"]).toBe(0.5);
    expect(got["mean@1"]).toBe(0.5);
    expect(got["std@2"]).toBe(0.5);
    expect(got["best@2/mean"]).toBeCloseTo(0.75, 15); // both prompts: half of the samples are right
    expect(got["best@6/mean"]).toBeCloseTo(1 - 0.5 ** 6, 15);
  });

  test("predictions give maj@n, from a seed", () => {
    const predictions = values.map((v) => v * 2);
    const options = { groups, predictions: Array.from(predictions), seed: 3, draws: 50 };
    const got = validationMetrics(values, options);
    expect(got["maj@6/mean"]).toBeGreaterThanOrEqual(0);
    expect(validationMetrics(values, options)).toEqual(got);
  });

  test("relabelling and reordering prompts changes nothing", () => {
    const options = { seed: 3, draws: 50 };
    const base = validationMetrics(values.subarray(0, 8), { groups: groups.slice(0, 8), ...options });
    expect(
      validationMetrics(values.subarray(0, 8), { groups: ["b", "b", "b", "b", "b", "b", "a", "a"], ...options }),
    ).toEqual(base);
    const moved = Float64Array.of(...values.subarray(6, 8), ...values.subarray(0, 6));
    expect(validationMetrics(moved, { groupOffsets: Int32Array.of(0, 2, 2, 8), ...options })).toBeAllClose(base, {
      rtol: 1e-15,
      atol: 0,
    });
  });

  test("bad input", () => {
    const call = (options: object): string | undefined =>
      errorCode(() => validationMetrics(values, { groups: "all", ...options }));
    expect(call({ groups: [1] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(call({ predictions: ["a"], seed: 1 })).toBe("ERR_SURPRISAL_SHAPE");
    expect(call({ predictions: Array.from(values) })).toBe("ERR_SURPRISAL_OPTION");
    expect(call({ seed: -1 })).toBe("ERR_SURPRISAL_OPTION");
    expect(call({ draws: 10 })).toBe("ERR_SURPRISAL_OPTION");
  });
});

describe("evaluationMetrics", () => {
  const samples: EvaluatedSamples = {
    rewards: Float64Array.of(1, 0, 0, 0.5, 0.25, 0),
    lengths: [1, 2, 3, 4, 5, 6],
    truncated: Uint8Array.of(0, 0, 1, 0, 1, 1),
    sources: ["math", "code", "math"],
  };

  test("by source and over all", () => {
    expect(evaluationMetrics(samples, { samplesPerPrompt: 2 })).toEqual({
      eval_math_pass2: (1 + 0.25) / 2,
      eval_math_pass1: 1.25 / 4,
      eval_math_response_length_mean: 14 / 4,
      eval_math_truncated_rate: 0.5,
      eval_code_pass2: 0.5,
      eval_code_pass1: 0.25,
      eval_code_response_length_mean: 3.5,
      eval_code_truncated_rate: 0.5,
      eval_response_length_mean: 3.5,
      eval_truncated_rate: 0.5,
      eval_num_samples: 6,
    });
  });

  test("bad input", () => {
    const call = (change: object, samplesPerPrompt: unknown = 2): string | undefined =>
      errorCode(() => evaluationMetrics({ ...samples, ...change }, { samplesPerPrompt: samplesPerPrompt as number }));
    for (const n of [0, 1.5, NaN, null]) expect(call({}, n)).toBe("ERR_SURPRISAL_OPTION");
    expect(call({}, 3)).toBe("ERR_SURPRISAL_SHAPE");
    expect(call({ rewards: Int32Array.of(1) })).toBe("ERR_SURPRISAL_DTYPE");
    expect(call({ lengths: [1] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(call({ truncated: null })).toBe("ERR_SURPRISAL_DTYPE");
    expect(call({ sources: "math" })).toBe("ERR_SURPRISAL_DTYPE");
  });
});
