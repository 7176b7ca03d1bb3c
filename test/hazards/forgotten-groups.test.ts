// Groups have no default: over the rows of several prompts numbers of one group would look right and be wrong.
import * as surprisal from "../../lib";
import * as reward from "../../lib/reward";

const x = Float64Array.of(1, 2, 3, 4);
const rows = { shape: [2, 2] } as const;

/** What takes groups, without them; `given` are groups or nothing. */
const CALLS: Readonly<Record<string, (given: { readonly groups?: "all" }) => unknown>> = {
  groupNormalize: (given) => surprisal.groupNormalize(x, given as never),
  groupSoftmax: (given) => surprisal.groupSoftmax(x, given as never),
  groupLogSumExp: (given) => surprisal.groupLogSumExp(x, given as never),
  groupTilt: (given) => surprisal.groupTilt(x, given as never),
  groupEntropy: (given) => surprisal.groupEntropy(x, given as never),
  groupTop2: (given) => surprisal.groupTop2(x, given as never),
  groupWeigh: (given) => surprisal.groupWeigh(x, { form: "power", power: 1 }, given as never),
  groupColumns: (given) => surprisal.groupColumns(x, x, { ...rows, ...given } as never),
  sequenceWeights: (given) => surprisal.sequenceWeights(x, { ...rows, ...given } as never),
  logRatio: (given) => surprisal.logRatio(x, x, { ...rows, level: "group", ...given }),
  moments: (given) => surprisal.moments(x, { over: "group", ...given }),
  clipFilterWeights: (given) => surprisal.clipFilterWeights(x, given as never),
  groupFilter: (given) => surprisal.groupFilter(x, given as never),
  shapeGroupRewards: (given) => surprisal.shapeGroupRewards(x, { estimator: "rloo", ...given } as never),
  normalizeLevels: (given) => surprisal.normalizeLevels(x, given as never),
  groupPassAtK: (given) => surprisal.groupPassAtK(Uint8Array.of(1, 0), { k: 1, ...given } as never),
  validationMetrics: (given) => surprisal.validationMetrics(x, given as never),
  sequencePolicyObjective: (given) =>
    surprisal.sequencePolicyObjective(x, x, Float64Array.of(0, 1), { ...rows, clip: 0.2, ...given } as never),
  listwisePolicyLoss: (given) => surprisal.listwisePolicyLoss(x, Float64Array.of(0, 1), { ...rows, ...given } as never),
  rewardDistribution: (given) => surprisal.rewardDistribution(x, given as never),
  listwiseWeights: (given) => surprisal.listwiseWeights(x, { temperature: 1, ...given } as never),
  uniformListwiseWeights: (given) => surprisal.uniformListwiseWeights({ count: 4, ...given } as never),
  weightStatistics: (given) => surprisal.weightStatistics(x, given as never),
  weightEntropies: (given) => surprisal.weightEntropies(x, given as never),
  rewardStatistics: (given) => surprisal.rewardStatistics({ rewards: [x], ...given } as never),
  semanticEntropyScales: (given) =>
    surprisal.semanticEntropyScales({ logProbSums: x, clusters: [1, 1, 2, 2] }, {
      lengthNormalize: false,
      ...given,
    } as never),
  lengthSharePenalty: (given) => reward.lengthSharePenalty(x, { lengths: [], ...given } as never),
  ...Object.fromEntries(
    (["rloo", "reinforcePlusPlusBaseline", "grpo"] as const).map((estimator) => [
      `advantagePipeline, ${estimator}`,
      (given: object) => surprisal.advantagePipeline([{ shape: [4, 1], rewards: x }], { estimator, ...given }),
    ]),
  ),
};

test.each(Object.entries(CALLS))("%s refuses a call without groups, and takes one group by its name", (_, call) => {
  expect(() => call({})).toThrow(
    expect.objectContaining({
      code: expect.stringMatching(/^ERR_SURPRISAL_OPTION$/) as string,
      message: expect.stringMatching(/groups/) as string,
    }),
  );
  expect(() => call({ groups: "all" })).not.toThrow();
});

test("groups are required by type", () => {
  const untyped = () => {
    // @ts-expect-error no groups
    surprisal.groupNormalize(x, {});
    // @ts-expect-error no groups
    surprisal.groupPassAtK(Uint8Array.of(1), { k: 1 });
    // @ts-expect-error no groups
    surprisal.sequencePolicyObjective(x, x, x, { ...rows, clip: 0.2 });
  };
  expect(untyped).toThrow("groups");
});

test("a pipeline takes rewards that are shaped already, and needs no groups where nothing is compared", () => {
  const batches = [{ shape: [4, 1] as const, rewards: x }];
  const own = surprisal.advantagePipeline(batches, { estimator: "grpo", shapeGroups: false });
  expect(own.batches[0]!.shapedRewards).toEqual(x);
  expect(() => surprisal.advantagePipeline(batches, { estimator: "reinforcePlusPlus" })).not.toThrow();
  expect(() => surprisal.advantagePipeline(batches, { estimator: "grpo", shapeGroups: false, groups: "all" })).toThrow(
    "shapeGroups",
  );
});
