import {
  answerThinkingMask,
  egpoAdvantage,
  type EgpoAdvantageOptions,
  type EgpoBatch,
  SurprisalError,
} from "../../lib";
import { egpoOracle, responsePart } from "../oracle/egpo";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

// The group advantage divides float64 sums by a std that may be small; weights add a few dozen numbers.
const F64 = { atol: 1e-10, rtol: 1e-10 };
// One rounding to float32.
const F32 = { atol: 1e-7, rtol: 1e-7 };

const [B, T] = [12, 19];
const TAG = 9;
const GROUPS = [4, 4, 2, 4, 2, 7, 2, 4, 1, 1, 2, 1]; // 7 is alone

function rollouts(seed: number) {
  const r = rng(seed);
  const mask = r.mask(B * T, 0.7).fill(0, 6 * T, 7 * T); // row 6 has no response
  const tokenRewards = new Float64Array(B * T);
  for (let b = 0; b < B; ++b) tokenRewards[b * T + T - 1] = Math.round(4 * r.uniform() - 2) / 2;
  // Sequences of different confidence, so that weights reach both bounds.
  const oldLogProbs = r.f64(B * T, -2, 0).map((x, i) => (x * (1 + (Math.floor(i / T) % 5))) / 2);
  return { shape: [B, T] as const, groups: GROUPS, mask, tokens: r.i32(B * T, 0, 12), tokenRewards, oldLogProbs };
}

const rowOf = (array: ArrayLike<number>, b: number): number[] => Array.from(array).slice(b * T, (b + 1) * T);

eachBackend((backend) => {
  const options = { thinkEnd: TAG, backend } as const;

  describe.each(["original", "clamp", "lockOne"] as const)("negativeWeightMode %s", (negativeWeightMode) => {
    test.each(["answer", "thinking", "joint"] as const)("equals the definition on the %s", (mode) => {
      const batch = rollouts(1);
      const bounds = { lambdaMin: 0.6, lambdaMax: 1.5, epsilon: 1e-3 };
      const got = egpoAdvantage(batch, { ...options, mode, negativeWeightMode, scoreOver: "kept", ...bounds });
      const parts = GROUPS.map((_, b) =>
        responsePart(rowOf(batch.tokens, b), rowOf(batch.mask, b), { end: [TAG] }, mode, "empty"),
      );
      const want = egpoOracle(
        GROUPS.map((group, b) => ({
          group,
          reward: rowOf(batch.tokenRewards, b).reduce((sum, r, t) => sum + (batch.mask[b * T + t] ? r : 0), 0),
          entropies: rowOf(batch.oldLogProbs, b)
            .filter((_, t) => parts[b]![t])
            .map((x) => -x),
        })),
        { low: 0.6, high: 1.5, epsilon: 1e-3, mode: negativeWeightMode },
      );
      const spread = (value: (b: number) => number): number[] =>
        Array.from(batch.mask, (flag, i) => (flag ? value(Math.floor(i / T)) : 0));
      expect([...got.entropyMask]).toEqual(parts.flat());
      expect(got.entropyRatios).toBeAllClose(
        want.map(({ ratio }) => ratio),
        F64,
      );
      expect(got.weights).toBeAllClose(
        want.map(({ weight }) => weight),
        F64,
      );
      expect(got.advantages).toBeAllClose(
        spread((b) => want[b]!.advantage),
        F64,
      );
      expect(got.returns).toBeAllClose(
        spread((b) => want[b]!.base),
        F64,
      );
    });
  });

  // Two prompts, answers of one token each, behind the tag.
  const small = {
    shape: [4, 2] as const,
    groups: [0, 0, 1, 1],
    tokens: [TAG, 1, TAG, 1, TAG, 1, TAG, 1],
    rewards: Float64Array.of(1, -1, 1, -1),
    oldLogProbs: Float64Array.of(-9, -1, -9, -3, -9, -4, -9, -2),
  };

  const exact = { ...options, epsilon: 0, grpoAdvantage: { epsilon: 0 } } as const;
  const a = Math.SQRT1_2;

  test("two prompts by hand: the published formula, whatever the sign of the row", () => {
    const got = egpoAdvantage(small, exact);
    expect([...got.sequenceEntropies]).toEqual([1, 3, 4, 2]);
    expect([...got.groupMeanEntropies]).toEqual([2, 2, 3, 3]);
    expect(got.entropyRatios).toBeAllClose([2, 2 / 3, 0.75, 1.5], F64);
    expect(got.weights).toBeAllClose([2, 2 / 3, 0.75, 1.5], F64);
    expect(got.returns).toBeAllClose([a, a, -a, -a, a, a, -a, -a], F64);
    expect(got.advantages).toBeAllClose(
      [2, 2, -2 / 3, -2 / 3, 0.75, 0.75, -1.5, -1.5].map((w) => w * a),
      F64,
    );
    expect(egpoAdvantage(small, { ...exact, negativeWeightMode: "original" })).toEqual(got);
    const flipped = egpoAdvantage({ ...small, rewards: small.rewards.map((r) => -r) }, exact);
    expect(flipped.weights).toEqual(got.weights);
  });

  test("by the sign of the row: a sure right answer gains, a sure wrong one does not", () => {
    const clamped = egpoAdvantage(small, { ...exact, negativeWeightMode: "clamp" });
    expect(clamped.weights).toBeAllClose([2, 2 / 3, 1, 1], F64);
    expect(egpoAdvantage(small, { ...exact, negativeWeightMode: "lockOne" }).weights).toBeAllClose([2, 1, 1, 1], F64);
    expect(egpoAdvantage(small, { ...exact, preset: "egpo" }).weights).toEqual(clamped.weights);
  });

  test("metrics by hand", () => {
    const { metrics } = egpoAdvantage(small, { ...exact, negativeWeightMode: "clamp", metricsDdof: 1 });
    const weights = [2, 2 / 3, 1, 1];
    const mean = 14 / 12;
    const variance = weights.reduce((sum, w) => sum + (w - mean) ** 2, 0) / 3;
    expect(metrics).toBeAllClose(
      {
        "egpo/enabled": 1,
        "egpo/mode_id": 1,
        "egpo/weight/mean": mean,
        "egpo/weight/min": 2 / 3,
        "egpo/weight/max": 2,
        "egpo/weight/std": Math.sqrt(variance),
        "egpo/pos_frac": 0.5,
        "egpo/weight_pos/mean": 1.5,
        "egpo/weight_pos/min": 1,
        "egpo/weight_neg/mean": 5 / 6,
        "egpo/weight_neg/max": 1,
        "egpo/entropy/seq_mean": 2.5,
        "egpo/entropy/group_mean": 2.5,
        "egpo/ratio/mean": (2 + 2 / 3 + 0.75 + 1.5) / 4,
        "egpo/ratio/max": 2,
        "egpo/valid_ratio": 1,
        "actor/entropy": (9 + 1 + 9 + 3 + 9 + 4 + 9 + 2) / 8,
        "actor/pg_loss": (-(2 - 2 / 3 + 1 - 1) * a) / 4,
      },
      F64,
    );
  });

  test("actor metrics are means over the kept tokens of all rows", () => {
    const mask = Uint8Array.of(1, 1, 0, 1, 0, 0, 0, 1);
    const oldLogProbs = small.oldLogProbs.map((x, i) => (mask[i] ? x : NaN));
    const { metrics, advantages } = egpoAdvantage({ ...small, mask, oldLogProbs }, { ...options, mode: "joint" });
    expect(metrics["actor/entropy"]).toBeCloseTo((9 + 1 + 3 + 2) / 4, 12);
    expect(metrics["actor/pg_loss"]).toBeCloseTo(-Array.from(advantages).reduce((sum, x) => sum + x, 0) / 4, 12);
    const first = egpoAdvantage(small, { ...options, preset: "egpo-first" }).metrics;
    expect(first["actor/entropy"]).toBeCloseTo(46 / 8, 12);
  });

  test("metrics of one row and of none", () => {
    const one = {
      shape: [1, 1] as const,
      groups: [0],
      tokens: [1],
      rewards: Float32Array.of(1),
      oldLogProbs: Float32Array.of(-1),
    };
    expect(egpoAdvantage(one, options).metrics["egpo/weight/std"]).toBe(0);
    expect(egpoAdvantage(one, { ...options, metricsDdof: 1 }).metrics["egpo/weight/std"]).toBeNaN();
    expect(egpoAdvantage(one, options).metrics["egpo/weight_neg/mean"]).toBe(0);
    const none = {
      shape: [0, 1] as const,
      groups: [],
      tokens: [],
      rewards: new Float32Array(0),
      oldLogProbs: new Float32Array(0),
    };
    expect(egpoAdvantage(none, options).metrics).toMatchObject({
      "egpo/weight/mean": 0,
      "actor/entropy": 0,
      "actor/pg_loss": 0,
    });
  });

  test("entropies are the negative of log-probs, float32 in gives float32 out", () => {
    const { oldLogProbs, ...rest } = rollouts(2);
    const tokenRewards = Float32Array.from(rest.tokenRewards);
    const logProbs = Float32Array.from(oldLogProbs);
    const nll = egpoAdvantage({ ...rest, tokenRewards, oldLogProbs: logProbs }, options);
    const shannon = egpoAdvantage({ ...rest, tokenRewards, entropies: logProbs.map((x) => -x) }, options);
    expect(shannon.advantages).toEqual(nll.advantages);
    expect(nll.advantages).toBeInstanceOf(Float32Array);
    const wide = egpoAdvantage({ ...rest, oldLogProbs: Float64Array.from(logProbs) }, options);
    expect(nll.advantages).toBeAllClose(wide.advantages, F32);
  });

  test("what lies outside the answer cannot leak, nor rewards under the mask with scoreOver kept", () => {
    const batch = rollouts(3);
    const clean = egpoAdvantage(batch, { ...options, scoreOver: "kept" });
    const poisoned = egpoAdvantage(
      {
        ...batch,
        oldLogProbs: batch.oldLogProbs.map((x, i) => (clean.entropyMask[i] ? x : -Infinity)),
        tokenRewards: batch.tokenRewards.map((x, i) => (batch.mask[i] ? x : NaN)),
      },
      { ...options, scoreOver: "kept" },
    );
    // The entropy of the actor is that of the thinking too.
    expect(poisoned).toEqual({ ...clean, metrics: { ...clean.metrics, "actor/entropy": Infinity } });
  });

  test("what lies under the mask is not read: no tag, no log-prob", () => {
    const batch = rollouts(3);
    const kept = (from: ArrayLike<number>, other: number): number[] =>
      Array.from(from, (x, i) => (batch.mask[i] ? x : other));
    const poisoned = {
      ...batch,
      tokens: kept(batch.tokens, TAG),
      oldLogProbs: Float64Array.from(kept(batch.oldLogProbs, NaN)),
    };
    const clean = { ...batch, tokens: kept(batch.tokens, 0) };
    expect(egpoAdvantage(poisoned, options)).toEqual(egpoAdvantage(clean, options));
  });

  test("the thinking begins at the opening tag where one is given", () => {
    const OPEN = 8;
    const tokens = [3, OPEN, 4, TAG, 5];
    const batch = { shape: [1, 5] as const, groups: [0], tokens, rewards: [1], oldLogProbs: [-1, -2, -3, -4, -5] };
    const float = {
      ...batch,
      rewards: Float64Array.from(batch.rewards),
      oldLogProbs: Float64Array.from(batch.oldLogProbs),
    };
    const run = (more: EgpoAdvantageOptions) => egpoAdvantage(float, { ...options, mode: "thinking", ...more });
    expect([...run({ thinkStart: OPEN }).entropyMask]).toEqual([0, 1, 1, 1, 0]);
    expect([...run({ thinkStart: OPEN }).sequenceEntropies]).toEqual([3]);
    expect([...run({}).sequenceEntropies]).toEqual([2.5]);
  });

  test("a given entropy mask stands for tokens, mode and tag", () => {
    const { tokens, ...rest } = rollouts(4);
    const entropyMask = answerThinkingMask(tokens, {
      shape: [B, T],
      mask: rest.mask,
      thinkEnd: TAG,
      mode: "thinking",
      backend,
    });
    expect(egpoAdvantage({ ...rest, entropyMask }, { backend })).toEqual(
      egpoAdvantage({ ...rest, tokens }, { ...options, mode: "thinking" }),
    );
    const everything = egpoAdvantage({ ...rest, entropyMask: new Uint8Array(B * T).fill(1) }, { backend });
    expect(everything.entropyMask).toEqual(rest.mask);
  });

  test("packed rows equal padded rows", () => {
    const batch = rollouts(5);
    const lengths = GROUPS.map((_, b) => b % 4);
    const offsets = new Int32Array(B + 1);
    lengths.forEach((length, b) => {
      offsets[b + 1] = offsets[b]! + length;
    });
    const mask = Uint8Array.from({ length: B * T }, (_, i) => (i % T < lengths[Math.floor(i / T)]! ? 1 : 0));
    const kept = <A extends Int32Array | Float64Array>(array: A): A => array.filter((_, i) => mask[i]) as A;
    const rewards = rng(6).f64(B, -1, 1);
    const { oldLogProbs } = batch;
    const { tokens } = batch;
    const padded = egpoAdvantage({ shape: [B, T], groups: GROUPS, mask, tokens, oldLogProbs, rewards }, options);
    const packed = egpoAdvantage(
      { offsets, groups: GROUPS, tokens: kept(tokens), oldLogProbs: kept(oldLogProbs), rewards },
      options,
    );
    expect(packed.advantages).toEqual(kept(padded.advantages as Float64Array));
    expect(packed.metrics).toEqual(padded.metrics);
  });

  test("a permutation of the rows permutes everything per row", () => {
    const { oldLogProbs, tokens } = small;
    const swap = (x: ArrayLike<number>, width: number): number[] =>
      [2, 3, 0, 1].flatMap((b) => Array.from(x).slice(b * width, (b + 1) * width));
    const there = egpoAdvantage(small, options);
    const back = egpoAdvantage(
      { ...small, groups: [1, 1, 0, 0], tokens: swap(tokens, 2), oldLogProbs: Float64Array.from(swap(oldLogProbs, 2)) },
      options,
    );
    expect(swap(back.weights, 1)).toEqual([...there.weights]);
    expect(swap(back.advantages, 2)).toEqual([...there.advantages]);
  });

  describe("hard rows", () => {
    // Two groups of three: row 1 has no answer, row 4 a NaN in it. Rewards alternate.
    const hard: EgpoBatch = {
      shape: [6, 3],
      groups: [0, 0, 0, 1, 1, 1],
      tokens: [TAG, 1, 1, 1, 1, TAG, TAG, 1, 1, TAG, 1, 1, TAG, 1, 1, TAG, 1, 1],
      rewards: Float64Array.of(1, 0, 1, 0, 1, 0),
      oldLogProbs: Float64Array.of(-9, -1, -1, -9, -9, -9, -9, -3, -3, -9, -2, -2, -9, NaN, -1, -9, -4, -4),
    };
    const run = (more: EgpoAdvantageOptions) =>
      egpoAdvantage(hard, {
        ...options,
        epsilon: 0,
        negativeWeightMode: "original",
        lambdaMin: 0,
        lambdaMax: 99,
        ...more,
      });

    test("weigh 1, change nobody, and are counted", () => {
      const got = run({});
      expect(got.weights).toBeAllClose([2, 1, 2 / 3, 1.5, 1, 0.75], F64);
      expect([...got.valid]).toEqual([1, 0, 1, 1, 0, 1]);
      expect(got.nonFiniteRows).toBe(1);
      expect(got.metrics["egpo/valid_ratio"]).toBeCloseTo(4 / 6, 12);
      expect(got.metrics["egpo/entropy/seq_mean"]).toBe(2.5);
    });

    test('as in preset "egpo": a NaN takes its group out', () => {
      const got = run({ preset: "egpo" });
      expect(got.weights).toBeAllClose([2, 1, 2 / 3, 1, 1, 1], F64);
      expect(got.metrics["egpo/entropy/group_mean"]).toBeNaN();
    });

    test('as in preset "egpo-first": no answer is entropy 0 and the largest weight, a NaN spreads', () => {
      const got = run({ preset: "egpo-first" });
      expect(got.weights).toBeAllClose([4 / 3, 99, 4 / 9, NaN, NaN, NaN], F64);
      expect(got.metrics["egpo/weight/mean"]).toBeNaN();
    });

    test("a deterministic policy weighs 1, in the presets lambdaMin", () => {
      const batch = { ...small, oldLogProbs: new Float64Array(8) };
      expect([...egpoAdvantage(batch, options).weights]).toEqual([1, 1, 1, 1]);
      expect([...egpoAdvantage(batch, { ...options, preset: "egpo-first" }).weights]).toEqual([0.5, 0.5, 0.5, 0.5]);
    });

    test("a group of one has advantage 0 and weight 1, in the presets its raw reward", () => {
      const one = {
        shape: [1, 1] as const,
        groups: [0],
        tokens: [1],
        rewards: Float64Array.of(3),
        oldLogProbs: Float64Array.of(-2),
      };
      expect(egpoAdvantage(one, options)).toMatchObject({
        advantages: Float64Array.of(0),
        weights: Float64Array.of(1),
      });
      const raw = egpoAdvantage(one, { ...options, preset: "egpo-first" });
      expect(raw.returns).toBeAllClose([3 / (1 + 1e-6)], F64);
      expect(raw.weights).toBeAllClose([2 / (2 + 1e-6)], F64);
    });

    test("a row without response is 0 throughout and still counts in its group's rewards", () => {
      const got = egpoAdvantage({ ...small, mask: Uint8Array.of(0, 0, 1, 1, 1, 1, 1, 1) }, options);
      expect([...got.advantages.subarray(0, 2)]).toEqual([0, 0]);
      expect(got.returns[2]).toBeCloseTo(-Math.SQRT1_2, 5);
    });
  });

  test("the preset's group conventions are replaced one by one", () => {
    const run = (more: EgpoAdvantageOptions) => egpoAdvantage(small, { ...options, ...more }).returns;
    expect(run({ preset: "egpo", grpoAdvantage: { scale: "none" } })).toEqual(
      Float64Array.of(1, 1, -1, -1, 1, 1, -1, -1),
    );
  });

  test.each([
    ["two kinds of rewards", { tokenRewards: new Float32Array(8) }, {}, "OPTION", "tokenRewards"],
    ["no rewards", { rewards: undefined }, {}, "OPTION", "rewards"],
    ["too few rewards", { rewards: new Float32Array(3) }, {}, "SHAPE", "rewards has 3"],
    ["log-probs and entropies", { entropies: new Float32Array(8) }, {}, "OPTION", "entropies"],
    ["neither log-probs nor entropies", { oldLogProbs: undefined }, {}, "OPTION", "oldLogProbs"],
    ["too few log-probs", { oldLogProbs: new Float32Array(7) }, {}, "SHAPE", "oldLogProbs has 7"],
    ["integer log-probs", { oldLogProbs: new Int32Array(8) }, {}, "DTYPE", "oldLogProbs"],
    ["no tokens", { tokens: undefined }, {}, "OPTION", "tokens"],
    ["tokens of prompt and response", { tokens: new Int32Array(12) }, {}, "SHAPE", "tokens has 12"],
    ["a mask too short", { mask: new Uint8Array(7) }, {}, "SHAPE", "mask has 7"],
    ["an entropy mask of floats", { entropyMask: new Float32Array(8) }, {}, "DTYPE", "entropyMask"],
    ["a label too few", { groups: [0, 1] }, {}, "SHAPE", "groups"],
    ["no tag", {}, { thinkEnd: undefined }, "OPTION", "thinkEnd"],
    ["an unknown mode", {}, { mode: "whole" }, "OPTION", '"joint"'],
    ["an unknown negativeWeightMode", {}, { negativeWeightMode: "lock_one" }, "OPTION", '"lockOne"'],
    ["NaN as lambdaMin", {}, { lambdaMin: NaN }, "OPTION", "lambdaMin"],
    ["a negative lambdaMax", {}, { lambdaMax: -1 }, "OPTION", "lambdaMax"],
    ["an infinite epsilon", {}, { epsilon: Infinity }, "OPTION", "epsilon"],
    ["a ddof of 2", {}, { metricsDdof: 2 }, "OPTION", "metricsDdof"],
    ["an unknown preset", {}, { preset: "trl" }, "OPTION", '"egpo-first"'],
    ["an unknown scoreOver", {}, { scoreOver: "mask" }, "OPTION", '"kept"'],
    ["neither shape nor offsets", { shape: undefined }, {}, "OPTION", "shape"],
  ] as const)("refuses %s", (_, changes, more, code, text) => {
    const call = () => egpoAdvantage({ ...small, ...changes } as never, { ...options, ...more } as never);
    expect(call).toThrow(SurprisalError);
    expect(call).toThrow(
      expect.objectContaining({ code: `ERR_SURPRISAL_${code}`, message: expect.stringContaining(text) as string }),
    );
  });
});
