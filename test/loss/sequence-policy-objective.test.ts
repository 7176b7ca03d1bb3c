// The group-sequence clipped objective: worked examples, its definition, its laws, its edges and its refusals.
import { type FloatArray, groupNormalize, SurprisalError } from "../../lib";
import { sequencePolicyObjective, type SequencePolicyOptions } from "../../lib/loss/sequence-policy-objective";
import { clippedObjective } from "../../lib/ops/loss";
import { clippedObjectiveOracle, numericalGradient } from "../oracle/ratio";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const f64 = (...values: number[]) => Float64Array.of(...values);

// Ragged lengths: one token, less than a warp, more than a block of 256 threads.
const LENGTHS = [1, 7, 300, 32, 33, 5];

function ragged(seed: number) {
  const r = rng(seed);
  const old = LENGTHS.map((length) => r.f64(length, -3, 0));
  const current = old.map((row) => {
    const shift = 0.8 * (r.uniform() - 0.5);
    return row.map((x) => x + shift + 0.1 * (r.uniform() - 0.5));
  });
  return { current, old, rewards: r.f64(LENGTHS.length, -1, 1) };
}

const flat = (rows: readonly Float64Array[]) => Float64Array.from(rows.flatMap((row) => [...row]));
const OFFSETS = Int32Array.from([0, ...LENGTHS.map((_, b) => LENGTHS.slice(0, b + 1).reduce((sum, n) => sum + n, 0))]);

/** Advantages by the textbook: (r − mean) / population std of the members. */
function advantagesOracle(rewards: ArrayLike<number>, groups: readonly number[]): number[] {
  return Array.from(rewards, (reward, i) => {
    const members = Array.from(rewards).filter((_, j) => groups[j] === groups[i]);
    const mean = members.reduce((sum, x) => sum + x, 0) / members.length;
    const variance = members.reduce((sum, x) => sum + (x - mean) ** 2, 0) / members.length;
    return variance === 0 ? 0 : (reward - mean) / Math.sqrt(variance);
  });
}

eachBackend((backend) => {
  // Rounded to 8 digits as printed here.
  const PRINTED = { atol: 5e-9 };

  test("two sequences that drifted up: the better one is clipped, the worse one is not", () => {
    const got = sequencePolicyObjective([f64(1, 0.5), f64(0.8, 1.2)], [f64(0, 0), f64(0, 0)], f64(0.9, 0.7), {
      groups: "all",
      clip: 0.2,
      backend,
    });
    expect(got.objective).toBeAllClose(-0.75914091, PRINTED);
    expect(got.advantages).toBeAllClose([1, -1], { rtol: 1e-14 });
    expect(got.rewardMean).toBeAllClose([0.8], { rtol: 1e-15 });
    expect(got.rewardStd).toBeAllClose([0.1], { rtol: 1e-14 });
    expect(got.ratios).toBeAllClose([2.11700002, 2.71828183], PRINTED);
    expect(got.clippedRatios).toBeAllClose([1.2, 1.2], {});
    expect(got.perSequence).toBeAllClose([1.2, -2.71828183], PRINTED);
    expect(got.gradLogProbs).toBeAllClose(
      [
        [0, 0],
        [-Math.E / 4, -Math.E / 4],
      ],
      { rtol: 1e-14 },
    );
    expect([...got.clipped]).toEqual([1, 0]);
    expect(got).toMatchObject({ clipFraction: 0.5 });
    expect(got.meanRatio).toBeAllClose(2.41764092, PRINTED);
    expect(got.maxRatio).toBeAllClose(2.71828183, PRINTED);
  });

  test("equal policies have an objective of exactly 0, and a gradient", () => {
    const half = () => [f64(0.5, 0.5), f64(0.5, 0.5)];
    const got = sequencePolicyObjective(half(), half(), f64(1, -1), { groups: "all", clip: 0.2, backend });
    expect(got.objective).toBe(0);
    expect(got.gradLogProbs).toEqual([f64(0.25, 0.25), f64(-0.25, -0.25)]);
  });

  test("three sequences with the same ratio above the bound: the positive one alone is clipped", () => {
    const current = [f64(-0.5, -0.3), f64(-0.2, -0.4), f64(-0.1, -0.6)];
    const old = [f64(-0.6, -0.4), f64(-0.3, -0.5), f64(-0.2, -0.7)];
    const got = sequencePolicyObjective(current, old, f64(0.8, 0.5, 0.3), { groups: "all", clip: 0.1, backend });
    expect(got.objective).toBeAllClose(-0.00223689, PRINTED);
    expect(got.perSequence).toBeAllClose([1.42754851, -0.1792824, -1.25497678], PRINTED);
    expect([...got.clipped]).toEqual([1, 0, 0]);
  });

  test.each([
    ["one group", undefined],
    ["three groups", [4, 9, 4, 9, 9, 2]],
  ] as const)("equals its definition: %s", (_, groups) => {
    const { current, old, rewards } = ragged(1);
    const clip = { clipLow: 0.1, clipHigh: 0.15 };
    const got = sequencePolicyObjective(current, old, rewards, { ...clip, groups: groups ?? "all", backend });
    const advantages = advantagesOracle(rewards, groups ?? LENGTHS.map(() => 0));
    const want = clippedObjectiveOracle(
      {
        current: flat(current),
        old: flat(old),
        rows: LENGTHS.map((length, b) => Array.from({ length }, (_, t) => OFFSETS[b]! + t)),
        advantage: (b) => advantages[b]!,
      },
      { level: "sequence", ...clip, weights: LENGTHS.map(() => 1 / LENGTHS.length) },
    );
    // Float64 sums of up to 300 numbers in another order.
    const tolerance = { atol: 1e-13, rtol: 1e-12 };
    expect(got.advantages).toBeAllClose(advantages, tolerance);
    expect(got.ratios).toBeAllClose(
      want.units.map((unit) => unit.ratio),
      tolerance,
    );
    expect(got.clippedRatios).toBeAllClose(
      want.units.map((unit) => unit.clippedRatio),
      tolerance,
    );
    expect(got.perSequence).toBeAllClose(
      want.terms.map((term) => term.value),
      tolerance,
    );
    expect(got.objective).toBeAllClose(want.objective, tolerance);
    expect(flat(got.gradLogProbs as Float64Array[])).toBeAllClose(want.gradLogProbs, tolerance);
    expect([got.clipFraction, got.meanRatio, got.maxRatio]).toBeAllClose(
      [want.clipFraction, want.meanRatio, want.maxRatio],
      tolerance,
    );
    expect(got.rewardMean).toHaveLength(groups ? 3 : 1);
  });

  // Kinks at the bounds only, at least 0.02 away from every ratio here; the step is 1e-5, its error of order 1e-10.
  test("the gradient is the finite difference of the objective, with constant advantages", () => {
    const shifts = [-0.4, -0.1, 0.05, 0.12, 0.4, 0.6];
    const old = shifts.map((_, b) => f64(-1, -2 - b));
    const current = old.map((row, b) => row.map((x, t) => x + shifts[b]! + (t === 0 ? 0.02 : -0.02)));
    const rewards = f64(1, -2, 0.5, 0, -1, 3);
    const got = sequencePolicyObjective(current, old, rewards, { groups: "all", clip: 0.2, backend });
    const advantages = got.advantages;
    const batch = {
      current: flat(current),
      old: flat(old),
      rows: shifts.map((_, b) => [2 * b, 2 * b + 1]),
      advantage: (b: number) => advantages[b]!,
    };
    const options = { level: "sequence", clipLow: 0.2, clipHigh: 0.2, weights: shifts.map(() => 1 / 6) } as const;
    const want = Array.from(batch.current, (_, i) => numericalGradient(batch, options, i, 1e-5));
    expect(flat(got.gradLogProbs as Float64Array[])).toBeAllClose(want, { atol: 1e-9 });
  });

  test("padded, packed and one array per sequence give the same bits", () => {
    const { current, old, rewards } = ragged(2);
    const options = { groups: "all", clip: 0.1, backend } as const;
    const lists = sequencePolicyObjective(current, old, rewards, options);
    const packed = sequencePolicyObjective(flat(current), flat(old), rewards, { ...options, offsets: OFFSETS });
    const T = 320;
    const pad = (rows: readonly Float64Array[]) => {
      const out = new Float64Array(rows.length * T).fill(NaN);
      rows.forEach((row, b) => out.set(row, b * T));
      return out;
    };
    const mask = Uint8Array.from({ length: LENGTHS.length * T }, (_, i) =>
      i % T < LENGTHS[Math.floor(i / T)]! ? 1 : 0,
    );
    const padded = sequencePolicyObjective(pad(current), pad(old), rewards, {
      ...options,
      shape: [LENGTHS.length, T],
      mask,
    });
    expect({ ...packed, gradLogProbs: null }).toEqual({ ...lists, gradLogProbs: null });
    expect({ ...padded, gradLogProbs: null }).toEqual({ ...lists, gradLogProbs: null });
    expect(packed.gradLogProbs).toEqual(flat(lists.gradLogProbs as Float64Array[]));
    LENGTHS.forEach((length, b) => {
      expect(padded.gradLogProbs.slice(b * T, b * T + length)).toEqual(Float64Array.from(lists.gradLogProbs[b]!));
      expect(padded.gradLogProbs.subarray(b * T + length, (b + 1) * T).every((g) => g === 0)).toBe(true);
    });
  });

  test("it is groupNormalize and clippedObjective, one after the other", () => {
    const { current, old, rewards } = ragged(3);
    const groups = ["a", "b", "a", "b", "a", "b"];
    const got = sequencePolicyObjective(flat(current), flat(old), rewards, {
      clip: 0.2,
      epsilon: 1e-4,
      offsets: OFFSETS,
      groups,
      backend,
    });
    const { normalized } = groupNormalize(rewards, { groups, ddof: 0, epsilon: 1e-4, backend });
    const clipped = clippedObjective(flat(current), flat(old), normalized, {
      level: "sequence",
      clipLow: 0.2,
      clipHigh: 0.2,
      offsets: OFFSETS,
      backend,
    });
    expect(got.advantages).toEqual(normalized);
    expect(got.objective).toBe(clipped.objective);
    expect(got.gradLogProbs).toEqual(clipped.gradLogProbs);
  });

  test("rewards count up to scale and shift", () => {
    // Multiples of 1/8, scaled by a power of two: exact, so the bits must agree.
    const { current, old } = ragged(4);
    const rewards = f64(0.125, 1, -0.5, 0.25, 0.75, -1);
    const plain = sequencePolicyObjective(current, old, rewards, { groups: "all", clip: 0.2, backend });
    const moved = sequencePolicyObjective(
      current,
      old,
      rewards.map((x) => 4 * x + 16),
      { groups: "all", clip: 0.2, backend },
    );
    // The mean of the shifted rewards rounds differently: 16 against numbers of order 1.
    expect(moved.objective).toBeAllClose(plain.objective, { atol: 1e-14 });
    const scaled = sequencePolicyObjective(
      current,
      old,
      rewards.map((x) => 4 * x),
      { groups: "all", clip: 0.2, backend },
    );
    expect(scaled.objective).toBe(plain.objective);
  });

  test.each([
    ["equal rewards whose mean rounds", f64(0.1, 0.1, 0.1)],
    ["zero rewards", f64(0, 0, 0)],
  ])("%s give exact zeros, even where a ratio overflows", (_, rewards) => {
    const got = sequencePolicyObjective([f64(800), f64(0.3, 0.1), f64(-800)], [f64(0), f64(0, 0), f64(0)], rewards, {
      groups: "all",
      clip: 0.2,
      backend,
    });
    expect([...got.advantages, ...got.perSequence, got.objective, got.rewardStd[0]]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(got.gradLogProbs).toEqual([f64(0), f64(0, 0), f64(0)]);
    expect(got.ratios[0]).toBe(Infinity);
  });

  test("a single sequence has nothing to compare with: advantage and objective 0", () => {
    const got = sequencePolicyObjective([f64(-1, -2)], [f64(-1.5, -2)], f64(0.7), {
      groups: "all",
      clip: 0.2,
      backend,
    });
    expect([got.objective, got.advantages[0], got.rewardStd[0]]).toEqual([0, 0, 0]);
    expect(got.rewardMean[0]).toBe(0.7);
  });

  test("a ratio that overflows is clipped upwards and infinite downwards, unless maxLogRatio holds it", () => {
    const overflow = (options: Pick<SequencePolicyOptions, "maxLogRatio" | "emptySequence">) =>
      sequencePolicyObjective([f64(800), f64(800)], [f64(0), f64(0)], f64(1, 0), {
        groups: "all",
        clip: 0.2,
        ...options,
        backend,
      });
    expect([...overflow({}).perSequence]).toEqual([1.2, -Infinity]);
    expect(overflow({}).objective).toBe(-Infinity);
    const held = overflow({ maxLogRatio: 1 });
    expect(held.perSequence).toBeAllClose([1.2, -Math.E], { rtol: 1e-15 });
    expect(held.gradLogProbs).toEqual([f64(0), f64(0)]);
  });

  test("NaN stays in its sequence and reaches the objective", () => {
    const got = sequencePolicyObjective([f64(-1), f64(NaN), f64(-1)], [f64(-1), f64(-1), f64(-1)], f64(1, 0, -0.5), {
      groups: "all",
      clip: 0.2,
      backend,
    });
    expect(got.objective).toBeNaN();
    expect([...got.perSequence].map(Number.isNaN)).toEqual([false, true, false]);
    expect(got.gradLogProbs.map((row) => Number.isNaN(row[0]))).toEqual([false, true, false]);
  });

  test("an empty sequence is refused, or skipped with ratio 1 and its advantage", () => {
    const call = (options: Pick<SequencePolicyOptions, "maxLogRatio" | "emptySequence">) =>
      sequencePolicyObjective([f64(), f64(0.5)], [f64(), f64(0)], f64(3, 1), {
        groups: "all",
        clip: 0.2,
        ...options,
        backend,
      });
    expect(() => call({})).toThrow(
      expect.objectContaining({
        code: "ERR_SURPRISAL_SHAPE",
        message: expect.stringContaining("sequence 0 has no token") as string,
      }) as Error,
    );
    const got = call({ emptySequence: "skip" });
    expect(got.perSequence).toBeAllClose([1, -Math.exp(0.5)], { rtol: 1e-15 });
    expect(got.ratios[0]).toBe(1);
    expect(got.gradLogProbs[0]).toHaveLength(0);

    const masked = (options: Pick<SequencePolicyOptions, "maxLogRatio" | "emptySequence">) =>
      sequencePolicyObjective(f64(NaN, NaN, 0, 0), f64(0, 0, 0, 0), f64(3, 1), {
        groups: "all",
        clip: 0.2,
        shape: [2, 2],
        mask: Uint8Array.of(0, 0, 1, 0),
        ...options,
        backend,
      });
    expect(() => masked({})).toThrow("sequence 0 has no token");
    expect([...masked({ emptySequence: "skip" }).perSequence]).toEqual([1, -1]);
  });

  test("no sequences have objective 0", () => {
    const got = sequencePolicyObjective([], [], f64(), { groups: "all", clip: 0.2, backend });
    expect(got).toMatchObject({ objective: 0, gradLogProbs: [], clipFraction: 0 });
    expect(got.rewardMean).toHaveLength(0);
  });

  test("float32 log-probs and rewards answer in float32, a float64 reward widens all", () => {
    const rows = () => [Float32Array.of(0, 0), Float32Array.of(0)];
    const narrow = sequencePolicyObjective(rows(), rows(), Float32Array.of(1, 0), {
      groups: "all",
      clip: 3e-4,
      backend,
    });
    expect(narrow.gradLogProbs[0]).toBeInstanceOf(Float32Array);
    const wide = sequencePolicyObjective(rows(), rows(), f64(1, 0), { groups: "all", clip: 3e-4, backend });
    expect(wide.gradLogProbs[0]).toBeInstanceOf(Float64Array);
    expect(wide.perSequence).toBeInstanceOf(Float64Array);
  });

  describe("refuses", () => {
    const rows: FloatArray[] = [f64(-1, -2), f64(-3)];
    const flatRows = f64(-1, -2, -3);
    const rewards = f64(1, 0);
    const OPTION = "ERR_SURPRISAL_OPTION";
    const SHAPE = "ERR_SURPRISAL_SHAPE";
    const call =
      (options: object, old: unknown = rows, reward: unknown = rewards, current: unknown = rows) =>
      () =>
        sequencePolicyObjective(current as FloatArray[], old as FloatArray[], reward as FloatArray, {
          groups: "all",
          clip: 0.2,
          ...options,
          backend,
        });
    const detached = f64(-3);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });

    test.each([
      ["a negative clip", call({ clip: -0.1 }), OPTION, "clip is -0.1"],
      ["NaN as clip", call({ clip: NaN }), OPTION, "clip is NaN"],
      ["no clip at all", call({ clip: undefined }), OPTION, "clipLow"],
      ["one clip width alone", call({ clip: undefined, clipLow: 0.1 }), OPTION, "clipHigh"],
      ["a negative clip width", call({ clip: undefined, clipLow: -1, clipHigh: 0.1 }), OPTION, "clipLow is -1"],
      ["the shorthand beside a width", call({ clipHigh: 0.3 }), OPTION, "clip is 0.2"],
      ["a negative epsilon", call({ epsilon: -1e-6 }), OPTION, "epsilon"],
      ["NaN as maxLogRatio", call({ maxLogRatio: NaN }), OPTION, "maxLogRatio"],
      ["an unknown emptySequence", call({ emptySequence: "drop" }), OPTION, '"skip"'],
      ["a shape for arrays per sequence", call({ shape: [2, 2] }), OPTION, "shape"],
      ["a mask for arrays per sequence", call({ mask: new Uint8Array(3) }), OPTION, "mask"],
      ["flat log-probs without a layout", call({}, flatRows, rewards, flatRows), OPTION, "shape"],
      ["fewer old sequences", call({}, [rows[0]]), SHAPE, "oldLogProbs has 1 sequences"],
      ["sequences of different lengths", call({}, [f64(-1), f64(-3)]), SHAPE, "oldLogProbs[0] has 1"],
      ["fewer rewards", call({}, rows, f64(1)), SHAPE, "rewards has 1"],
      ["rewards that are no float array", call({}, rows, Int32Array.of(1, 0)), "ERR_SURPRISAL_DTYPE", "rewards"],
      ["a sequence of plain numbers", call({}, [f64(-1, -2), [-3]]), "ERR_SURPRISAL_DTYPE", "oldLogProbs[1]"],
      ["a flat old beside current as a list", call({}, flatRows), "ERR_SURPRISAL_DTYPE", "oldLogProbs"],
      ["a detached sequence", call({}, rows, rewards, [f64(-1, -2), detached]), "ERR_SURPRISAL_BUFFER", "logProbs[1]"],
      [
        "offsets that go down",
        call({ offsets: Int32Array.of(0, 2, 1) }, flatRows, rewards, flatRows),
        "ERR_SURPRISAL_RANGE",
        "offsets[2]",
      ],
      [
        "offsets past the end",
        call({ offsets: Int32Array.of(0, 2, 4) }, flatRows, rewards, flatRows),
        SHAPE,
        "logProbs has 3",
      ],
      ["too few group labels", call({ groups: [1] }), SHAPE, "groups"],
    ] as const)("%s", (_, run, code, text) => {
      let error: unknown;
      try {
        run();
      } catch (caught) {
        error = caught;
      }
      expect(error).toBeInstanceOf(SurprisalError);
      expect((error as SurprisalError).code).toBe(code);
      expect((error as SurprisalError).message).toContain(text);
    });

    test("but not a clip of 1 and more", () => {
      const got = sequencePolicyObjective([f64(-60), f64(0)], [f64(0), f64(0)], f64(0, 1), {
        groups: "all",
        clip: 1,
        backend,
      });
      expect([...got.clipped]).toEqual([0, 0]);
    });
  });
});
