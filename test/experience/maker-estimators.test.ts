// Every estimator of computeAdvantages in the maker, its options checked before anything is generated, and what is of one call.
import {
  advantageNames,
  type AdvantageName,
  advantagePipeline,
  computeAdvantages,
  groupPlace,
  klController,
  updateKlController,
  type FloatArray,
} from "../../lib";
import ESTIMATORS from "../../lib/advantage/estimators";
import {
  type AdvantageSteps,
  type Experience,
  ExperienceMaker,
  type ExperienceMakerOptions,
  type MakeOptions,
} from "../../lib/experience";
import { SurprisalError } from "../../lib";

const VOCABULARY = 10;
const PROMPTS = [{ ids: [1] }, { ids: [2] }, { ids: [3] }];

/** Three responses to each prompt, of 3 to 5 tokens, with a step from 4 to 5 in each. */
const responses = (prompt: number) =>
  Array.from({ length: 3 }, (_, i) => {
    const tokenIds = [4, prompt, 5, 6 + i, ...(i > 0 ? [prompt + i] : [])];
    return { tokenIds, samplerLogProbs: tokenIds.map((id) => -0.1 * (id + 1)) };
  });

let generated = 0;
beforeEach(() => (generated = 0));

const per =
  (number: (id: number, i: number) => number) =>
  ({ tokenIds }: { readonly tokenIds: Int32Array }) =>
    Float64Array.from(tokenIds, number);

const parts = {
  policy: {
    generate: ({ prompts }: { readonly prompts: readonly { readonly ids?: ArrayLike<number> }[] }) => {
      ++generated;
      return prompts.map(({ ids }) => responses(ids![0]!));
    },
    logits: ({ tokenIds }: { readonly tokenIds: Int32Array }) =>
      Float32Array.from({ length: tokenIds.length * VOCABULARY }, (_, k) => Math.sin(k * (1 + (k % 3)))),
  },
  reference: { logProbs: per((id, i) => -0.2 * id - 0.01 * i - 0.3) },
  critic: { values: per((id, i) => Math.cos(id + i) / 2) },
  rewards: {
    last: (rows: readonly { readonly tokenIds: Int32Array }[]) => rows.map(({ tokenIds }) => tokenIds.at(-1)! / 4),
    short: (rows: readonly { readonly tokenIds: Int32Array }[]) => rows.map(({ tokenIds }) => 5 - tokenIds.length),
  },
  recipe: { last: 1, short: 0.5 },
  samplesPerPrompt: 3,
} satisfies Partial<ExperienceMakerOptions>;

const makerOf = (options: object) => new ExperienceMaker({ ...parts, ...options });

/** What an estimator cannot do without. */
const NEEDED: Readonly<Partial<Record<AdvantageName, object>>> = {
  gae: { gamma: 0.9, lambda: 0.8 },
  ppo: { gamma: 0.9, lambda: 0.8, klCoefficient: 0.1, missingEndPenalty: 0.5, endToken: 6 },
  optimalValue: { beta: 0.5 },
  miniLlm: { gamma: 0.9 },
  iwOpd: { gamma: 0.5 },
  puff: {
    gamma: 0.9,
    lambda: 0.8,
    klCoefficient: 0.1,
    inputs: ({ tokenIds }: Experience) => ({ dones: endsOf(tokenIds) }),
  },
  remax: {
    klCoefficient: 0.1,
    inputs: ({ groups }: Experience) => ({ baselines: Float64Array.from(groups, (g) => g / 4) }),
  },
  optimalTokenBaseline: { inputs: ({ tokenIds }: Experience) => ({ sumSquares: sharesOf(tokenIds) }) },
  turnGae: { gamma: 0.9, lambda: 0.8, klCoefficient: 0.1 },
  turnReturns: { klCoefficient: 0.1 },
  egpo: { thinkEnd: 5 },
  empg: { start: [4], end: [5] },
  maxent: { tau: 0.5, beta: 0.5 },
  rlooWithKl: { klCoefficient: 0.1 },
  lambdaGrpo: { lambda: 0.5, lengthScale: 0.1 },
  treePo: { inputs: ({ groups }: Experience) => ({ branches: [branchesOf(groups)] }) },
  fipo: { gamma: 0.9, inputs: ({ oldLogProbs }: Experience) => ({ logProbs: movedOf(oldLogProbs!) }) },
  rae: { inputs: ({ groups }: Experience) => ({ roles: Array.from(groups) }) },
};
const branchesOf = (groups: Int32Array): string[] => Array.from(groups, (g, b) => `${g}/${b % 2}`);
const movedOf = (logProbs: FloatArray): Float64Array => Float64Array.from(logProbs, (l) => l * 0.9);
const endsOf = (ids: Int32Array): Float64Array => Float64Array.from(ids, (id) => (id > 7 ? 1 : 0));
const sharesOf = (ids: Int32Array): Float64Array => Float64Array.from(ids, (id) => 1 / (id + 1));

const stepsOf = (name: AdvantageName, more: object = {}): AdvantageSteps =>
  ({ estimator: name, ...NEEDED[name], ...more }) as AdvantageSteps;

const placedOf = ({ offsets, mask, rewards, kl }: Experience) =>
  groupPlace({ row: rewards, values: kl }, { offsets, mask, scale: -0.1 });

/** The batch and options by hand of the estimators that the pipeline does not have. */
const BY_HAND: Readonly<
  Partial<Record<AdvantageName, (made: Experience) => readonly [batch: object, options?: object]>>
> = {
  passAtK: ({ offsets, mask, groups, rewards }) => [{ offsets, mask, groups, rewards }],
  opo: ({ offsets, mask, groups, rewards }) => [{ offsets, mask, groups, rewards }],
  gpg: ({ offsets, mask, groups, rewards }) => [{ offsets, mask, groups, rewards }],
  rlooWithKl: ({ offsets, mask, groups, sourceRewards, oldLogProbs, referenceLogProbs }) => [
    { offsets, mask, groups, rewards: Object.values(sourceRewards), oldLogProbs, referenceLogProbs },
    { weights: [1, 0.5], beta: 0.1 },
  ],
  multiReward: ({ offsets, mask, groups, sourceRewards }) => [
    { offsets, mask, groups, rewards: Object.values(sourceRewards) },
    { weights: [1, 0.5] },
  ],
  remax: (made) => {
    const { offsets, mask, groups } = made;
    return [{ offsets, mask, tokenRewards: placedOf(made), baselines: Float64Array.from(groups, (g) => g / 4) }];
  },
  optimalTokenBaseline: ({ offsets, mask, groups, rewards, oldLogProbs, tokenIds }) => [
    {
      offsets,
      mask,
      groups,
      tokenRewards: groupPlace({ row: rewards }, { offsets, mask }),
      logProbs: oldLogProbs,
      sumSquares: sharesOf(tokenIds),
    },
  ],
  ppo: ({ offsets, mask, rewards, oldLogProbs, referenceLogProbs, values, tokenIds }) => [
    { offsets, mask, scores: rewards, logProbs: oldLogProbs, referenceLogProbs, values, tokens: tokenIds },
    { gamma: 0.9, lambda: 0.8, klCoefficient: 0.1, missingEndPenalty: 0.5, endToken: 6 },
  ],
  optimalValue: ({ offsets, mask, groups, rewards }) => [{ offsets, mask, groups, rewards }, { beta: 0.5 }],
  maxent: ({ offsets, mask, groups, rewards, referenceLogProbs }) => [
    { offsets, mask, groups, rewards, referenceLogProbs },
    { tau: 0.5, beta: 0.5 },
  ],
  miniLlm: ({ offsets, mask, oldLogProbs, referenceLogProbs }) => [
    { offsets, mask, studentLogProbs: oldLogProbs, teacherLogProbs: referenceLogProbs },
    { gamma: 0.9 },
  ],
  iwOpd: ({ offsets, mask, samplerLogProbs, referenceLogProbs }) => [
    { offsets, mask, samplerLogProbs, teacherLogProbs: referenceLogProbs },
    { gamma: 0.5 },
  ],
  puff: (made) => [
    { offsets: made.offsets, tokenRewards: placedOf(made), values: made.values, dones: endsOf(made.tokenIds) },
    { gamma: 0.9, lambda: 0.8 },
  ],
  turnGae: (made) => [
    { offsets: made.offsets, mask: made.mask, tokenRewards: placedOf(made), values: made.values },
    { gamma: 0.9, lambda: 0.8 },
  ],
  turnReturns: (made) => [{ offsets: made.offsets, mask: made.mask, tokenRewards: placedOf(made) }],
  edgeGrpo: ({ offsets, mask, groups, rewards, entropies }) => [{ offsets, mask, groups, rewards, entropies }],
  egpo: ({ offsets, mask, groups, rewards, entropies, tokenIds }) => [
    { offsets, mask, groups, rewards, entropies, tokens: tokenIds },
    { thinkEnd: 5 },
  ],
  empg: ({ offsets, mask, groups, rewards, entropies, tokenIds }) => [
    { offsets, mask, groups, rewards, entropies, tokens: tokenIds },
    { start: [4], end: [5] },
  ],
  maxRl: ({ offsets, mask, groups, rewards }) => [{ offsets, mask, groups, rewards }],
  lambdaGrpo: ({ offsets, mask, groups, rewards }) => [
    { offsets, mask, groups, rewards },
    { lambda: 0.5, lengthScale: 0.1 },
  ],
  treePo: ({ offsets, mask, groups, rewards }) => [{ offsets, mask, groups, rewards, branches: [branchesOf(groups)] }],
  fipo: ({ offsets, mask, groups, rewards, oldLogProbs }) => [
    { offsets, mask, groups, rewards, oldLogProbs, logProbs: movedOf(oldLogProbs!) },
    { gamma: 0.9 },
  ],
  rae: ({ offsets, mask, groups, rewards }) => [{ offsets, mask, rewards, roles: Array.from(groups) }],
  opd: ({ offsets, mask, oldLogProbs, referenceLogProbs }) => [
    { offsets, mask, studentLogProbs: oldLogProbs, teacherLogProbs: referenceLogProbs },
  ],
};

describe("every estimator by its name", () => {
  test.each(advantageNames)("%s", async (name) => {
    const made = await makerOf({ advantages: stepsOf(name) }).make(PROMPTS);
    expect(made.advantages).toHaveLength(made.tokenIds.length);
    expect(made.advantages!.every(Number.isFinite)).toBe(true);
    const byHand = BY_HAND[name];
    if (!byHand) {
      const { offsets, mask, rewards, kl, values, groups } = made;
      const scores = made.scores;
      const grouped = name === "cpgd" ? {} : { groups };
      const { batches } = advantagePipeline([{ offsets, mask, rewards: scores, kl, values }], {
        ...(stepsOf(name) as { estimator: "gae" }),
        ...grouped,
      });
      expect(made.advantages).toEqual(batches[0]!.advantages);
      expect(made.estimate).toBeUndefined();
      expect(rewards).toEqual(batches[0]!.rewards);
      return;
    }
    const [batch, options] = byHand(made);
    const compute = computeAdvantages as unknown as (name: string, batch: object, options?: object) => object;
    expect(made.estimate).toEqual(compute(name, batch, options));
    expect(made.advantages).toBe(made.estimate!.advantages);
  });

  test("those that the pipeline does not have are all compared", () => {
    const own = advantageNames.filter((name) => !("pipeline" in ESTIMATORS[name]));
    expect(Object.keys(BY_HAND).sort()).toEqual([...own].sort());
  });
});

describe("before anything is generated", () => {
  const refused = (options: object): SurprisalError => {
    try {
      makerOf(options);
    } catch (error) {
      expect(error).toBeInstanceOf(SurprisalError);
      return error as SurprisalError;
    }
    throw new Error("it was taken");
  };

  const wrong = (kind: unknown): unknown =>
    kind === "number" ? NaN : kind === "flag" ? "yes" : kind === "json" ? 7 : "nonsense";

  test.each(
    advantageNames.flatMap((name) =>
      Object.entries(ESTIMATORS[name].options as Record<string, unknown>)
        .filter(([, kind]) => kind === "number" || typeof kind === "object")
        // The pipeline has its own conventions for these names.
        .filter(
          ([option]) =>
            !("pipeline" in ESTIMATORS[name]) || ["gamma", "lambda", "maskMode", "weighting"].includes(option),
        )
        .map(([option, kind]) => [name, option, kind] as const),
    ),
  )("%s refuses a wrong %s", (name, option, kind) => {
    const { code, message } = refused({ advantages: stepsOf(name, { [option]: wrong(kind) }) });
    expect(code).toBe("ERR_SURPRISAL_OPTION");
    expect(message).toContain(option);
  });

  test.each<[string, object, string]>([
    ["an unknown estimator", { advantages: { estimator: "grop" } }, "grpo"],
    ["no estimator", { advantages: {} }, "estimator"],
    ["advantages of no kind", { advantages: 7 }, "advantages"],
    ["a wrong clip", { advantages: { estimator: "grpo", advantageClip: -1 } }, "advantageClip"],
    ["a wrong reward clip", { advantages: { estimator: "grpo", rewardClip: [2] } }, "rewardClip"],
    ["wrong moments", { advantages: { estimator: "grpo", runningMoments: {} } }, "count"],
    ["a word for shapeGroups", { advantages: { estimator: "grpo", shapeGroups: "yes" } }, "shapeGroups"],
    ["an unknown scale", { advantages: { estimator: "grpo", scale: "rows" } }, "scale"],
    ["an unknown preset", { advantages: { estimator: "grpo", preset: "egpo" } }, "preset"],
    ["an unknown preset of an estimator", { advantages: { estimator: "egpo", thinkEnd: 5, preset: "trl" } }, "preset"],
    ["a wrong penalty", { overlong: { maxLength: 0, buffer: 0 } }, "maxLength"],
    ["an unknown dropGroups", { dropGroups: "equal" }, "dropGroups"],
    ["an unknown klEstimator", { klEstimator: "k9" }, "klEstimator"],
    ["an unknown klEstimator without a reference", { klEstimator: "k9", reference: undefined }, "klEstimator"],
    ["an unknown backend", { backend: "gpu" }, "backend"],
    ["half a sample", { samplesPerPrompt: 0.5 }, "samplesPerPrompt"],
    ["an unknown onShort", { onShort: "wait" }, "onShort"],
    ["no prompts per call", { promptsPerCall: 0 }, "promptsPerCall"],
    ["no rows per call of a model", { critic: { ...parts.critic, rowsPerCall: 0 } }, "critic.rowsPerCall"],
    ["a policy that generates nothing", { policy: { logits: parts.policy.logits } }, "policy.generate"],
    ["no policy", { policy: undefined }, "policy"],
    ["a critic without values", { critic: {} }, "critic.values"],
    ["a source of no kind", { rewards: { last: 7 }, recipe: undefined }, "rewards.last"],
    ["no sources", { rewards: null, recipe: undefined }, "rewards"],
    ["values that nobody gives", { critic: undefined, advantages: stepsOf("ppo") }, "a critic"],
    ["a reference that is not there", { reference: undefined, advantages: stepsOf("maxent") }, "referenceLogProbs"],
    ["a teacher that is not there", { reference: undefined, advantages: stepsOf("iwOpd") }, "the teacher"],
    ["entropies that nobody gives", { oldLogProbs: "sampler", advantages: stepsOf("empg") }, "a policy with logits"],
    ["baselines that nobody gives", { advantages: { estimator: "remax" } }, "inputs that return baselines"],
    ["a coefficient that costs nothing", { advantages: stepsOf("opo", { klCoefficient: 1 }) }, "klCoefficient"],
    [
      "an overlong penalty beside compared sources",
      { overlong: { maxLength: 9, buffer: 2 }, advantages: stepsOf("multiReward") },
      "overlong",
    ],
    [
      "weights by label beside compared sources",
      { recipe: { a: { last: 1 } }, advantages: stepsOf("multiReward") },
      "recipe",
    ],
    [
      "a controller without a reference",
      { reference: undefined, klController: { state: klController(0.1), target: 1, horizon: 9 } },
      "reference",
    ],
    ["a controller without a target", { klController: { state: klController(0.1), horizon: 9 } }, "target"],
    ["a controller without a state", { klController: { target: 1, horizon: 9 } }, "klController.state"],
    [
      "two coefficients",
      {
        klController: { state: klController(0.1), target: 1, horizon: 9 },
        advantages: { estimator: "grpo", klCoefficient: 1 },
      },
      "klCoefficient",
    ],
  ])("refuses %s", (_, options, text) => {
    const { code, message } = refused(options);
    expect(code).toMatch(/^ERR_SURPRISAL_/);
    expect(message).toContain(text);
  });
});

describe("the discounts of one call", () => {
  const call = async (options: ExperienceMakerOptions["advantages"], more: MakeOptions) =>
    (await makerOf({ advantages: options }).make(PROMPTS, more)).advantages;

  test("take the place of the maker's, for this call", async () => {
    const maker = makerOf({ advantages: stepsOf("gae") });
    const usual = await maker.make(PROMPTS);
    const once = await maker.make(PROMPTS, { gamma: 0.5, lambda: 0.1 });
    expect(once.advantages).toEqual(await call(stepsOf("gae", { gamma: 0.5, lambda: 0.1 }), {}));
    expect(once.advantages).not.toEqual(usual.advantages);
    expect((await maker.evaluate(usual, { lambda: 0.8 })).advantages).toEqual(usual.advantages);
    for (const name of ["puff", "ppo"] as const)
      expect(await call(stepsOf(name), { gamma: 0.5 })).toEqual(await call(stepsOf(name, { gamma: 0.5 }), {}));
    expect(await call(stepsOf("reinforcePlusPlus"), { gamma: 0.5 })).toEqual(
      await call(stepsOf("reinforcePlusPlus", { gamma: 0.5 }), {}),
    );
  });

  test.each<[string, AdvantageSteps | undefined, MakeOptions]>([
    ["a gamma above 1", stepsOf("gae"), { gamma: 2 }],
    ["a NaN lambda", stepsOf("gae"), { lambda: NaN }],
    ["a lambda of an estimator without one", stepsOf("grpo"), { lambda: 0.9 }],
    ["a gamma of an estimator of rows", stepsOf("egpo"), { gamma: 0.9 }],
    ["a gamma of an estimator of the batch", stepsOf("cpgd"), { gamma: 0.9 }],
    ["a gamma without an estimator", undefined, { gamma: 0.9 }],
  ])("refuses %s before anything is generated", async (_, advantages, more) => {
    const error = await makerOf({ advantages })
      .make(PROMPTS, more)
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    expect(error).toMatchObject({ code: "ERR_SURPRISAL_OPTION" });
    expect(generated).toBe(0);
  });
});

describe("a KL controller", () => {
  const control = { target: 0.2, horizon: 100 };
  const steer = (more: object = {}) => ({ klController: { state: klController(0.1), ...control }, ...more });

  test("its coefficient costs the KL, and the measured KL moves it", async () => {
    const maker = makerOf(steer({ advantages: { estimator: "grpo" } }));
    const first = await maker.make(PROMPTS);
    expect(first.klCoefficient).toBe(0.1);
    const fixed = await makerOf({ advantages: { estimator: "grpo", klCoefficient: 0.1 } }).make(PROMPTS);
    expect(first.advantages).toEqual(fixed.advantages);
    expect([fixed.klCoefficient, fixed.klController]).toEqual([0.1, undefined]);
    const kl = first.meanKls!.reduce((sum, x) => sum + x, 0) / 9;
    const want = updateKlController(klController(0.1), { kl, steps: 9 }, control);
    expect(want.coefficient).not.toBe(0.1);
    expect(first.klController).toEqual(want);
    expect(maker.klController).toEqual(want);
    const second = await maker.make(PROMPTS);
    expect(second.klCoefficient).toBe(want.coefficient);
    expect(second.advantages).not.toEqual(first.advantages);
  });

  test("a state that was kept goes on where it was", async () => {
    const maker = makerOf(steer());
    const [first, second] = [await maker.make(PROMPTS), await maker.make(PROMPTS)];
    const again = makerOf({ klController: { state: first.klController, ...control } });
    const next = await again.make(PROMPTS);
    expect([next.klCoefficient, next.klController]).toEqual([second.klCoefficient, second.klController]);
    // No advantages here: the coefficient is for the loss.
    expect(first.klCoefficient).toBe(0.1);
  });

  test.each(["ppo", "rlooWithKl", "remax"] as const)("%s costs the KL by it", async (name) => {
    const { klCoefficient: _, ...steps } = stepsOf(name);
    const made = await makerOf(steer({ advantages: steps })).make(PROMPTS);
    expect(made.estimate).toEqual(
      (await makerOf({ advantages: { ...steps, klCoefficient: 0.1 } }).make(PROMPTS)).estimate,
    );
  });

  test("it stands still where an experience fails, and where there is nothing to measure", async () => {
    let broken = true;
    const critic = { values: () => (broken ? Promise.reject(new Error("no")) : new Float64Array(0)) };
    const maker = makerOf(steer({ critic }));
    await expect(maker.make(PROMPTS)).rejects.toThrow("no");
    expect(maker.klController).toEqual(klController(0.1));
    broken = false;
    expect((await maker.make([])).klController).toEqual(klController(0.1));
  });
});
