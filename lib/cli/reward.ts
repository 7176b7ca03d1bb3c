// surprisal reward: completions judged by a scorer, rewards into the rollouts.
import type { Rollout } from "../io";
import type { RewardInput, RewardResult } from "../reward";
import { SurprisalError } from "../core/errors";
import { brief, percent, table, wrote } from "./shell/table";
import { type Figures, figuresOf, joinFigures } from "./rollouts/figures";
import { readSome } from "./rollouts/read-batches";
import { READ_OPTIONS } from "./rollouts/read-flags";
import { reserve, write, WRITE_OPTIONS } from "./rollouts/write-rollouts";
import { needScorer, SCORER_NAMES, scorerOf } from "./scoring/scorers";
import type { Call } from "./shell/command";
import { SERVE_OPTIONS, serveScorer } from "./scoring/serve";
import { sharedCommand } from "./shards/shared-command";
import { type Steps, taken } from "./shards/steps";

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
  rollouts: number;
  rewards: Figures;
  reasons: Record<string, number>;
  /** Of those that had a reward: how many, and how many got the same one. */
  recorded: number;
  same: number;
}

/** Completions judged at a time: enough for all processors, and few in memory. */
const AT_ONCE = 4096;

/** Judges rollouts as they are read. `data` is whole when the last has been taken. */
async function* judged(call: Call, data: Data): AsyncGenerator<Rollout> {
  const { args, signal } = call;
  const name = needScorer(call);
  const rewards: number[] = [];
  for await (const rollouts of readSome(call, AT_ONCE)) {
    const before = data.rollouts;
    const inputs = rollouts.map((rollout, index) => inputOf(rollout, before + index, args.text("answer"), name));
    const results = await scorerOf(name, before)(inputs, { signal });
    data.rollouts += rollouts.length;
    for (const [index, rollout] of rollouts.entries()) {
      const { reward, reason } = results[index]!;
      data.reasons[reason] = (data.reasons[reason] ?? 0) + 1;
      if (!Number.isNaN(reward)) {
        rewards.push(reward);
        data.recorded += Number(rollout.reward !== undefined);
        data.same += Number(rollout.reward === reward);
      }
      yield withReward(rollout, results[index]!, args.text("name"));
    }
  }
  data.rewards = figuresOf(rewards);
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

  work(call) {
    needScorer(call);
    const data: Data = { rollouts: 0, rewards: figuresOf([]), reasons: {}, recorded: 0, same: 0 };
    return Promise.resolve({ data, rollouts: judged(call, data) });
  },

  async finish(call, place, data, rows) {
    const { args, outputs } = call;
    if (place) await write(call, args.text("out")!, place, rows.rollouts, rows);
    else await taken(rows.rollouts);
    const { rollouts, rewards, reasons, recorded, same } = joinCounts(data);
    const agreement = recorded === 0 ? null : same / recorded;
    const shares = Object.entries(reasons).map(([reason, count]) => [reason, String(count), percent(count / rollouts)]);
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
        `${rollouts} completions, mean reward ${brief(rewards.mean)}\n\n${table(["reason", "completions", "share"], shares)}` +
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
