// surprisal reward: completions judged by a scorer, rewards into the rollouts.
import type { Rollout } from "../io";
import type { RewardInput, RewardResult } from "../reward";
import { SurprisalError } from "../core/errors";
import { brief, percent, table, wrote } from "./shell/table";
import { type Figures, figuresOf, joinFigures } from "./rollouts/figures";
import { readFiles } from "./rollouts/read-batches";
import { READ_OPTIONS } from "./rollouts/read-flags";
import { reserve, write, WRITE_OPTIONS } from "./rollouts/write-rollouts";
import { needScorer, SCORER_NAMES, scorerOf } from "./scoring/scorers";
import { SERVE_OPTIONS, serveScorer } from "./scoring/serve";
import { sharedCommand } from "./shards/shared-command";
import type { Steps } from "./shards/steps";

/** Where the right answer is, in this order. */
const ANSWERS = ["answer", "gts", "ground_truth", "solution", "tests"];

function completionOf({ text, tokens, id }: Rollout, index: number): string {
  if (text !== undefined) return text;
  if (tokens) return tokens.join("");
  const name = id === undefined ? `rollout ${index + 1}` : `rollout ${index + 1} ("${id}")`;
  throw new SurprisalError(
    "ERR_SURPRISAL_FILE",
    `${name} has ids and no text, which a scorer reads; ids are not turned into text here`,
    { name: "text" },
  );
}

/** A test suite may stand in a text, as data sets have it. */
function asAnswer(value: unknown, scorer: string): unknown {
  if (scorer !== "code" || typeof value !== "string" || !/^\s*[{[]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function inputOf(rollout: Rollout, index: number, answerField: string | undefined, scorer: string): RewardInput {
  const { meta = {}, prompt } = rollout;
  const field = answerField ?? ANSWERS.find((name) => meta[name] !== undefined);
  const answer = field === undefined ? undefined : asAnswer(meta[field], scorer);
  const { ability } = meta;
  return {
    completion: completionOf(rollout, index),
    prompt,
    answer,
    ability: typeof ability === "string" ? ability : undefined,
    metadata: meta,
  };
}

/** What the command read: its own rewards replace others, or stand beside them under a name. */
function withReward(rollout: Rollout, { reward, reason }: RewardResult, name: string | undefined): Rollout {
  const meta = { ...rollout.meta, reward_reason: reason };
  if (name !== undefined) return { ...rollout, rewards: { ...rollout.rewards, [name]: reward }, meta };
  const { reward: _, ...rest } = rollout;
  return { ...rest, reward: Number.isNaN(reward) ? undefined : reward, meta };
}

type Place = Awaited<ReturnType<typeof reserve>> | undefined;

/** What is counted of some completions. */
interface Data {
  readonly rollouts: number;
  readonly rewards: Figures;
  readonly reasons: Readonly<Record<string, number>>;
  /** Of those that had a reward: how many, and how many got the same one. */
  readonly recorded: number;
  readonly same: number;
}

function countsOf(rollouts: readonly Rollout[], results: readonly RewardResult[]): Data {
  const reasons: Record<string, number> = {};
  for (const { reason } of results) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const recorded = rollouts.flatMap(({ reward }, index) =>
    reward === undefined || Number.isNaN(results[index]!.reward) ? [] : [reward === results[index]!.reward],
  );
  return {
    rollouts: rollouts.length,
    rewards: figuresOf(results.map(({ reward }) => reward).filter((reward) => !Number.isNaN(reward))),
    reasons,
    recorded: recorded.length,
    same: recorded.filter(Boolean).length,
  };
}

function joinCounts(parts: readonly Data[]): Data {
  const reasons: Record<string, number> = {};
  for (const part of parts)
    for (const [reason, count] of Object.entries(part.reasons)) reasons[reason] = (reasons[reason] ?? 0) + count;
  const sum = (of: (part: Data) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return {
    rollouts: sum(({ rollouts }) => rollouts),
    rewards: joinFigures(parts.map(({ rewards }) => rewards)),
    reasons,
    recorded: sum(({ recorded }) => recorded),
    same: sum(({ same }) => same),
  };
}

const steps: Steps<Place, Data> = {
  early: (call) => (call.args.has("serve") ? serveScorer(call) : undefined),

  async reserve(call) {
    needScorer(call);
    const out = call.args.text("out");
    return out === undefined ? undefined : reserve(call, out);
  },

  async work(call) {
    const { args, progress, signal } = call;
    const scorer = needScorer(call);
    const rollouts = (await readFiles(call)).flatMap((file) => file.rollouts);
    const inputs = rollouts.map((rollout, index) => inputOf(rollout, index, args.text("answer"), scorer));
    progress.start(`judging by ${scorer}`, "completions", inputs.length);
    const results = await scorerOf(scorer)(inputs, {
      signal,
      onProgress: (done) => {
        progress.reach(done);
      },
    });
    progress.end();
    const judged = rollouts.map((rollout, index) => withReward(rollout, results[index]!, args.text("name")));
    return { data: countsOf(rollouts, results), rollouts: judged };
  },

  async finish(call, place, data, judged) {
    const { args, outputs } = call;
    const { rollouts, rewards, reasons, recorded, same } = joinCounts(data);
    if (place) await write(call, args.text("out")!, place, judged.rollouts, judged);
    const agreement = recorded === 0 ? null : same / recorded;
    const rows = Object.entries(reasons).map(([reason, count]) => [reason, String(count), percent(count / rollouts)]);
    return {
      json: {
        scorer: needScorer(call),
        rollouts,
        rewards,
        abstained: rollouts - rewards.count,
        reasons,
        agreesWithRecorded: agreement,
        outputs: outputs.names,
      },
      text:
        `${rollouts} completions, mean reward ${brief(rewards.mean)}\n\n${table(["reason", "completions", "share"], rows)}` +
        (agreement === null ? "" : `\nthe same reward as in the file: ${percent(agreement)}\n`) +
        wrote(outputs.names),
    };
  },
};

export const reward = sharedCommand(
  {
    name: "reward",
    usage: "FILE… --scorer NAME [--answer FIELD] [--out FILE]   |   --serve --scorer NAME [--port N]",
    summary: "judge completions: mathematics by value, programs against tests in a sandbox",
    about: `Judges the text of each completion and writes the rollouts with "reward" (or rewards.NAME with --name), and why as
meta.reward_reason. Scorers: ${SCORER_NAMES.join(", ")}. "math" compares the final answer by value; "code" runs the program in
the completion against its tests, in a sandbox; "route" takes the one that meta.ability names; "egpo" and "egpo-first" judge
by text as those systems do. --serve judges what remoteReward, or any program, posts: {"query", "prompts", "labels"}, answered by
{"rewards", "reasons"}; /health and /metrics say how it is.`,
    options: {
      scorer: { value: "NAME", short: "s", text: "the scorer that judges" },
      answer: {
        value: "FIELD",
        text: `the field of meta with the right answer or the tests. Default: the first of ${ANSWERS.join(", ")}`,
      },
      name: { value: "NAME", text: "put the rewards beside others, as rewards.NAME" },
      ...SERVE_OPTIONS,
      ...WRITE_OPTIONS,
      ...READ_OPTIONS,
    },
    examples: [
      "surprisal reward dump.jsonl --scorer math --out judged.jsonl",
      "surprisal reward dump.jsonl --scorer code --answer tests --out judged.jsonl",
      "surprisal reward dump.jsonl -s egpo --json",
      "surprisal reward --serve --scorer code --port 8800",
      "surprisal reward dump.jsonl -s route --name verifier -o judged.parquet",
    ],
    files: { least: 1, most: Infinity, what: "rollout files", unless: "serve" },
  },
  steps,
);
