import { edgeGrpoAdvantage, type EdgeGrpoAdvantageOptions, SurprisalError } from "../../lib";
import { groupAdvantages } from "../oracle/egpo";
import { sequenceWeightsOracle } from "../oracle/modulate";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

// As for EGPO: float64 sums, a division by a std.
const F64 = { atol: 1e-10, rtol: 1e-10 };

const [B, T] = [9, 17];
const GROUPS = [0, 1, 0, 1, 0, 2, 1, 0, 1]; // 2 is alone

function rollouts(seed: number) {
  const r = rng(seed);
  const entropies = r.f64(B * T, 0, 2).map((x, i) => x * (1 + (Math.floor(i / T) % 3)));
  return { shape: [B, T] as const, groups: GROUPS, mask: r.mask(B * T, 0.6), rewards: r.f64(B, -1, 1), entropies };
}

eachBackend((backend) => {
  test.each([
    ["ratio", { weightMode: "ratio" }],
    ["zscore", { weightMode: "zscore" }],
    [
      "other constants",
      { weightMode: "zscore", beta: 0.5, zClip: 0.7, lambdaMin: 0.9, lambdaMax: 1.3, varianceFloor: 0.1 },
    ],
  ] as const)("equals the definition: %s", (_, changes) => {
    const options: EdgeGrpoAdvantageOptions = changes;
    const batch = rollouts(1);
    const got = edgeGrpoAdvantage(batch, { ...options, backend });
    const kept = GROUPS.map((_, b) =>
      [...batch.entropies].slice(b * T, (b + 1) * T).filter((_, t) => batch.mask[b * T + t]),
    );
    const {
      beta = 1,
      zClip = 3,
      varianceFloor = 0,
      lambdaMin = 0.5,
      lambdaMax = 2,
      weightMode: form = "ratio",
    } = options;
    const weights = sequenceWeightsOracle(kept, GROUPS, {
      form,
      epsilon: 1e-6,
      beta,
      zClip,
      varianceFloor,
      bounds: [lambdaMin, lambdaMax],
    });
    const base = groupAdvantages(GROUPS.map((group, b) => ({ group, reward: batch.rewards[b]!, entropies: [] })));
    const spread = (perRow: readonly number[]): number[] =>
      Array.from(batch.mask, (flag, i) => (flag ? perRow[Math.floor(i / T)]! : 0));
    expect(got.weights).toBeAllClose(weights.weights, F64);
    expect(got.sequenceEntropies).toBeAllClose(weights.sequenceEntropies, F64);
    expect(got.returns).toBeAllClose(spread(base), F64);
    expect(got.advantages).toBeAllClose(spread(base.map((a, b) => a * weights.weights[b]!)), F64);
  });

  test("metrics by hand", () => {
    const batch = {
      shape: [2, 1] as const,
      groups: "all" as const,
      rewards: Float64Array.of(1, 0),
      entropies: Float64Array.of(1, 3),
    };
    expect(edgeGrpoAdvantage(batch, { epsilon: 0, backend }).metrics).toBeAllClose(
      {
        "edge/enabled": 1,
        "edge/weight_mode_id": 0,
        "edge/w_mean": 4 / 3,
        "edge/w_std": 2 / 3,
        "edge/P_mean": 2,
        "edge/P_group_mean": 2,
      },
      F64,
    );
    expect(edgeGrpoAdvantage(batch, { weightMode: "zscore", backend }).metrics["edge/weight_mode_id"]).toBe(1);
  });

  test("rows without tokens, groups of one and groups of zero entropy weigh 1", () => {
    const batch = {
      shape: [5, 1] as const,
      groups: [0, 0, 1, 2, 2],
      mask: Uint8Array.of(1, 0, 1, 1, 1),
      rewards: Float64Array.of(1, 0, 1, 1, 0),
      entropies: Float64Array.of(2, 9, 4, 0, 0),
    };
    for (const weightMode of ["ratio", "zscore"] as const)
      expect([...edgeGrpoAdvantage(batch, { weightMode, backend }).weights]).toEqual([1, 1, 1, 1, 1]);
    expect([...edgeGrpoAdvantage(batch, { preset: "egpo", backend }).weights]).toEqual([0.5, 2, 0.5, 0.5, 0.5]);
  });

  test("what lies under the mask cannot leak", () => {
    const batch = rollouts(2);
    const poisoned = { ...batch, entropies: batch.entropies.map((x, i) => (batch.mask[i] ? x : NaN)) };
    expect(edgeGrpoAdvantage(poisoned, { backend })).toEqual(edgeGrpoAdvantage(batch, { backend }));
  });

  test("weights stay within their bounds", () => {
    const { weights } = edgeGrpoAdvantage(rollouts(3), { lambdaMin: 0.8, lambdaMax: 1.25, backend });
    expect(Math.min(...weights)).toBe(0.8);
    expect(Math.max(...weights)).toBe(1.25);
  });

  const small = {
    shape: [2, 2] as const,
    groups: "all" as const,
    rewards: Float32Array.of(1, 0),
    entropies: Float32Array.of(1, 1, 2, 2),
  };

  test("float32 in gives float32 out; an empty batch gives empty results", () => {
    expect(edgeGrpoAdvantage(small, { backend }).advantages).toBeInstanceOf(Float32Array);
    const none = { ...small, shape: [0, 2] as const, rewards: new Float32Array(0), entropies: new Float32Array(0) };
    expect(edgeGrpoAdvantage(none, { backend }).advantages).toHaveLength(0);
  });

  test.each([
    ["an unknown weightMode", {}, { weightMode: "other" }, "OPTION", '"zscore"'],
    ["NaN as beta", {}, { beta: NaN }, "OPTION", "beta"],
    ["a negative zClip", {}, { zClip: -1 }, "OPTION", "zClip"],
    ["an infinite lambdaMin", {}, { lambdaMin: Infinity }, "OPTION", "lambdaMin"],
    ["a negative epsilon", {}, { epsilon: -1 }, "OPTION", "epsilon"],
    ["too few entropies", { entropies: new Float32Array(3) }, {}, "SHAPE", "entropies has 3"],
    ["no rewards", { rewards: undefined }, {}, "OPTION", "rewards"],
    ["an unknown preset", {}, { preset: "egpo-first" }, "OPTION", '"egpo"'],
    [
      "group offsets past the end",
      { groups: undefined, groupOffsets: Int32Array.of(0, 3) },
      {},
      "RANGE",
      "groupOffsets[1]",
    ],
  ] as const)("refuses %s", (_, changes, options, code, text) => {
    const call = () => edgeGrpoAdvantage({ ...small, ...changes }, { backend, ...options } as never);
    expect(call).toThrow(SurprisalError);
    expect(call).toThrow(
      expect.objectContaining({ code: `ERR_SURPRISAL_${code}`, message: expect.stringContaining(text) as string }),
    );
  });
});
