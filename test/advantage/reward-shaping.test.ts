import { clipFilterWeights, clipFraction, cpgdAdvantage, type PipelineEstimator, shapeGroupRewards } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";

eachBackend((backend) => {
  test("each estimator shapes the rewards of a group in its way", () => {
    const rewards = Float64Array.of(1, 3, 8);
    const run = (estimator: PipelineEstimator, groupScale?: "none") =>
      shapeGroupRewards(rewards, { estimator, groupScale, groups: "all", epsilon: 0, backend }).rewards;
    expect(Array.from(run("gae"))).toEqual([1, 3, 8]);
    expect(Array.from(run("cpgd"))).toEqual([1, 3, 8]);
    expect(Array.from(run("rloo"))).toEqual([-4.5, -1.5, 6]);
    expect(Array.from(run("grpo", "none"))).toEqual([-3, -1, 4]);
    expect(run("reinforcePlusPlusBaseline")).toEqual(run("grpo", "none"));
    expect(run("grpo")).toBeAllClose(
      [-3, -1, 4].map((x) => x / Math.sqrt(13)),
      { rtol: 1e-15, atol: 0 },
    );
  });

  test("groups that teach nothing are named, and their rows leave the mask", () => {
    const rewards = Float32Array.of(1, 0.5, 1, 0.5, 0, 1);
    const options = { estimator: "grpo", groups: ["a", "b", "a", "b", "c", "c"], shape: [6, 2], backend } as const;
    const constant = shapeGroupRewards(rewards, options);
    expect(Array.from(constant.keptGroups)).toEqual([0, 0, 1]);
    expect(Array.from(constant.mask)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    const zeroOrOne = shapeGroupRewards(rewards, {
      ...options,
      dropGroups: "zeroOrOne",
      mask: Uint8Array.of(1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1),
    });
    expect(Array.from(zeroOrOne.keptGroups)).toEqual([0, 1, 1]);
    expect(Array.from(zeroOrOne.mask)).toEqual([0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1]);
  });

  test("equal rewards whose mean is not exact still count as equal", () => {
    const rewards = new Float32Array(16).fill(0.97);
    expect(
      Array.from(shapeGroupRewards(rewards, { estimator: "grpo", groups: "all", backend }).rewards).every(
        (x) => x === 0,
      ),
    ).toBe(true);
    expect(Array.from(clipFilterWeights(rewards, { groups: "all", backend }).degenerate)).toEqual([1]);
  });

  test("groups with unequal rewards make up for the others, up to the clip", () => {
    const rewards = Float64Array.of(0, 1, 1, 1, 0, 0, 5, 5);
    const groups = [0, 0, 1, 1, 2, 2, 3, 3];
    const { weights, degenerate } = clipFilterWeights(rewards, { groups, degenerateWeight: 0.5, backend });
    expect(Array.from(degenerate)).toEqual([0, 1, 1, 1]);
    expect(Array.from(weights)).toEqual([3, 3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
    expect(Array.from(clipFilterWeights(rewards, { groups, clip: Infinity, backend }).weights.subarray(0, 2))).toEqual([
      4, 4,
    ]);
    expect(
      Array.from(clipFilterWeights(Float64Array.of(2, 2), { groups: "all", degenerateWeight: 0, backend }).weights),
    ).toEqual([1, 1]);
    expect(clipFilterWeights(new Float64Array(0), { groups: "all", backend }).weights).toHaveLength(0);
  });

  test("CPGD compares a row with the whole batch", () => {
    const where = { shape: [3, 2], mask: Uint8Array.of(1, 1, 1, 0, 0, 1) } as const;
    const batch = { ...where, rewards: Float64Array.of(1, 3, 8) };
    const centred = cpgdAdvantage(batch, { weighting: "none", backend });
    expect(Array.from(centred.advantages)).toEqual([-3, -3, -1, 0, 0, 4]);
    const filtered = cpgdAdvantage(batch, { weighting: "clipFilter", clip: 2, backend });
    expect(Array.from(filtered.rowAdvantages)).toEqual([-6, -2, 8]);
    const std = Math.sqrt(26 / 3);
    const divided = cpgdAdvantage(batch, { epsilon: 0, backend });
    expect(divided.rowAdvantages).toBeAllClose([-3 / std, -1 / std, 4 / std], { rtol: 1e-15, atol: 0 });
    const perToken = { ...where, tokenRewards: Float64Array.of(1, 0, 1, 2, 4, 4) };
    expect(cpgdAdvantage(perToken, { epsilon: 0, backend })).toEqual(divided);
  });
});

test("the clip fraction counts strictly, and kept values only", () => {
  const values = Float64Array.of(-2, -1, 0, 1, 2, NaN);
  expect(clipFraction(values, { low: -1, high: 1 })).toBe(2 / 6);
  expect(clipFraction(values, { high: 1, mask: Uint8Array.of(0, 0, 0, 1, 1, 0) })).toBe(0.5);
  expect(clipFraction(values, { mask: new Uint8Array(6), high: 0 })).toBe(0);
});

test("bad input is refused by name", () => {
  const rewards = Float64Array.of(1, 2);
  const shape = (options: object) =>
    errorCode(() => shapeGroupRewards(rewards, { estimator: "rloo", groups: "all", ...options }));
  expect(shape({ estimator: "gspo" })).toBe("ERR_SURPRISAL_OPTION");
  expect(shape({ epsilon: -1 })).toBe("ERR_SURPRISAL_OPTION");
  expect(shape({ dropGroups: "all" })).toBe("ERR_SURPRISAL_OPTION");
  expect(shape({ mask: Uint8Array.of(1, 1) })).toBe("ERR_SURPRISAL_OPTION");
  expect(shape({ shape: [3, 1] })).toBe("ERR_SURPRISAL_SHAPE");
  expect(shape({ shape: [2, 1], mask: Uint8Array.of(1) })).toBe("ERR_SURPRISAL_SHAPE");
  expect(errorCode(() => clipFilterWeights(rewards, { groups: "all", clip: 0 }))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => clipFilterWeights(rewards, { groups: "all", degenerateWeight: NaN }))).toBe(
    "ERR_SURPRISAL_OPTION",
  );
  expect(errorCode(() => cpgdAdvantage({ rewards, shape: [3, 1] }))).toBe("ERR_SURPRISAL_SHAPE");
  expect(errorCode(() => cpgdAdvantage({ rewards, shape: [2, 1] }, { weighting: "STD_weight" as "std" }))).toBe(
    "ERR_SURPRISAL_OPTION",
  );
  expect(errorCode(() => clipFraction(rewards, { low: NaN }))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => clipFraction(Int32Array.of(1) as unknown as Float64Array, {}))).toBe("ERR_SURPRISAL_DTYPE");
});
