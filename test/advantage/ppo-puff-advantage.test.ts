import { gae, ppoAdvantage, type PpoBatch, puffAdvantage, type PuffBatch, whiten } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";

const ppo: PpoBatch = {
  shape: [2, 3],
  mask: Uint8Array.of(1, 1, 0, 1, 1, 1),
  tokens: [5, 2, 0, 5, 5, 5],
  scores: Float64Array.of(1, 2),
  logProbs: Float64Array.of(-1, -2, NaN, -1, -1, -1),
  referenceLogProbs: Float64Array.of(-2, -2, NaN, -1, -3, -1),
  values: Float64Array.of(0.5, 0.25, 8, 0, 1, 0),
};
const options = { gamma: 1, lambda: 0.5, klCoefficient: 0.5 } as const;

eachBackend((backend) => {
  test("PPO by hand: KL at every kept token, the score at the last, advantages whitened", () => {
    const got = ppoAdvantage(ppo, { ...options, backend });
    const rewards = Float64Array.of(-0.5, 1, 0, 0, -1, 2);
    expect(got.rewards).toEqual(rewards);
    expect(got.valueMask).toEqual(ppo.mask);
    const layout = { shape: [2, 3], mask: ppo.mask!, backend } as const;
    const estimate = gae(rewards, ppo.values, { ...layout, gamma: 1, lambda: 0.5 });
    expect(got.returns).toEqual(estimate.returns);
    expect(got.advantages).toEqual(whiten(estimate.advantages, { ...layout, over: "all", varianceEpsilon: 1e-8 }));
  });

  test("the score can go behind the last token, where the critic is read once more", () => {
    const got = ppoAdvantage(ppo, { ...options, scoreAt: "after", backend });
    expect(got.rewards).toEqual(Float64Array.of(-0.5, 0, 1, 0, -1, 2));
    expect(got.valueMask).toEqual(Uint8Array.of(1, 1, 1, 1, 1, 1));
    expect(got.returns[2]).toBe(1);
    expect(got.advantages[2]).toBe(0);
  });

  test("a row that does not end costs its penalty", () => {
    const got = ppoAdvantage(ppo, { ...options, missingEndPenalty: 3, endToken: 2, backend });
    expect(got.rewards).toEqual(Float64Array.of(-0.5, 1, 0, 0, -1, -1));
  });

  test("KL estimates: k2 and k3 are never negative, and k3 is exact for tiny differences", () => {
    const d = 1e-6;
    const batch = {
      shape: [1, 2],
      scores: Float64Array.of(0),
      logProbs: Float64Array.of(-1, -1 + d),
      referenceLogProbs: Float64Array.of(-3, -1),
      values: new Float64Array(2),
    } as const;
    const run = (klEstimator: "k1" | "k2" | "k3") =>
      ppoAdvantage(batch, { ...options, klCoefficient: -1, klEstimator, backend }).rewards;
    expect(run("k1")).toBeAllClose([2, d], { rtol: 1e-9, atol: 0 });
    expect(run("k2")).toBeAllClose([2, (d * d) / 2], { rtol: 1e-9, atol: 0 });
    // −1 + 1e-6 is rounded, and exp(−d) − 1 + d cancels: 2^-53 absolute against 5e-13.
    expect(run("k3")).toBeAllClose([Math.exp(-2) + 1, (d * d) / 2], { rtol: 1e-3, atol: 0 });
  });

  test("whitened rewards keep their mean and have variance 1", () => {
    const { rewards } = ppoAdvantage(ppo, { ...options, whitenRewards: true, backend });
    const kept = Array.from(rewards).filter((_, t) => ppo.mask![t] !== 0);
    const mean = kept.reduce((sum, x) => sum + x, 0) / 5;
    expect(mean).toBeAllClose(0.3, { rtol: 1e-14, atol: 0 });
    expect(kept.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 4).toBeAllClose(1, { rtol: 1e-7, atol: 0 });
  });

  test("puff advantage without importance weights is GAE of the steps between entries", () => {
    const r = rng(3);
    const batch = {
      shape: [2, 6],
      tokenRewards: r.f64(12, -1, 1),
      values: r.f64(12, -1, 1),
      dones: new Float64Array(12),
    } as const;
    const got = puffAdvantage(batch, { gamma: 0.9, lambda: 0.8, backend });
    for (const b of [0, 6]) {
      const want = gae(batch.tokenRewards.slice(b + 1, b + 6), batch.values.slice(b, b + 5), {
        shape: [1, 5],
        gamma: 0.9,
        lambda: 0.8,
        bootstrap: batch.values.slice(b + 5, b + 6),
        backend,
      });
      // The same recursion, with products of 1 in it.
      expect(got.advantages.slice(b, b + 6)).toBeAllClose([...want.advantages, 0], { rtol: 1e-14, atol: 1e-15 });
      expect(got.returns.slice(b, b + 5)).toBeAllClose(want.returns, { rtol: 1e-14, atol: 1e-15 });
    }
  });

  test("puff advantage by hand: weights are truncated, an episode's end cuts the trace", () => {
    const batch: PuffBatch = {
      offsets: Int32Array.of(0, 3, 3, 4),
      tokenRewards: Float64Array.of(NaN, 1, 2, NaN),
      values: Float64Array.of(0.5, 1, 4, 7),
      dones: Float64Array.of(NaN, 0, 1, NaN),
      importanceWeights: Float64Array.of(4, 0.5, NaN, NaN),
    };
    const run = (delta: "corrected" | "reward") =>
      Array.from(puffAdvantage(batch, { gamma: 0.5, lambda: 1, rhoClip: 2, cClip: 1, delta, backend }).advantages);
    // Corrected: δ1 = 0.5·(2 − 1) = 0.5, δ0 = 2·(1 + 0.5·1 − 0.5) = 2, A0 = 2 + 0.5·1·0.5.
    expect(run("corrected")).toEqual([2.25, 0.5, 0, 0]);
    // Reward alone: δ1 = 0.5·2 − 1 = 0, δ0 = 2·1 + 0.5 − 0.5 = 2.
    expect(run("reward")).toEqual([2, 0, 0, 0]);
  });

  test("empty batches give empty results", () => {
    const none = new Float32Array(0);
    const logs = { logProbs: none, referenceLogProbs: none, values: none, scores: none };
    expect(ppoAdvantage({ shape: [0, 3], ...logs }, { ...options, backend }).advantages).toHaveLength(0);
    expect(
      puffAdvantage({ shape: [0, 0], tokenRewards: none, values: none, dones: none }, { gamma: 1, lambda: 1, backend })
        .advantages,
    ).toHaveLength(0);
  });
});

test("bad input is refused by name", () => {
  const run = (over: object, batch: object = {}) =>
    errorCode(() => ppoAdvantage({ ...ppo, ...batch }, { ...options, ...over }));
  expect(run({ gamma: -1 })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ lambda: 2 })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ klCoefficient: NaN })).toBe("ERR_SURPRISAL_OPTION");
  expect(() => ppoAdvantage(ppo, { ...options, klEstimator: "k4" as never })).toThrow(/klEstimator is "k4"/);
  expect(run({ scoreAt: "first" })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ missingEndPenalty: 1 })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ missingEndPenalty: 1, endToken: 2 }, { tokens: undefined })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({}, { scores: Float64Array.of(1) })).toBe("ERR_SURPRISAL_SHAPE");
  expect(run({}, { logProbs: Int32Array.of(1) })).toBe("ERR_SURPRISAL_DTYPE");
  const puff = {
    shape: [1, 2],
    tokenRewards: Float64Array.of(1, 2),
    values: Float64Array.of(1, 2),
    dones: Float64Array.of(0, 0),
  } as const;
  const puffCode = (over: object, batch: object = {}) =>
    errorCode(() => puffAdvantage({ ...puff, ...batch }, { gamma: 1, lambda: 1, ...over }));
  expect(puffCode({ lambda: 2 })).toBe("ERR_SURPRISAL_OPTION");
  expect(puffCode({ rhoClip: -1 })).toBe("ERR_SURPRISAL_OPTION");
  expect(puffCode({ delta: "both" })).toBe("ERR_SURPRISAL_OPTION");
  expect(puffCode({}, { importanceWeights: Float64Array.of(1) })).toBe("ERR_SURPRISAL_SHAPE");
});
