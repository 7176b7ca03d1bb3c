// Makers on several ranks make one batch: normalisation, groups and the KL controller are those of one maker with all prompts. The
// running moments take the rows rank by rank, as the pipeline takes micro-batches, and are the same on every rank.
import * as surprisal from "../../lib";
import type * as experience from "../../lib/experience";
import type { Collective } from "../../lib";
import { distFile } from "../support/dist";
import { valuesOfRanks } from "../support/run-ranks";

interface Input {
  /** Of surprisal/experience. */
  readonly entry: string;
  readonly prompts: readonly { readonly ids: readonly number[] }[];
  readonly advantages: object;
}

/** Travels to workers as text. */
async function makeTwice(
  collective: Collective | undefined,
  _: typeof surprisal,
  { entry, prompts, advantages }: Input,
) {
  const load = process.getBuiltinModule("node:module").createRequire(entry);
  const { ExperienceMaker } = load(entry) as typeof experience;
  const numbers = (number: (id: number, i: number) => number) => (row: { readonly tokenIds: Int32Array }) =>
    Float64Array.from(row.tokenIds, number);
  const maker = new ExperienceMaker({
    policy: {
      generate: (call) =>
        call.prompts.map(({ ids }) =>
          Array.from({ length: 3 }, (__, i) => {
            const tokenIds = [4, ids![0]!, 5, 6 + i, ...(i > 0 ? [ids![0]! + i] : [])];
            return { tokenIds, samplerLogProbs: tokenIds.map((id) => -0.1 * (id + 1)) };
          }),
        ),
      logits: ({ tokenIds }) =>
        Float32Array.from({ length: tokenIds.length * 12 }, (__, k) => Math.sin(k * (1 + (k % 3)))),
    },
    reference: { logProbs: numbers((id, i) => -0.2 * id - 0.01 * i - 0.3) },
    rewards: {
      last: (rows) => rows.map(({ tokenIds }) => Math.sin(tokenIds.at(-1)!)),
      short: (rows) => rows.map(({ tokenIds }) => 5 - tokenIds.length),
    },
    recipe: { last: 1, short: 0.5 },
    samplesPerPrompt: 3,
    // Models see a row at a time, so that their numbers do not depend on the rows beside it.
    rowsPerCall: 1,
    advantages: advantages as never,
    klController: { state: { coefficient: 0.1 }, target: 0.05, horizon: 100 },
    ...(collective && { collective }),
  });
  const first = await maker.make(prompts);
  const second = await maker.make(prompts);
  const own = [first, second].map((made) => Array.from(made.advantages as ArrayLike<number>));
  return { own, shared: { moments: maker.runningMoments, kl: maker.klController } };
}

const PROMPTS = [1, 2, 3, 2, 5].map((id) => ({ ids: [id] }));

test.each<[string, object]>([
  ["the pipeline", { estimator: "grpo", normalized: ["grpo"] }],
  ["REINFORCE++ over the batch", { estimator: "reinforcePlusPlus", gamma: 0.9 }],
  ["an estimator of groups and steps", { estimator: "egpo", thinkEnd: 5 }],
])("%s", async (_, advantages) => {
  const entry = distFile("experience");
  const alone = await makeTwice(undefined, surprisal, { entry, prompts: PROMPTS, advantages });
  for (const cuts of [
    [0, 2, 5],
    [0, 1, 4, 5],
  ]) {
    const inputs = cuts.slice(1).map((end, i) => ({ entry, prompts: PROMPTS.slice(cuts[i], end), advantages }));
    const got = await valuesOfRanks(inputs, makeTwice);
    for (const call of [0, 1]) expect(got.flatMap(({ own }) => own[call]!)).toEqual(alone.own[call]);
    for (const { shared } of got) expect(shared).toEqual(alone.shared);
  }
});

test("running moments take the rows rank by rank, and are the same on all", async () => {
  const advantages = { estimator: "grpo", runningMoments: surprisal.NO_MOMENTS, subtractRunningMean: true };
  const entry = distFile("experience");
  const inputs = [PROMPTS.slice(0, 2), PROMPTS.slice(2)].map((prompts) => ({ entry, prompts, advantages }));
  const [first, second] = await valuesOfRanks(inputs, makeTwice);
  expect(first!.shared.moments!.count).toBe(2 * 3 * PROMPTS.length);
  expect(second!.shared).toEqual(first!.shared);
});
