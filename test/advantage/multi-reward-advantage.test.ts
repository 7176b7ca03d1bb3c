import { multiRewardAdvantage, rlooWithKlAdvantage, optimalValueAdvantage } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";

eachBackend((backend) => {
  test("two reward functions, one of which abstains, by hand", () => {
    const rewards = [Float64Array.of(1, 2, NaN, NaN), Float64Array.of(0, NaN, 3, NaN)];
    const got = multiRewardAdvantage({ rewards, groups: "all" }, { weights: [1, 2], epsilon: 0, backend });
    expect(Array.from(got.rewards)).toEqual([1, 2, 6, NaN]);
    const std = Math.sqrt(7); // of 1, 2, 6 about 3
    expect(got.advantages).toBeAllClose([-2 / std, -1 / std, 3 / std, 0], { rtol: 1e-15, atol: 1e-15 });
    expect(got.stds).toBeAllClose([std, std, std, std], { rtol: 1e-15, atol: 0 });
    expect(got.metrics).toBeAllClose({ reward: 3, reward_std: std, frac_reward_zero_std: 0 }, { rtol: 1e-15, atol: 0 });
  });

  test("the scale is the group's std, the batch's, or none", () => {
    const rewards = Float64Array.of(0, 2, 0, 8);
    const run = (scale: "group" | "batch" | "none") => {
      const { advantages, stds } = multiRewardAdvantage(
        { rewards, groups: [0, 0, 1, 1] },
        { scale, epsilon: 0, backend },
      );
      return { advantages: Array.from(advantages), stds: Array.from(stds) };
    };
    const batch = Math.sqrt((2.5 ** 2 + 0.5 ** 2 + 2.5 ** 2 + 5.5 ** 2) / 3);
    expect(run("none").advantages).toEqual([-1, 1, -4, 4]);
    expect(run("group").advantages).toBeAllClose(
      [-1, 1, -1, 1].map((x) => x / Math.SQRT2),
      { rtol: 1e-15, atol: 0 },
    );
    expect(run("batch")).toBeAllClose(
      { advantages: [-1, 1, -4, 4].map((x) => x / batch), stds: [batch, batch, batch, batch] },
      { rtol: 1e-15, atol: 0 },
    );
  });

  test("normalised first, a function with a wide range does not outweigh the others", () => {
    const options = { aggregation: "normalizeThenSum", epsilon: 0, backend } as const;
    const small = Float64Array.of(0, 1, 0, 1);
    const wide = Float64Array.of(1000, 0, 0, 1000);
    const { advantages } = multiRewardAdvantage({ rewards: [small, wide], groups: "all" }, options);
    expect(advantages).toBeAllClose([0, 0, -Math.sqrt(1.5), Math.sqrt(1.5)], { rtol: 1e-14, atol: 1e-14 });
  });

  test("float32 rewards give float32 results, and no rows give none", () => {
    expect(
      multiRewardAdvantage({ rewards: Float32Array.of(1, 2), groups: "all" }, { backend }).advantages,
    ).toBeInstanceOf(Float32Array);
    expect(multiRewardAdvantage({ rewards: new Float32Array(0), groups: "all" }, { backend }).advantages).toHaveLength(
      0,
    );
  });

  test("leave one out of penalised rewards, by hand", () => {
    const batch = {
      groups: "all" as const,
      rewards: Float64Array.of(1, 5, 3),
      oldLogProbs: Float64Array.of(-1, -1, -2, -2, -3, NaN),
      referenceLogProbs: Float64Array.of(-1, -3, -2, -1, -5, NaN),
      mask: Uint8Array.of(1, 1, 1, 1, 1, 0),
      shape: [3, 2],
    } as const;
    const got = rlooWithKlAdvantage(batch, { rewardClip: [0, 4], beta: 0.5, backend });
    expect(Array.from(got.kls)).toEqual([2, -1, 2]);
    expect(Array.from(got.rewards)).toEqual([0, 4.5, 2]);
    expect(Array.from(got.rowAdvantages)).toEqual([-3.25, 3.5, -0.25]);
    expect(Array.from(got.advantages)).toEqual([-3.25, -3.25, 3.5, 3.5, -0.25, 0]);
  });

  test("a row without siblings that have a reward gets 0, and stays out of the normalisation", () => {
    const rewards = Float64Array.of(1, 3, 7, NaN);
    const batch = { rewards, groups: [0, 0, 1, 1] };
    const got = rlooWithKlAdvantage(batch, { normalize: true, epsilon: 0, backend });
    expect(got.advantages).toBeAllClose([-Math.SQRT1_2, Math.SQRT1_2, 0, 0], {
      rtol: 1e-15,
      atol: 0,
    });
  });

  test("the optimal value lies between mean and maximum, and beta moves it", () => {
    const rewards = Float64Array.of(0, 1, 0.5, 0.5);
    const value = (beta: number) => optimalValueAdvantage({ rewards, groups: "all" }, { beta, backend }).values[0]!;
    expect(value(1e6)).toBeAllClose(0.5, { rtol: 1e-6, atol: 0 });
    expect(value(1e-3)).toBeAllClose(1 - 1e-3 * Math.log(4), { rtol: 1e-12, atol: 0 });
    const direct = Math.log((1 + Math.E + 2 * Math.exp(0.5)) / 4);
    expect(value(1)).toBeAllClose(direct, { rtol: 1e-14, atol: 0 });
    expect(optimalValueAdvantage({ rewards, groups: "all" }, { beta: 1, backend }).advantages).toBeAllClose(
      Array.from(rewards, (r) => r - direct),
      { rtol: 1e-13, atol: 1e-14 },
    );
  });
});

test("bad input is refused by name", () => {
  const rewards = Float64Array.of(1, 2);
  const ofBatch = ["groups", "shape", "oldLogProbs", "referenceLogProbs"];
  const some = (given: object, inBatch: boolean) =>
    Object.fromEntries(Object.entries(given).filter(([name]) => ofBatch.includes(name) === inBatch));
  const codes = (call: (batch: object, options: object) => unknown, ...given: readonly object[]) =>
    given.map((one) => errorCode(() => call(some(one, true), some(one, false))));
  expect(
    codes(
      (batch, options) => multiRewardAdvantage({ rewards, groups: "all", ...batch }, options),
      { weights: [1, 2] },
      { weights: [NaN] },
      { epsilon: -1 },
      { scale: "std" },
      { aggregation: "sum" },
      { preset: "verl" },
      { groups: [1] },
    ),
  ).toEqual([
    "ERR_SURPRISAL_SHAPE",
    "ERR_SURPRISAL_OPTION",
    "ERR_SURPRISAL_OPTION",
    "ERR_SURPRISAL_OPTION",
    "ERR_SURPRISAL_OPTION",
    "ERR_SURPRISAL_OPTION",
    "ERR_SURPRISAL_SHAPE",
  ]);
  expect(errorCode(() => multiRewardAdvantage({ rewards: [] }))).toBe("ERR_SURPRISAL_SHAPE");
  expect(errorCode(() => multiRewardAdvantage({ rewards: [rewards, Float64Array.of(1)] }))).toBe("ERR_SURPRISAL_SHAPE");
  expect(errorCode(() => multiRewardAdvantage({ rewards: Int32Array.of(1, 2) as unknown as Float64Array }))).toBe(
    "ERR_SURPRISAL_DTYPE",
  );
  const logs = { oldLogProbs: rewards, referenceLogProbs: rewards };
  expect(
    codes(
      (batch, options) => rlooWithKlAdvantage({ rewards, groups: "all", ...batch }, options),
      { beta: -1 },
      { beta: 1 },
      { beta: 1, shape: [2, 1] },
      { beta: 1, shape: [1, 2], ...logs },
      { rewardClip: [1] },
      { rewardClip: [NaN, 1] },
    ),
  ).toEqual([
    "ERR_SURPRISAL_OPTION",
    "ERR_SURPRISAL_DTYPE",
    "ERR_SURPRISAL_DTYPE",
    "ERR_SURPRISAL_SHAPE",
    "ERR_SURPRISAL_OPTION",
    "ERR_SURPRISAL_OPTION",
  ]);
  expect(
    codes(
      (_, o) => optimalValueAdvantage({ rewards, groups: "all" }, o as { beta: number }),
      { beta: 0 },
      {},
      { beta: NaN },
    ),
  ).toEqual(["ERR_SURPRISAL_OPTION", "ERR_SURPRISAL_OPTION", "ERR_SURPRISAL_OPTION"]);
});
