import fc from "fast-check";
import {
  type ReportRollout,
  type ReportStep,
  reportTables,
  type StepSummary,
  summarize,
  type WarningCode,
} from "surprisal/report";
import { errorCode } from "../support/error-code";
import { type Given, rollout, step } from "./made";

const one = (...given: readonly Given[]): StepSummary => summarize([step("one", ...given)]).steps[0]!;
const codes = ({ warnings }: StepSummary): WarningCode[] => warnings.map(({ code }) => code);
const group = (label: string, ...rewards: readonly number[]): Given[] =>
  rewards.map((reward) => ({ group: label, reward, ids: [1] }));

describe("numbers of a step", () => {
  const summary = one(
    {
      group: "a",
      reward: 1,
      ids: [5, 6, 7],
      mask: [1, 0, 1],
      entropies: [0.5, NaN, 1.5],
      finishReason: "stop",
      clipped: [1, 1, 0],
    },
    { group: "a", reward: 0, ids: [5], entropies: [1], finishReason: "length", clipped: [0] },
    { group: 7, reward: 1, ids: [5, 6] },
  );

  test("rollouts, tokens and kept tokens are counted", () => {
    expect(summary).toMatchObject({ label: "one", rollouts: 3, tokens: 6, keptTokens: 5, spans: 0 });
  });

  test("rewards, lengths and entropies have mean, deviation and ends; the mask is respected", () => {
    expect(summary.distributions.reward).toMatchObject({ count: 3, mean: 2 / 3, min: 0, max: 1, median: 1 });
    expect(summary.distributions.reward!.std).toBeCloseTo(Math.sqrt(1 / 3), 14);
    expect(summary.distributions.length).toMatchObject({ count: 3, mean: 5 / 3, min: 1, max: 2 });
    expect(summary.distributions.entropy).toMatchObject({
      count: 3,
      mean: 1,
      std: 0.5,
      min: 0.5,
      max: 1.5,
      p5: 0.55,
      p95: 1.45,
    });
  });

  test("groups come by first appearance, with the rollouts they hold", () => {
    expect(summary.groups).toEqual([
      {
        group: "a",
        name: "a",
        rollouts: [0, 1],
        rewardMean: 0.5,
        rewardStd: Math.SQRT1_2,
        rewardMin: 0,
        rewardMax: 1,
        equalRewards: false,
        lengthMean: 1.5,
        entropyMean: 1,
        truncated: 0.5,
        clipped: 1 / 3,
      },
      expect.objectContaining({
        group: "7",
        rollouts: [2],
        rewardMean: 1,
        rewardStd: 0,
        equalRewards: false,
        entropyMean: null,
        truncated: null,
        clipped: null,
      }),
    ]);
  });

  test("what no rollout has is null", () => {
    expect(summary.distributions.advantage).toBeNull();
    expect(summary.distributions.ratio).toBeNull();
    expect(summary).toMatchObject({ samplerGap: null, referenceKl: null });
    expect(one({ group: 1, text: "words" })).toMatchObject({
      tokens: 0,
      truncated: null,
      distributions: { length: null, reward: null },
    });
  });

  test("the gap between sampler and trainer, and the divergence from the reference", () => {
    const { samplerGap, referenceKl } = one({
      ids: [1, 2, 3],
      mask: [1, 1, 0],
      samplerLogProbs: [-1, -2, -9],
      oldLogProbs: [-1.5, -1.75, 0],
      referenceLogProbs: [-2, -2, 0],
    });
    expect(samplerGap).toEqual({ tokens: 2, kl: 0.125, meanAbsolute: 0.375, maxAbsolute: 0.5 });
    expect(referenceKl).toBe(0.375);
  });

  test("recomputed log-probs go before old ones in the gap, and ratios are of new and old ones", () => {
    const given = rollout({ ids: [1], samplerLogProbs: [-1], oldLogProbs: [-1] });
    const summary = summarize([
      { label: "s", rollouts: [{ ...given, recomputedLogProbs: Float64Array.of(-2), logProbs: [-1 + Math.LN2] }] },
    ]).steps[0]!;
    expect(summary.samplerGap?.kl).toBe(1);
    expect(summary.distributions.ratio?.mean).toBeCloseTo(2, 14);
  });

  test("rewards of a group that are the same have deviation exactly 0", () => {
    expect(one(...group("a", 0.1, 0.1, 0.1)).groups[0]).toMatchObject({
      rewardMean: 0.1,
      rewardStd: 0,
      equalRewards: true,
    });
  });

  test("length and reward of three rollouts on a line correlate by 1", () => {
    const lengths = (sign: number): Given[] =>
      [1, 2, 3].map((length) => ({ ids: new Array<number>(length).fill(1), reward: sign * length }));
    expect(one(...lengths(1)).lengthRewardCorrelation).toBeCloseTo(1, 14);
    expect(one(...lengths(-1)).lengthRewardCorrelation).toBeCloseTo(-1, 14);
    expect(one(...group("a", 1, 2, 3)).lengthRewardCorrelation).toBeNull();
  });
});

describe("histograms", () => {
  test("have the same edges in every step, so that they can be compared", () => {
    const { steps } = summarize([step("first", ...group("a", 0, 1)), step("second", ...group("a", 0.5, 0.5))]);
    const [first, second] = steps.map(({ distributions }) => distributions.reward!.histogram);
    expect(first!.edges).toEqual(second!.edges);
    expect(first!.edges[0]).toBe(0);
    expect(first!.edges.at(-1)).toBe(1);
  });

  test("of one value are one bar around it", () => {
    expect(one(...group("a", 2, 2)).distributions.reward!.histogram).toEqual({ edges: [1.5, 2.5], counts: [2] });
  });

  test("of counts have whole edges", () => {
    const { edges } = one(...[1, 2, 5].map((length) => ({ ids: new Array<number>(length).fill(1) }))).distributions
      .length!.histogram;
    expect(edges).toEqual([1, 2, 3, 4, 5]);
  });

  test("hold every value once, in the bar it belongs to", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.double({ min: -1e3, max: 1e3, noNaN: true }),
            fc.double({ noNaN: true, noDefaultInfinity: true }),
          ),
          { minLength: 1, maxLength: 60 },
        ),
        (rewards) => {
          const { histogram } = one(...group("a", ...rewards)).distributions.reward!;
          const { edges, counts } = histogram;
          const expected = counts.map((_, bin) => {
            const from = bin === 0 ? -Infinity : edges[bin]!;
            const to = bin === counts.length - 1 ? Infinity : edges[bin + 1]!;
            return rewards.filter((reward) => reward >= from && reward < to).length;
          });
          expect(counts).toEqual(expected);
          expect(edges).toHaveLength(counts.length + 1);
          expect(edges.every((edge, i) => i === 0 || edge > edges[i - 1]!)).toBe(true);
          expect(counts.length).toBeLessThanOrEqual(50);
        },
      ),
    );
  });

  test("an outlier does not squeeze the rest into one bar", () => {
    const rewards = Array.from({ length: 1000 }, (_, i) => i / 1000);
    const { counts } = one(...group("a", ...rewards, 1e6)).distributions.reward!.histogram;
    expect(counts.filter((count) => count > 0).length).toBeGreaterThan(10);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1001);
  });
});

describe("warnings", () => {
  test("equal rewards: the sentence, the share and the severity", () => {
    const few = one(...group("a", 1, 1), ...group("b", 0, 1), ...group("c", 0, 1));
    expect(few.warnings).toEqual([
      {
        code: "equal-rewards",
        severity: "notable",
        message: "33 % of groups have equal rewards: no gradient",
        value: 1 / 3,
        limit: 0.2,
      },
    ]);
    expect(one(...group("a", 1, 1)).warnings[0]).toMatchObject({ severity: "serious", value: 1 });
    expect(codes(one(...group("a", 0, 1)))).toEqual([]);
  });

  test("a group of one rollout has nothing to be compared with", () => {
    expect(codes(one(...group("a", 1), ...group("b", 1)))).toEqual(["single-rollout-groups"]);
  });

  test("length and reward that go together, from eight rollouts on", () => {
    const longer = (count: number): Given[] =>
      Array.from({ length: count }, (_, i) => ({ group: i >> 1, ids: new Array<number>(i + 1).fill(1), reward: i }));
    expect(codes(one(...longer(8)))).toEqual(["length-reward-correlation"]);
    expect(codes(one(...longer(6)))).toEqual([]);
  });

  test("entropy that has collapsed: below the floor, or far below the first step", () => {
    const at = (entropy: number) => step("s", { ids: [1], entropies: [entropy] }, { ids: [1], entropies: [entropy] });
    expect(summarize([at(0.04)]).steps.map(codes)).toEqual([["entropy-collapse"]]);
    const { steps } = summarize([at(2), at(0.3)]);
    expect(steps.map(codes)).toEqual([[], ["entropy-collapse"]]);
    expect(steps[1]!.warnings[0]!.message).toBe("Entropy has collapsed: 0.3 nats a token, 15 % of the first step's 2");
  });

  test("a sampler and a trainer that disagree", () => {
    const two: Given = { ids: [1], samplerLogProbs: [-1], oldLogProbs: [-1.1] };
    expect(codes(one(two, two))).toEqual(["sampler-gap"]);
    expect(codes(summarize([step("s", two, two)], { limits: { samplerGap: 0.2 } }).steps[0]!)).toEqual([]);
  });

  test("responses that were cut, tokens that were clipped, values that are not finite, the serious one first", () => {
    const bad: Given = { ids: [1], finishReason: "length", clipped: [1], entropies: [NaN] };
    expect(codes(one(bad, bad))).toEqual(["non-finite", "truncated", "clipped"]);
    const partly = one(bad, { ...bad, entropies: [1] });
    expect(codes(partly)).toEqual(["non-finite", "truncated", "clipped"]);
    expect(partly.warnings[0]!.message).toBe("1 entropy value is not finite");
  });
});

describe("laws", () => {
  const rollouts = fc.array(
    fc.record({
      group: fc.constantFrom("a", "b", "c"),
      reward: fc.constantFrom(0, 0.5, 1),
      tokens: fc.array(fc.record({ entropy: fc.double({ min: 0, max: 3, noNaN: true }), kept: fc.boolean() }), {
        minLength: 1,
        maxLength: 6,
      }),
    }),
    { minLength: 1, maxLength: 10 },
  );
  const made = (
    { group: label, reward, tokens }: { group: string; reward: number; tokens: { entropy: number; kept: boolean }[] },
    under: number,
  ): ReportRollout =>
    rollout({
      group: label,
      reward,
      ids: tokens.map(() => 1),
      mask: tokens.map(({ kept }) => Number(kept)),
      entropies: tokens.map(({ entropy, kept }) => (kept ? entropy : under)),
    });

  test("what lies under the mask changes nothing", () => {
    fc.assert(
      fc.property(rollouts, (list) => {
        const clean = summarize([{ label: "s", rollouts: list.map((item) => made(item, 0)) }]);
        const poisoned = summarize([{ label: "s", rollouts: list.map((item) => made(item, NaN)) }]);
        expect(poisoned).toEqual(clean);
      }),
    );
  });

  test("the order of the rollouts changes no distribution and no warning", () => {
    fc.assert(
      fc.property(rollouts, (list) => {
        const there = summarize([{ label: "s", rollouts: list.map((item) => made(item, 0)) }]).steps[0]!;
        const back = summarize([{ label: "s", rollouts: list.map((item) => made(item, 0)).reverse() }]).steps[0]!;
        expect(back.distributions).toEqual(there.distributions);
        expect(codes(back)).toEqual(codes(there));
      }),
    );
  });

  test("it is plain data", () => {
    fc.assert(
      fc.property(rollouts, (list) => {
        const summary = summarize([{ label: "s", rollouts: list.map((item) => made(item, 0)) }]);
        expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
      }),
    );
  });
});

describe("bad input is named", () => {
  test("numbers per token of another length", () => {
    expect(() => one({ ids: [1] }, { ids: [1, 2], entropies: [0.5] })).toThrow(
      "summarize: steps[0].rollouts[1].entropies has 1 elements, expected 2, one a token",
    );
    expect(errorCode(() => one({ ids: [1, 2], clipped: [0] }))).toBe("ERR_SURPRISAL_SHAPE");
  });

  test.each([
    [[{ begin: 0, finish: 3 }]],
    [[{ begin: 1, finish: 1 }]],
    [
      [
        { begin: 0, finish: 2 },
        { begin: 1, finish: 2 },
      ],
    ],
    [[{ begin: 0.5, finish: 1 }]],
  ])("spans %j of two tokens", (spans) => {
    expect(errorCode(() => one({ ids: [1, 2], spans }))).toBe("ERR_SURPRISAL_RANGE");
  });

  test.each([
    ["summarize", summarize],
    ["reportTables", reportTables],
  ])("by %s in its own name", (op, take) => {
    const broken = step("s", { ids: [1] }, { ids: [1, 2], entropies: [0.5] });
    expect(() => take([broken])).toThrow(
      `${op}: steps[0].rollouts[1].entropies has 1 elements, expected 2, one a token`,
    );
    for (const none of [{ label: "s" }, null, { rollouts: {} }])
      expect(() => take([step("s"), none as unknown as ReportStep])).toThrow(
        new RegExp(`^${op}: steps\\[1\\]\\.rollouts is .*, expected an array of rollouts$`),
      );
    expect(() => take({} as ReportStep[])).toThrow(`${op}: steps is an object, expected `);
  });

  test("limits that are no numbers", () => {
    expect(errorCode(() => summarize([], { limits: { entropy: NaN } }))).toBe("ERR_SURPRISAL_OPTION");
  });
});

describe("log-probs and reward functions", () => {
  const rollouts: ReportRollout[] = [
    {
      group: "a",
      rewards: { right: 1, format: 0.5 },
      tokenIds: Int32Array.of(1, 2, 3, 4),
      mask: Uint8Array.of(1, 1, 1, 0),
      samplerLogProbs: Float64Array.of(-1, -Infinity, 0.5, NaN),
      oldLogProbs: Float64Array.of(-2, -4, 1e-9, 7),
    },
    { group: "a", rewards: { right: 0, format: NaN }, tokenIds: Int32Array.of(1) },
  ];
  const summary = summarize([{ label: "one", rollouts }]).steps[0]!;

  test("are counted at kept tokens, by who computed them; who did not is absent", () => {
    expect(summary.logProbs).toEqual({
      sampler: { tokens: 3, nll: 0.25, least: -1, nonFinite: 1, positive: 1 },
      old: { tokens: 3, nll: expect.closeTo(2, 8) as number, least: -4, nonFinite: 0, positive: 0 },
    });
  });

  test("not finite and above 0 are serious, and named", () => {
    const found = summary.warnings.map(({ code, severity, message }) => [code, severity, message.slice(0, 30)]);
    expect(found.slice(0, 2)).toEqual([
      ["non-finite", "serious", "1 sampler log-prob is not fini"],
      ["positive-log-probs", "serious", "1 sampler log-prob is above 0:"],
    ]);
  });

  test("functions are counted where they did not abstain", () => {
    expect(summary.rewardFunctions).toEqual({
      right: { count: 2, mean: 0.5, std: Math.SQRT1_2, min: 0, max: 1 },
      format: { count: 1, mean: 0.5, std: 0, min: 0.5, max: 0.5 },
    });
  });
});
