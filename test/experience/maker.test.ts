// From a scripted server to advantages, with every kind of failure on the way: nothing is lost, nothing counts twice.
import { advantagePipeline, NO_MOMENTS, overlongPenalty, updateRunningMoments } from "../../lib";
import {
  type Critic,
  ExperienceMaker,
  type ExperienceMakerOptions,
  type MakeProgress,
  type Prompt,
  remoteReward,
  type RewardFunction,
  type Samples,
  selectRows,
  serverPolicy,
} from "../../lib/experience";
import type { RewardFunction as TextReward } from "../../lib/reward";
import { idsOfText, logProbOf, startServer, type ScriptedServer } from "./scripted-server";
import { HANG_MS } from "../support/hang";

let server: ScriptedServer;
beforeEach(async () => (server = await startServer()));
afterEach(() => server.close());

const quick = { retries: 1, backoff: 1, timeout: HANG_MS } as const;
const PROMPTS: readonly Prompt[] = ["a", "b", "c"].map((text) => ({
  ids: idsOfText(text),
  text,
  answer: text.toUpperCase(),
}));

const policyOf = (dialect: "vllm" | "sglang" = "vllm") => serverPolicy({ url: server.url, dialect, ...quick });
const lastId: RewardFunction = (rows) => rows.map(({ tokenIds }) => tokenIds.at(-1)! / 10);
const critic: Critic = { rowsPerCall: 2, values: ({ tokenIds }) => Float64Array.from(tokenIds, (id) => (id % 7) / 7) };

function makerOf(options: Partial<ExperienceMakerOptions> = {}): ExperienceMaker {
  return new ExperienceMaker({
    policy: policyOf(),
    rewards: remoteReward(`${server.url}/score`, { ...quick, batchSize: 4, concurrency: 2 }),
    samplesPerPrompt: 4,
    advantages: { estimator: "grpo", klCoefficient: 0.1 },
    reference: { rowsPerCall: 3, logProbs: ({ tokenIds }) => Float64Array.from(tokenIds, (id) => logProbOf(id) - 0.1) },
    ...options,
  });
}

const responses = ({ tokenIds, offsets }: Samples): string[] =>
  Array.from(offsets.subarray(1), (end, b) => tokenIds.slice(offsets[b], end).join());

/** Every completion the server gave, once; and every number where it belongs. */
function expectWhole(experience: Awaited<ReturnType<ExperienceMaker["make"]>>, rows: number): void {
  const given = [
    ...responses(experience),
    ...experience.leftOut.flatMap(({ completions }) => completions.map(({ tokenIds }) => Array.from(tokenIds).join())),
  ];
  expect(new Set(given).size).toBe(given.length);
  expect(experience.generation!.completions).toBe(given.length);
  expect(experience.offsets).toHaveLength(rows + 1);
  experience.groups.forEach((group, b) => {
    const first = experience.promptIds[experience.promptOffsets[b]!]!;
    expect(experience.prompts[group]!.ids![0]).toBe(first);
    const ids = experience.tokenIds.subarray(experience.offsets[b], experience.offsets[b + 1]);
    expect(Math.floor(ids[0]! / 100)).toBe(first);
    expect(experience.scores[b]).toBe(ids.at(-1)! / 10);
  });
  expect(Array.from(experience.oldLogProbs!)).toEqual(Array.from(experience.tokenIds, logProbOf));
  expect(experience.advantages!.every(Number.isFinite)).toBe(true);
}

describe.each(["vllm", "sglang"] as const)("%s, all steps", (dialect) => {
  test("every step leaves the numbers that its own function gives", async () => {
    const overlong = { maxLength: 4, buffer: 2 };
    const steps = {
      estimator: "reinforcePlusPlusBaseline",
      klCoefficient: 0.1,
      rewardClip: [-5, 5],
      runningMoments: NO_MOMENTS,
      gamma: 0.9,
    } as const;
    const maker = makerOf({
      policy: policyOf(dialect),
      overlong,
      critic,
      klEstimator: "k3",
      oldLogProbs: "sampler",
      advantages: steps,
    });
    const made = await maker.make(PROMPTS);
    expectWhole(made, 12);
    const { offsets, mask, scores, groups, kl, tokenIds } = made;
    const lengths = Array.from(offsets.subarray(1), (end, b) => end - offsets[b]!);
    const { rewards, penalties } = overlongPenalty(scores, lengths, overlong);
    expect(made.penalties).toEqual(penalties);
    // exp(−d) − 1 + d with d = 0.1
    expect(made.kl).toBeAllClose(new Float64Array(tokenIds.length).fill(Math.exp(-0.1) - 0.9), {
      rtol: 1e-12,
      atol: 0,
    });
    expect(made.meanKls).toBeAllClose(new Float64Array(12).fill(Math.exp(-0.1) - 0.9), { rtol: 1e-12, atol: 0 });
    const [expected] = advantagePipeline([{ offsets, mask, rewards, kl: kl! }], { ...steps, groups }).batches;
    for (const name of [
      "shapedRewards",
      "scaledRewards",
      "rewards",
      "tokenRewards",
      "estimatedAdvantages",
      "advantages",
      "returns",
      "sequenceReturns",
      "rewardClipFraction",
    ] as const)
      expect(made[name]).toEqual(expected![name]);
    // Advantages of equal prompts differ from the shaped rewards: each step did something.
    expect(made.shapedRewards).not.toEqual(made.scaledRewards);
    expect(made.estimatedAdvantages).not.toEqual(made.advantages);
    expect(maker.runningMoments).toEqual(updateRunningMoments(NO_MOMENTS, made.shapedRewards!).moments);
    expect(made.values).toEqual(Float64Array.from(tokenIds, (id) => (id % 7) / 7));
    expect(made.oldLogProbSource).toBe("sampler");
    expect(made.truncated).toEqual(Uint8Array.from(lengths, (length) => (length === 4 ? 1 : 0)));
  });

  test("a step that is not asked for leaves nothing", async () => {
    const maker = new ExperienceMaker({ policy: policyOf(dialect), rewards: lastId, samplesPerPrompt: 2 });
    const made = await maker.make(PROMPTS);
    for (const name of [
      "referenceLogProbs",
      "kl",
      "values",
      "penalties",
      "tokenRewards",
      "advantages",
      "entropies",
    ] as const)
      expect(made[name]).toBeUndefined();
    // Computed again by the server, and the same as it sampled.
    expect(made.oldLogProbSource).toBe("logProbs");
    expect(made.oldLogProbs).toEqual(made.samplerLogProbs);
    expect(made.rewards).toEqual(made.scores);
  });

  test("a server that fails here and there costs nothing but time", async () => {
    const path = dialect === "vllm" ? "/v1/completions" : "/generate";
    server.fail(
      path,
      "500",
      null,
      "truncated",
      "hang-up",
      null,
      "wrong lengths",
      "missing ids",
      "one less",
      "abort",
      "nothing",
      "busy",
    );
    server.fail("/score", "500", "truncated", null, "wrong lengths", "not a number");
    const made = await makerOf({
      policy: policyOf(dialect),
      oldLogProbs: "sampler",
      concurrency: 1,
      retryRounds: 8,
      rewards: remoteReward(`${server.url}/score`, { ...quick, retries: 4 }),
    }).make(PROMPTS);
    expectWhole(made, 12);
    expect(made.generation!.rounds).toBeGreaterThan(1);
  });
});

describe("generation", () => {
  test("prompts whose server fails are asked again in the next round, the others are not", async () => {
    // Two attempts each: prompt a fails in the first round.
    server.fail("/v1/completions", "500", "500");
    const made = await makerOf({ concurrency: 1, oldLogProbs: "sampler" }).make(PROMPTS);
    expectWhole(made, 12);
    expect(made.failures).toMatchObject([{ round: 0, prompts: [0], error: { code: "ERR_SURPRISAL_REMOTE" } }]);
    expect(server.bodies.filter(({ n }) => n !== undefined).map(({ prompt, n }) => [prompt![0], n])).toEqual([
      [idsOfText("a")[0], 4],
      [idsOfText("a")[0], 4],
      [idsOfText("b")[0], 4],
      [idsOfText("c")[0], 4],
      [idsOfText("a")[0], 4],
    ]);
  });

  test("a prompt that stays unanswered is left out by name, the others go on", async () => {
    const made = await makerOf({
      policy: {
        promptsPerCall: 1,
        generate: (request, call) => (request.prompts[0]!.text === "b" ? [[]] : policyOf().generate(request, call)),
      },
      retryRounds: 2,
    }).make(PROMPTS);
    expectWhole(made, 8);
    expect(made.prompts.map(({ text }) => text)).toEqual(["a", "c"]);
    expect(made.leftOut).toMatchObject([{ index: 1, reason: "nothing" }]);
    expect(made.generation).toMatchObject({ rounds: 3, droppedPrompts: 1, completions: 8 });
  });

  test.each([
    ["keep", [5, 4, 4], []],
    ["trim", [4, 4, 4], [1]],
    ["drop", [4, 4], [5]],
  ] as const)("over-delivery: %s", async (onExcess, sizes, left) => {
    server.fail("/v1/completions", "one more");
    const made = await makerOf({ concurrency: 1, oldLogProbs: "sampler", onExcess }).make(PROMPTS);
    expectWhole(
      made,
      sizes.reduce<number>((sum, size) => sum + size, 0),
    );
    expect(made.prompts.map((_, group) => made.groups.filter((own) => own === group).length)).toEqual(sizes);
    expect(made.leftOut.map(({ completions }) => completions.length)).toEqual(left);
  });

  test.each([
    ["keep", 8],
    ["drop", 6],
  ] as const)("too few after the last round: %s", async (onShort, rows) => {
    server.fail("/v1/completions", "one less");
    const made = await makerOf({
      samplesPerPrompt: 3,
      retryRounds: 0,
      onShort,
      concurrency: 1,
      oldLogProbs: "sampler",
    }).make(PROMPTS);
    expectWhole(made, rows);
    expect(made.generation).toMatchObject({ rounds: 1, partialPrompts: 1, droppedPrompts: onShort === "drop" ? 1 : 0 });
  });

  test("too few can be an error, and none at all is one, with the server's as its cause", async () => {
    server.fail("/v1/completions", "one less");
    const maker = makerOf({ concurrency: 1, oldLogProbs: "sampler", onShort: "error", retryRounds: 0 });
    await expect(maker.make(PROMPTS)).rejects.toMatchObject({
      code: "ERR_SURPRISAL_GENERATION",
      details: { name: "prompts[0]", got: 3 },
    });
    await server.close();
    await expect(makerOf({ retryRounds: 1 }).make(PROMPTS)).rejects.toMatchObject({
      code: "ERR_SURPRISAL_GENERATION",
      cause: { code: "ERR_SURPRISAL_REMOTE" },
    });
    server = await startServer();
  });

  test("no prompts are no rows", async () => {
    const made = await makerOf().make([]);
    expect(made.advantages).toHaveLength(0);
    expect(server.requests).toEqual([]);
  });

  test("a refusal by the server, or an adapter's own error, ends everything at once", async () => {
    server.fail("/v1/completions", "400");
    await expect(makerOf().make(PROMPTS)).rejects.toMatchObject({
      code: "ERR_SURPRISAL_REMOTE",
      details: { transient: false },
    });
    const mistake = new TypeError("a mistake");
    let calls = 0;
    const generate = () => {
      ++calls;
      throw mistake;
    };
    await expect(makerOf({ policy: { promptsPerCall: 1, generate }, concurrency: 1 }).make(PROMPTS)).rejects.toBe(
      mistake,
    );
    expect(calls).toBe(1);
  });
});

describe("failures at each step end the making, and leave nothing behind", () => {
  const mistake = new Error("a mistake");
  const fail = () => Promise.reject(mistake);
  const steps = { estimator: "grpo", runningMoments: NO_MOMENTS } as const;

  test.each<[string, Partial<ExperienceMakerOptions>]>([
    ["generate", { policy: { generate: fail } }],
    ["logProbs", { policy: { generate: (request, call) => policyOf().generate(request, call), logProbs: fail } }],
    ["logits", { policy: { generate: (request, call) => policyOf().generate(request, call), logits: fail } }],
    ["reference", { reference: { logProbs: fail } }],
    ["critic", { critic: { values: fail } }],
    ["reward function", { rewards: { a: lastId, b: fail } }],
    ["reward model", { rewards: { rewards: fail } }],
    [
      "advantages",
      {
        advantages: () => {
          throw mistake;
        },
      },
    ],
  ])("%s", async (_, broken) => {
    const maker = makerOf({ advantages: steps, ...broken });
    await expect(maker.make(PROMPTS)).rejects.toBe(mistake);
    expect(maker.runningMoments).toEqual("advantages" in broken ? undefined : NO_MOMENTS);
  });

  test("a reward that could not be had is an error, never a 0", async () => {
    server.fail("/score", ...Array<"500">(20).fill("500"));
    const maker = makerOf({ advantages: steps });
    await expect(maker.make(PROMPTS)).rejects.toMatchObject({
      code: "ERR_SURPRISAL_REMOTE",
      message: expect.stringContaining("/score") as string,
    });
    expect(maker.runningMoments).toBe(NO_MOMENTS);
    server.fail("/score");
    await maker.make(PROMPTS);
    expect(maker.runningMoments!.count).toBe(12);
  });

  test.each<[string, Partial<ExperienceMakerOptions>, string]>([
    ["a NaN reward", { rewards: (rows) => rows.map(() => NaN) }, "ERR_SURPRISAL_VALUE"],
    ["a reward too few", { rewards: (rows) => rows.slice(1).map(() => 1) }, "ERR_SURPRISAL_SHAPE"],
    ["no reward at all", { rewards: () => undefined as never }, "ERR_SURPRISAL_SHAPE"],
    ["rewards that all do not apply", { rewards: (rows) => rows.map(() => null) }, "ERR_SURPRISAL_VALUE"],
    [
      "a NaN log-prob",
      { reference: { logProbs: ({ tokenIds }) => new Float64Array(tokenIds.length).fill(NaN) } },
      "ERR_SURPRISAL_VALUE",
    ],
    [
      "a value too many",
      { critic: { values: ({ tokenIds }) => new Float64Array(tokenIds.length + 1) } },
      "ERR_SURPRISAL_SHAPE",
    ],
    ["completions of nobody's", { policy: { generate: () => [[], [], [], []] } }, "ERR_SURPRISAL_SHAPE"],
    [
      "completions without ids",
      { policy: { generate: () => PROMPTS.map(() => [{ text: "x" } as never]) } },
      "ERR_SURPRISAL_DTYPE",
    ],
    [
      "log-probs of other lengths",
      { policy: { generate: () => PROMPTS.map(() => [{ tokenIds: [1, 2], samplerLogProbs: [-1] }]) } },
      "ERR_SURPRISAL_SHAPE",
    ],
    [
      "text that is not there",
      {
        policy: { generate: () => PROMPTS.map(() => [{ tokenIds: [1] }]) },
        rewards: (rows) => rows.map(({ completion }) => completion.length),
      },
      "ERR_SURPRISAL_VALUE",
    ],
  ])("%s is refused by name", async (_, broken, code) => {
    await expect(
      makerOf({
        retryRounds: 0,
        reference: undefined as never,
        advantages: { estimator: "grpo" },
        ...broken,
      }).make(PROMPTS),
    ).rejects.toMatchObject({ code });
  });
});

describe("aborts", () => {
  /** A step that never ends by itself, and tells when it is reached. */
  function stuck(reached: () => void) {
    return (): Promise<never> => {
      reached();
      return new Promise(() => undefined);
    };
  }

  test.each<[string, (reached: () => void) => Partial<ExperienceMakerOptions>]>([
    ["generate", (reached) => ({ policy: { generate: stuck(reached) } })],
    [
      "logProbs",
      (reached) => ({
        policy: { generate: (request, call) => policyOf().generate(request, call), logProbs: stuck(reached) },
      }),
    ],
    ["reference", (reached) => ({ reference: { logProbs: stuck(reached) } })],
    ["critic", (reached) => ({ critic: { values: stuck(reached) } })],
    ["rewards", (reached) => ({ rewards: stuck(reached) })],
  ])("during %s end the making with the signal's reason, though the step goes on", async (_, options) => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const maker = makerOf({
      advantages: { estimator: "grpo", runningMoments: NO_MOMENTS },
      ...options(() => controller.abort(reason)),
    });
    await expect(maker.make(PROMPTS, { signal: controller.signal })).rejects.toBe(reason);
    expect(maker.runningMoments).toBe(NO_MOMENTS);
  });

  test("before the start nothing is asked", async () => {
    await expect(makerOf().make(PROMPTS, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(server.requests).toEqual([]);
  });

  test("reach the requests under way", async () => {
    server.fail("/v1/completions", "slow", "slow", "slow");
    const controller = new AbortController();
    const made = makerOf({ concurrency: 2 }).make(PROMPTS, { signal: controller.signal });
    while (server.requests.length < 2) await new Promise((next) => setImmediate(next));
    controller.abort();
    await expect(made).rejects.toMatchObject({ name: "AbortError" });
    expect(server.requests).toHaveLength(2);
  });
});

test("calls under way never exceed the limit, and all are reported", async () => {
  const progress: MakeProgress[] = [];
  server.awaitTogether(2); // or the test never ends
  await makerOf({ concurrency: 3 }).make(PROMPTS, { onProgress: (at) => progress.push(at) });
  expect(server.most()).toBeLessThanOrEqual(3);
  for (const step of ["logProbs", "reference", "rewards"] as const)
    expect(progress.filter((at) => at.step === step).at(-1)).toEqual({ step, done: 12, total: 12 });
  expect(progress.filter(({ step }) => step === "generate").at(-1)).toEqual({
    step: "generate",
    done: 12,
    total: 12,
    round: 0,
  });
});

test("how rows are spread over calls changes no number", async () => {
  const maker = makerOf({ critic, oldLogProbs: "sampler" });
  const samples = await maker.make(PROMPTS);
  const all = await maker.evaluate(samples);
  for (const rowsPerCall of [1, 5]) {
    const model = {
      rowsPerCall,
      logProbs: ({ tokenIds }: Samples) => Float64Array.from(tokenIds, (id) => logProbOf(id) - 0.1),
    };
    const split = makerOf({
      critic: { ...critic, rowsPerCall },
      reference: model,
      oldLogProbs: "sampler",
      rewards: {
        rowsPerCall,
        rewards: ({ tokenIds, offsets }: Samples) => Array.from(offsets.subarray(1), (end) => tokenIds[end - 1]! / 10),
      },
    });
    const { advantages, values, kl } = await split.evaluate(samples);
    expect({ advantages, values, kl }).toEqual({ advantages: all.advantages, values: all.values, kl: all.kl });
  }
  // Neither does the order of the groups.
  const reversed = Array.from(samples.groups.keys()).reverse();
  expect(selectRows(await maker.evaluate(selectRows(samples, reversed)), reversed).rewards).toEqual(all.rewards);
});

test("logits give log-probs and entropies; a uniform policy has ln V of them", async () => {
  const generate = () => PROMPTS.map(() => [{ tokenIds: [1, 2, 3], mask: [1, 0, 1] }, { tokenIds: [0] }]);
  const made = await makerOf({
    samplesPerPrompt: 2,
    rewards: lastId,
    policy: { generate, rowsPerCall: 4, logits: ({ tokenIds }) => new Float32Array(tokenIds.length * 4) },
    dropGroups: "constant",
  }).make(PROMPTS);
  expect(made.oldLogProbSource).toBe("logits");
  const row = [Math.log(4), 0, Math.log(4), Math.log(4)];
  expect(made.entropies).toBeAllClose(Float32Array.of(...row, ...row, ...row), { rtol: 1e-6, atol: 1e-6 });
  expect(made.mask).toEqual(Uint8Array.of(1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1));
  expect(made.advantages!.filter((_, i) => i % 4 === 1)).toEqual(new Float64Array(3));
});

test("groups of equal rewards are masked where that is asked for", async () => {
  const rewards: RewardFunction = (rows) => rows.map(({ group, tokenIds }) => (group === 1 ? 0.5 : tokenIds.length));
  const made = await makerOf({ rewards, dropGroups: "constant" }).make(PROMPTS);
  expect(Array.from(made.keptGroups)).toEqual([1, 0, 1]);
  made.groups.forEach((group, b) => expect(made.mask[made.offsets[b]!]).toBe(group === 1 ? 0 : 1));
  const binary = await makerOf({ rewards, dropGroups: "zeroOrOne" }).make(PROMPTS);
  expect(Array.from(binary.keptGroups)).toEqual([1, 1, 1]);
});

describe("recipes", () => {
  const prompts = PROMPTS.map((prompt, i) => ({ ...prompt, label: i === 1 ? "safety" : "math" }));
  const asked: Record<string, number> = {};
  const source =
    (name: string, value: number): RewardFunction =>
    (rows) => {
      asked[name] = rows.length;
      return rows.map(({ ability }) => ({ reward: value, reason: `${name} of ${ability!}` }));
    };

  test("each label has its own sources, which see the rows of their labels alone", async () => {
    const rewards = { right: source("right", 1), harm: source("harm", -2), length: lastId };
    const recipe = { math: { right: 2, length: 0 }, safety: { harm: 0.5, right: 1 } };
    const made = await makerOf({ rewards, recipe }).make(prompts);
    expect(asked).toEqual({ right: 12, harm: 4 });
    made.groups.forEach((group, b) => {
      expect(made.scores[b]).toBe(group === 1 ? 0 : 2);
      expect(made.sourceRewards["harm"]![b]).toBe(group === 1 ? -2 : NaN);
      expect(made.sourceReasons["harm"]![b]).toBe(group === 1 ? "harm of safety" : undefined);
    });
  });

  test("sources without a recipe add up; null is left out of the sum", async () => {
    const rewards = {
      a: source("a", 1),
      b: ((rows) => rows.map(({ group }) => (group === 0 ? null : 3))) satisfies RewardFunction,
    };
    const made = await makerOf({ rewards }).make(prompts);
    expect(Array.from(made.scores)).toEqual(Array.from(made.groups, (group) => (group === 0 ? 1 : 4)));
  });

  test("functions of surprisal/reward are sources: they see prompt, completion and answer, and abstain with NaN", async () => {
    const seen: string[] = [];
    const text: TextReward = (inputs) =>
      inputs.map(({ prompt, completion, answer, ability }) => {
        seen.push(`${prompt!} ${completion} ${answer as string} ${ability!}`);
        return prompt === "a" ? { reward: NaN, reason: "no opinion" } : { reward: 2, reason: "fine" };
      });
    const made = await makerOf({ rewards: { text, one: source("one", 1) }, samplesPerPrompt: 1 }).make(prompts);
    expect(seen).toEqual(
      ["a", "b", "c"].map(
        (letter, i) => `${letter} ${made.texts[i]!} ${letter.toUpperCase()} ${i === 1 ? "safety" : "math"}`,
      ),
    );
    expect(Array.from(made.scores)).toEqual([1, 3, 3]);
    expect(made.sourceReasons["text"]).toEqual(["no opinion", "fine", "fine"]);
  });

  test("a label or a source that is not there is refused", async () => {
    await expect(makerOf({ rewards: { a: lastId }, recipe: { math: { a: 1 } } }).make(prompts)).rejects.toThrow(
      'prompts[1].label is "safety"',
    );
    expect(() => makerOf({ rewards: { a: lastId }, recipe: { b: 1 } })).toThrow("recipe.b");
    expect(() => makerOf({ rewards: {} })).toThrow("at least one source");
  });
});

test.each<[string, Partial<ExperienceMakerOptions>, string]>([
  ["gae without a critic", { advantages: { estimator: "gae" } }, "critic"],
  ["a KL penalty without a reference", { reference: undefined }, "reference"],
  [
    "old log-probs of a policy that has none",
    { policy: { generate: () => null }, oldLogProbs: "policy" },
    "oldLogProbs",
  ],
  ["no concurrency", { concurrency: 0 }, "concurrency"],
  ["an unknown word", { dropGroups: "all" as never }, "dropGroups"],
])("%s is refused before anything is asked", (_, options, named) => {
  expect(() => makerOf(options)).toThrow(named);
});
