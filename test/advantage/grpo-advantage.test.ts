import { grpoAdvantage, type GrpoAdvantageOptions } from "../../lib";
import { presetNames } from "../../lib/presets";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

function code(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
}

eachBackend((backend) => {
  test("rewards of two prompts, by hand", () => {
    const batch = { rewards: Float64Array.of(1, 10, 3, 10, 2), groups: ["a", "b", "a", "b", "a"] };
    const got = grpoAdvantage(batch, { epsilon: 0, backend });
    expect(Array.from(got.advantages)).toEqual([-1, 0, 1, 0, 0]);
    expect(Array.from(got.scores)).toEqual([1, 10, 3, 10, 2]);
    expect(Array.from(got.means)).toEqual([2, 10]);
    expect(Array.from(got.stds)).toEqual([1, 0]);
    expect(Array.from(got.counts)).toEqual([3, 2]);
    expect(Array.from(got.groupIds)).toEqual([0, 1, 0, 1, 0]);
    expect(got.rowAdvantages).toEqual(got.advantages);
  });

  test("RLOO and Dr. GRPO are options", () => {
    const rewards = Float64Array.of(1, 3, 8);
    const run = (options: GrpoAdvantageOptions) =>
      Array.from(grpoAdvantage({ rewards, groups: "all" }, { ...options, backend }).advantages);
    expect(run({ center: "leaveOneOut", scale: "none" })).toEqual([-4.5, -1.5, 6]);
    expect(run({ scale: "none" })).toEqual([-3, -1, 4]);
  });

  test("the score of a row is the sum over all its positions, or over the kept ones", () => {
    const tokenRewards = Float32Array.of(1, 2, 4, 0, 0, 5);
    const batch = { tokenRewards, shape: [2, 3], mask: Uint8Array.of(1, 0, 1, 1, 1, 0), groups: "all" } as const;
    const all = grpoAdvantage(batch, { scale: "none", backend });
    expect(Array.from(all.scores)).toEqual([7, 5]);
    expect(Array.from(all.rowAdvantages)).toEqual([1, -1]);
    expect(Array.from(all.advantages)).toEqual([1, 0, 1, -1, -1, 0]);
    const kept = grpoAdvantage(batch, { scale: "none", scoreOver: "kept", backend });
    expect(Array.from(kept.scores)).toEqual([5, 0]);
    expect(Array.from(kept.advantages)).toEqual([2.5, 0, 2.5, -2.5, -2.5, 0]);
  });

  test("what lies under the mask is not read when kept tokens make the score", () => {
    const r = rng(1);
    const rewards = r.f32(60);
    const mask = r.mask(60, 0.6);
    const batch = { shape: [6, 10], mask, groups: [0, 1, 0, 1, 0, 1] } as const;
    const run = (tokenRewards: Float32Array) =>
      grpoAdvantage({ ...batch, tokenRewards }, { scoreOver: "kept", backend });
    expect(run(rewards.map((x, i) => (mask[i] ? x : NaN)))).toEqual(run(rewards));
  });

  test("packed rows equal padded ones", () => {
    const groups = [4, 4, 9, 9];
    const packed = grpoAdvantage(
      { tokenRewards: Float32Array.of(1, 0, 2, 0, 0, 3, 5), groups, offsets: Int32Array.of(0, 2, 5, 6, 7) },
      { backend },
    );
    const padded = grpoAdvantage(
      {
        tokenRewards: Float32Array.of(1, 0, 0, 2, 0, 0, 3, 0, 0, 5, 0, 0),
        groups,
        shape: [4, 3],
        mask: Uint8Array.of(1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0),
      },
      { backend },
    );
    expect(packed.rowAdvantages).toEqual(padded.rowAdvantages);
    expect(Array.from(packed.advantages)).toEqual([0, 0, 3, 3, 3, 6, 9].map((i) => padded.advantages[i]));
  });

  test("a row without response tokens still counts in its group", () => {
    const batch = {
      rewards: Float32Array.of(0, 0, 3),
      shape: [3, 2],
      mask: Uint8Array.of(1, 1, 1, 0, 0, 0),
      groups: "all",
    } as const;
    const got = grpoAdvantage(batch, { scale: "none", backend });
    expect(Array.from(got.rowAdvantages)).toEqual([-1, -1, 2]);
    expect(Array.from(got.advantages)).toEqual([-1, -1, -1, 0, 0, 0]);
  });

  test("scores are summed and compared in float64 even for float32 rewards", () => {
    // 2^25 + 1 is not a float32: a float32 score would make the two rows equal.
    const tokenRewards = Float32Array.of(2 ** 25, 1, 2 ** 25, 0);
    const got = grpoAdvantage({ tokenRewards, shape: [2, 2], groups: "all" }, { scale: "none", backend });
    expect(Array.from(got.rowAdvantages)).toEqual([0.5, -0.5]);
  });

  test.each([
    [0.1, 3],
    [0.7, 7],
    [0.97, 16],
  ])("a group of equal rewards %p gives exact zeros under every preset", (reward, n) => {
    for (const Floats of [Float32Array, Float64Array])
      for (const preset of presetNames("grpoAdvantage")) {
        const { advantages } = grpoAdvantage(
          { rewards: new Floats(n).fill(reward), groups: "all" },
          { preset, backend },
        );
        expect(Array.from(advantages)).toEqual(new Array(n).fill(0));
      }
  });

  test("presets differ where their sources differ", () => {
    const rewards = Float64Array.of(1, 2, 4, NaN, 7);
    const groups = [0, 0, 0, 1, 2];
    const std1 = Math.sqrt(7 / 3);
    const std0 = Math.sqrt(14 / 9);
    const run = (preset: "verl" | "trl" | "gspo" | "lightrft") =>
      grpoAdvantage({ rewards, groups }, { preset, backend }).advantages;
    const want = (divisor: number, nan: number, single: number) =>
      Float64Array.of(...[-4 / 3, -1 / 3, 5 / 3].map((x) => x / divisor), nan, single);
    // A dozen float64 roundings on either side.
    const tolerance = { rtol: 2e-15 };
    expect(run("verl")).toBeAllClose(want(std1 + 1e-6, NaN, 7 / (1 + 1e-6)), tolerance);
    expect(run("trl")).toBeAllClose(want(std1 + 1e-4, 0, 0), tolerance);
    expect(run("lightrft")).toBeAllClose(want(std1 + 1e-8, NaN, 0), tolerance);
    expect(run("gspo")).toBeAllClose(want(std0, NaN, 0), tolerance);
  });

  test("an option that is given wins over the preset, undefined does not", () => {
    const run = (options: GrpoAdvantageOptions) =>
      Array.from(
        grpoAdvantage({ rewards: Float64Array.of(3, 8), groups: [0, 1] }, { preset: "verl", backend, ...options })
          .advantages,
      );
    expect(run({ singleton: "zero" })).toEqual([0, 0]);
    expect(run({ epsilon: undefined })).toEqual([3 / (1 + 1e-6), 8 / (1 + 1e-6)]);
  });

  test("results are the caller's own: tokens in the type of the rewards, rows in float64", () => {
    const rewards = Float32Array.of(1, 3);
    const got = grpoAdvantage({ rewards, shape: [2, 2], groups: "all" }, { scale: "none", backend });
    expect(got.scores).toEqual(Float64Array.of(1, 3));
    expect(got.rowAdvantages).toEqual(Float64Array.of(-1, 1));
    expect(got.advantages).toEqual(Float32Array.of(-1, -1, 1, 1));
  });

  test("no rows", () => {
    expect(grpoAdvantage({ rewards: new Float32Array(0), groups: "all" }, { backend }).advantages).toHaveLength(0);
    const tokenRewards = new Float32Array(0);
    const got = grpoAdvantage({ tokenRewards, shape: [0, 5], groups: [] }, { backend });
    expect(got.advantages).toHaveLength(0);
    const empty = grpoAdvantage({ tokenRewards, shape: [2, 0], groups: "all" }, { backend });
    expect(Array.from(empty.rowAdvantages)).toEqual([0, 0]);
  });

  test("what is wrong is refused, with its code", () => {
    const rewards = Float32Array.of(1, 2, 3, 4);
    const run = (batch: object, options: object = {}) =>
      code(() => grpoAdvantage({ rewards, groups: "all", ...batch }, { backend, ...options }));
    expect(run({}, { preset: "nobody" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({}, { preset: "pufferlib" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({}, { preset: "constructor" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({}, { scoreOver: "masked" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ tokenRewards: rewards })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ rewards: undefined })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ rewards: undefined, tokenRewards: rewards })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({}, { epsilon: NaN })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({}, { ddof: -1 })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({}, { center: "median" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ rewards: undefined, tokenRewards: rewards, shape: [2, 3] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ shape: [2, 2] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ mask: Uint8Array.of(1, 1) })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ shape: [4, 1], mask: Uint8Array.of(1) })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ groups: [1, 2] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ groups: [1, 2, 3, 0.5] })).toBe("ERR_SURPRISAL_VALUE");
    expect(run({ groups: undefined, groupOffsets: Int32Array.of(0, 3, 2, 4) })).toBe("ERR_SURPRISAL_RANGE");
    expect(run({ offsets: Int32Array.of(0, 3, 2, 4) })).toBe("ERR_SURPRISAL_RANGE");
    expect(run({ rewards: Int32Array.of(1, 2, 3, 4) })).toBe("ERR_SURPRISAL_DTYPE");
    expect(() => grpoAdvantage({ rewards, groups: "all" }, { epsilon: -1, backend })).toThrow(
      "grpoAdvantage: epsilon is -1",
    );
  });
});
