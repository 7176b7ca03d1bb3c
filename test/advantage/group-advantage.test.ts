import { groupAdvantage, type GroupAdvantageOptions } from "../../lib/advantage/group-advantage";
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
    const got = groupAdvantage(Float64Array.of(1, 10, 3, 10, 2), { groups: ["a", "b", "a", "b", "a"], epsilon: 0, backend });
    expect(Array.from(got.advantages)).toEqual([-1, 0, 1, 0, 0]);
    expect(Array.from(got.scores)).toEqual([1, 10, 3, 10, 2]);
    expect(Array.from(got.means)).toEqual([2, 10]);
    expect(Array.from(got.stds)).toEqual([1, 0]);
    expect(Array.from(got.counts)).toEqual([3, 2]);
    expect(Array.from(got.groupIds)).toEqual([0, 1, 0, 1, 0]);
    expect(got).not.toHaveProperty("tokenAdvantages");
  });

  test("RLOO and Dr. GRPO are options", () => {
    const rewards = Float64Array.of(1, 3, 8);
    const run = (options: GroupAdvantageOptions) => Array.from(groupAdvantage(rewards, { ...options, backend }).advantages);
    expect(run({ center: "leaveOneOut", scale: "none" })).toEqual([-4.5, -1.5, 6]);
    expect(run({ scale: "none" })).toEqual([-3, -1, 4]);
  });

  test("the score of a row is the sum over all its positions, or over the kept ones", () => {
    const rewards = Float32Array.of(1, 2, 4, 0, 0, 5);
    const options = { rewardLevel: "token", shape: [2, 3], mask: Uint8Array.of(1, 0, 1, 1, 1, 0), scale: "none", backend } as const;
    const all = groupAdvantage(rewards, options);
    expect(Array.from(all.scores)).toEqual([7, 5]);
    expect(Array.from(all.tokenAdvantages)).toEqual([1, 0, 1, -1, -1, 0]);
    const kept = groupAdvantage(rewards, { ...options, scoreOver: "kept" });
    expect(Array.from(kept.scores)).toEqual([5, 0]);
    expect(Array.from(kept.tokenAdvantages)).toEqual([2.5, 0, 2.5, -2.5, -2.5, 0]);
  });

  test("what lies under the mask is not read when kept tokens make the score", () => {
    const r = rng(1);
    const rewards = r.f32(60);
    const mask = r.mask(60, 0.6);
    const options = { rewardLevel: "token", scoreOver: "kept", shape: [6, 10], mask, groups: [0, 1, 0, 1, 0, 1], backend } as const;
    const poisoned = rewards.map((x, i) => (mask[i] ? x : NaN));
    expect(groupAdvantage(poisoned, options)).toEqual(groupAdvantage(rewards, options));
  });

  test("packed rows equal padded ones", () => {
    const rewards = Float32Array.of(1, 0, 2, 0, 0, 3, 5);
    const options = { rewardLevel: "token", groups: [4, 4, 9, 9], backend } as const;
    const packed = groupAdvantage(rewards, { ...options, offsets: Int32Array.of(0, 2, 5, 6, 7) });
    const padded = groupAdvantage(Float32Array.of(1, 0, 0, 2, 0, 0, 3, 0, 0, 5, 0, 0), {
      ...options,
      shape: [4, 3],
      mask: Uint8Array.of(1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0),
    });
    expect(packed.advantages).toEqual(padded.advantages);
    expect(Array.from(packed.tokenAdvantages)).toEqual([0, 0, 3, 3, 3, 6, 9].map((i) => padded.tokenAdvantages[i]));
  });

  test("a row without response tokens still counts in its group", () => {
    const options = { shape: [3, 2], scale: "none", backend } as const;
    const got = groupAdvantage(Float32Array.of(0, 0, 3), { ...options, mask: Uint8Array.of(1, 1, 1, 0, 0, 0) });
    expect(Array.from(got.advantages)).toEqual([-1, -1, 2]);
    expect(Array.from(got.tokenAdvantages)).toEqual([-1, -1, -1, 0, 0, 0]);
  });

  test("scores are summed and compared in float64 even for float32 rewards", () => {
    // 2^25 + 1 is not a float32: a float32 score would make the two rows equal.
    const rewards = Float32Array.of(2 ** 25, 1, 2 ** 25, 0);
    const got = groupAdvantage(rewards, { rewardLevel: "token", shape: [2, 2], scale: "none", backend });
    expect(Array.from(got.advantages)).toEqual([0.5, -0.5]);
  });

  test.each([
    [0.1, 3],
    [0.7, 7],
    [0.97, 16],
  ])("a group of equal rewards %p gives exact zeros under every preset", (reward, n) => {
    for (const Floats of [Float32Array, Float64Array])
      for (const preset of presetNames("groupAdvantage") as "verl"[])
        expect(Array.from(groupAdvantage(new Floats(n).fill(reward), { preset, backend }).advantages)).toEqual(new Array(n).fill(0));
  });

  test("presets differ where their sources differ", () => {
    const rewards = Float64Array.of(1, 2, 4, NaN, 7);
    const options = { groups: [0, 0, 0, 1, 2], backend } as const;
    const std1 = Math.sqrt(7 / 3);
    const std0 = Math.sqrt(14 / 9);
    const run = (preset: "verl" | "trl" | "gspo" | "lightrft") => groupAdvantage(rewards, { ...options, preset }).advantages;
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
    const rewards = Float64Array.of(3, 8);
    const options = { groups: [0, 1], preset: "verl", backend } as const;
    expect(Array.from(groupAdvantage(rewards, { ...options, singleton: "zero" }).advantages)).toEqual([0, 0]);
    const epsilon = undefined as unknown as number;
    expect(Array.from(groupAdvantage(rewards, { ...options, epsilon }).advantages)).toEqual([3 / (1 + 1e-6), 8 / (1 + 1e-6)]);
  });

  test("results are the caller's own, or go into the caller's memory", () => {
    const rewards = Float32Array.of(1, 3);
    expect(groupAdvantage(rewards, { backend }).scores.buffer).not.toBe(rewards.buffer);
    const out = { advantages: new Float32Array(2), tokenAdvantages: new Float32Array(4) };
    const got = groupAdvantage(rewards, { shape: [2, 2], scale: "none", out, backend });
    expect(got.advantages).toBe(out.advantages);
    expect(got.tokenAdvantages).toBe(out.tokenAdvantages);
    expect(Array.from(out.tokenAdvantages)).toEqual([-1, -1, 1, 1]);
  });

  test("no rows", () => {
    expect(groupAdvantage(new Float32Array(0), { backend }).advantages).toHaveLength(0);
    const got = groupAdvantage(new Float32Array(0), { rewardLevel: "token", shape: [0, 5], groups: [], backend });
    expect(got.tokenAdvantages).toHaveLength(0);
    const empty = groupAdvantage(new Float32Array(0), { rewardLevel: "token", shape: [2, 0], backend });
    expect(Array.from(empty.advantages)).toEqual([0, 0]);
  });

  test("what is wrong is refused, with its code and before anything is written", () => {
    const rewards = Float32Array.of(1, 2, 3, 4);
    const advantages = new Float32Array(4).fill(9);
    const run = (options: object, values: unknown = rewards) =>
      code(() => groupAdvantage(values as Float32Array, { out: { advantages }, backend, ...options }));
    expect(run({ preset: "nobody" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ preset: "paper" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ preset: "constructor" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ rewardLevel: "sequence" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ scoreOver: "masked" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ rewardLevel: "token" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ mask: Uint8Array.of(1, 1, 1, 1) })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ epsilon: NaN })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ ddof: -1 })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ center: "median" })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ rewardLevel: "token", shape: [2, 3] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ shape: [2, 2] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ shape: [4, 1], mask: Uint8Array.of(1) })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ groups: [1, 2] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ groups: [1, 2, 3, 0.5] })).toBe("ERR_SURPRISAL_VALUE");
    expect(run({ groupOffsets: Int32Array.of(0, 3, 2, 4) })).toBe("ERR_SURPRISAL_RANGE");
    expect(run({ offsets: Int32Array.of(0, 3, 2, 4) })).toBe("ERR_SURPRISAL_RANGE");
    expect(run({}, [1, 2, 3, 4])).toBe("ERR_SURPRISAL_DTYPE");
    expect(run({}, advantages)).toBe("ERR_SURPRISAL_BUFFER");
    expect(run({ out: { advantages, tokenAdvantages: advantages }, shape: [4, 1] })).toBe("ERR_SURPRISAL_BUFFER");
    expect(run({ out: { advantages: new Float64Array(4) } })).toBe("ERR_SURPRISAL_DTYPE");
    expect(run({ out: { advantages, tokenAdvantages: new Float32Array(3) }, shape: [4, 1] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(Array.from(advantages)).toEqual([9, 9, 9, 9]);
    expect(() => groupAdvantage(rewards, { epsilon: -1, backend })).toThrow("groupAdvantage: epsilon is -1");
  });
});
