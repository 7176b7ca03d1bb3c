import fc from "fast-check";
import { computeAdvantages, grpoAdvantage } from "../../lib";
import { attachResults, type Rollout, toBatch, toRewardTable } from "../../lib/io";
import { errorCode } from "../support/error-code";

const rollouts: Rollout[] = [
  {
    group: "a",
    tokenIds: Int32Array.of(1, 2, 3),
    samplerLogProbs: Float64Array.of(-1, -2, -3),
    reward: 1,
    mask: Uint8Array.of(1, 0, 1),
  },
  { group: "b", tokenIds: Int32Array.of(4), samplerLogProbs: Float64Array.of(-4), reward: 5 },
  { group: "a", tokenIds: new Int32Array(0), samplerLogProbs: new Float64Array(0), rewards: { only: 0 } },
  {
    group: "a",
    step: 2,
    tokenIds: Int32Array.of(5, 6),
    samplerLogProbs: Float64Array.of(-5, -6),
    reward: 2,
    entropies: Float64Array.of(0.1, 0.2),
  },
];

test("packed: one after the other", () => {
  expect(toBatch(rollouts)).toEqual({
    offsets: Int32Array.of(0, 3, 4, 4, 6),
    tokens: Int32Array.of(1, 2, 3, 4, 5, 6),
    mask: Uint8Array.of(1, 0, 1, 1, 1, 1),
    lengths: Int32Array.of(3, 1, 0, 2),
    samplerLogProbs: Float64Array.of(-1, -2, -3, -4, -5, -6),
    rewards: Float64Array.of(1, 5, 0, 2),
    groups: Int32Array.of(0, 1, 0, 2),
    groupNames: ["a", "b", "a (step 2)"],
    partial: ["entropies"],
  });
});

test("padded: rows of the longest, the rest under the mask", () => {
  const batch = toBatch(rollouts, { layout: "padded", dtype: "float32", padId: 9 });
  expect(batch.shape).toEqual([4, 3]);
  expect(batch.tokens).toEqual(Int32Array.of(1, 2, 3, 4, 9, 9, 9, 9, 9, 5, 6, 9));
  expect(batch.mask).toEqual(Uint8Array.of(1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0));
  expect(batch.samplerLogProbs).toEqual(Float32Array.of(-1, -2, -3, -4, 0, 0, 0, 0, 0, -5, -6, 0));
  expect(batch.rewards).toEqual(Float32Array.of(1, 5, 0, 2));
});

test.each(["packed", "padded"] as const)(
  "a %s batch goes into an estimator as it is, and its results back on the rollouts",
  (layout) => {
    const batch = toBatch(rollouts, { layout });
    const { advantages, rowAdvantages } = computeAdvantages("grpo", batch, { backend: "js", scale: "none" });
    const attached = attachResults(rollouts, batch, { advantages, rowAdvantages });
    expect(attached.map(({ advantages: own }) => Array.from(own!))).toEqual([[0.5, 0, 0.5], [0], [], [0, 0]]);
    expect(attached.map(({ advantage }) => advantage)).toEqual([0.5, 0, -0.5, 0]);
    expect(attached[0]).toMatchObject(rollouts[0]!);
  },
);

test("packed and padded give the same advantages", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 2 }), fc.double({ min: -5, max: 5, noNaN: true })), {
        minLength: 1,
        maxLength: 8,
      }),
      (list) => {
        const some = list.map(([T, group, reward]): Rollout => ({ group, reward, tokenIds: new Int32Array(T) }));
        const results = (["packed", "padded"] as const).map((layout) => {
          const batch = toBatch(some, { layout });
          return attachResults(some, batch, {
            advantages: computeAdvantages("grpo", batch, { backend: "js" }).advantages,
          });
        });
        expect(results[0]).toEqual(results[1]);
      },
    ),
  );
});

test("rollouts without tokens have rewards and groups all the same", () => {
  const dump: Rollout[] = [
    { group: "a", text: "x", reward: 1 },
    { group: "a", text: "y", reward: 0 },
  ];
  const { rewards, groups, groupNames } = toRewardTable(dump);
  expect(Array.from(grpoAdvantage({ rewards, groups }, { scale: "none", backend: "js" }).advantages)).toEqual([
    0.5, -0.5,
  ]);
  expect(groupNames).toEqual(["a"]);
  expect(() => toBatch(dump)).toThrow(/toBatch: rollouts\[0\] has text and no tokens; text is never tokenised again/);
});

test("several rewards need weights; text and a number are two groups", () => {
  const two: Rollout[] = [
    { group: 1, rewards: { a: 1, b: 2 } },
    { group: "1", rewards: { a: 3, b: 4 } },
  ];
  expect(() => toRewardTable(two)).toThrow(
    /rollouts\[0\]\.reward is undefined, expected a number; rewardWeights says how/,
  );
  expect(toRewardTable(two, { rewardWeights: { a: 1, b: 0.5 } })).toMatchObject({
    rewards: Float64Array.of(2, 5),
    groups: Int32Array.of(0, 1),
  });
  expect(errorCode(() => toRewardTable(two, { rewardWeights: { c: 1 } }))).toBe("ERR_SURPRISAL_VALUE");
  expect(errorCode(() => toRewardTable([{ reward: 1 }]))).toBe("ERR_SURPRISAL_VALUE");
});

test("arrays of other lengths are refused by name", () => {
  const batch = toBatch(rollouts);
  expect(() => attachResults(rollouts, batch, { advantages: new Float64Array(5) })).toThrow(
    /results\.advantages has 5 elements, expected 6/,
  );
  expect(() => attachResults(rollouts.slice(1), batch, {})).toThrow(/batch has 4 rollouts, rollouts 3/);
  expect(errorCode(() => attachResults(rollouts, batch, { advantages: [1] as never }))).toBe("ERR_SURPRISAL_DTYPE");
  expect(errorCode(() => attachResults(rollouts, batch, { other: new Float64Array(6) } as object))).toBe(
    "ERR_SURPRISAL_OPTION",
  );
  expect(() => toBatch([{ group: 1, reward: 1, tokenIds: Int32Array.of(1, 2), values: Float64Array.of(1) }])).toThrow(
    /rollouts\[0\]\.values has 1 entries, expected 2/,
  );
  expect(errorCode(() => toBatch(rollouts, { layout: "ragged" } as object))).toBe("ERR_SURPRISAL_OPTION");
});
