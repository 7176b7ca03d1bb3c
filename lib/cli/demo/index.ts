// surprisal demo: a small policy learns while you watch, and its rollouts are yours to look at.
import { join } from "node:path";
import { mkdir } from "node:fs/promises";
import type { Rollout } from "../../io";
import { needName, wholeNumber } from "../shell/arguments";
import type { Answer, Call, Command } from "../shell/command";
import { table, wrote } from "../shell/table";
import { backendOf, BACKEND_OPTION } from "../backend-option";
import { write } from "../rollouts/write-rollouts";
import { type Method, METHODS, train } from "./train";

interface RunAnswer {
  readonly method: Method;
  readonly seed: number;
  /** Mean rewards of the first step and of the last ten. */
  readonly rewardStart: number;
  readonly rewardEnd: number;
  readonly entropyEnd: number;
  readonly rewards: readonly number[];
  readonly seconds: number;
}

const BARS = "▁▂▃▄▅▆▇█";
const SHOWN = 30;

/** A line of block characters; rewards lie in [−0.5, 0.8]. */
function course(rewards: readonly number[]): string {
  const every = Math.max(1, rewards.length / SHOWN);
  return Array.from({ length: Math.min(SHOWN, rewards.length) }, (_, i) => {
    const share = (rewards[Math.floor(i * every)]! + 0.5) / 1.3;
    return BARS[Math.max(0, Math.min(BARS.length - 1, Math.floor(share * BARS.length)))]!;
  }).join("");
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function needMethods(text: string | undefined): readonly Method[] {
  return text === undefined ? METHODS : text.split(",").map((word) => needName("--methods", word.trim(), METHODS));
}

async function runOne(
  method: Method,
  seed: number,
  steps: number,
  call: Call,
): Promise<{ readonly answer: RunAnswer; readonly records: Rollout[] }> {
  const { progress, signal, args } = call;
  const backend = backendOf(args);
  const every = wholeNumber(args, "every", 1, 10);
  const begun = performance.now();
  const rewards: number[] = [];
  const records: Rollout[] = [];
  let entropyEnd = 0;
  progress.start(`training ${method}`, "steps", steps);
  for (const { step, reward, entropy, records: recordsOf } of train(
    method,
    seed,
    steps,
    backend === undefined ? {} : { backend },
  )) {
    signal.throwIfAborted();
    rewards.push(reward);
    entropyEnd = entropy;
    if (step % every === 0 || step === steps - 1) records.push(...recordsOf());
    progress.advance(1);
    await new Promise(setImmediate); // a signal is noticed here
  }
  progress.end();
  const seconds = Number(((performance.now() - begun) / 1000).toFixed(2));
  return {
    answer: {
      method,
      seed,
      rewardStart: rewards[0]!,
      rewardEnd: mean(rewards.slice(-10)),
      entropyEnd,
      rewards,
      seconds,
    },
    records,
  };
}

function textOf(runs: readonly RunAnswer[], outputs: readonly string[]): string {
  const rows = runs.map(({ method, rewardStart, rewardEnd, entropyEnd, rewards, seconds }) => [
    method,
    course(rewards),
    rewardStart.toFixed(2),
    rewardEnd.toFixed(2),
    entropyEnd.toFixed(3),
    `${seconds.toFixed(1)} s`,
  ]);
  const next = outputs.find((output) => output.includes("empg")) ?? outputs[0];
  return (
    table(["method", "mean reward of each step", "start", "end", "entropy", "time"], rows) +
    "\nThe best reward there is is 0.80. One seed of a toy: it shows that learning works, not which method is better.\n" +
    wrote(outputs) +
    (next === undefined
      ? "--rollouts DIR keeps the rollouts, to try the other commands on\n"
      : `next: surprisal inspect ${next}\n`)
  );
}

async function run(call: Call): Promise<Answer> {
  const { args, outputs } = call;
  const methods = needMethods(args.text("methods"));
  const steps = wholeNumber(args, "steps", 1, 60);
  const seed = wholeNumber(args, "seed", 0, 1);
  const folder = args.text("rollouts");
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  const places = new Map<Method, string>();
  if (folder !== undefined)
    for (const method of methods) places.set(method, await outputs.add(join(folder, `${method}.jsonl`)));
  const runs: RunAnswer[] = [];
  for (const method of methods) {
    const { answer, records } = await runOne(method, seed, steps, call);
    runs.push(answer);
    const temporary = places.get(method);
    if (temporary !== undefined) await write(call, temporary, { temporary, format: "jsonl" }, records);
  }
  return { json: { steps, runs, outputs: outputs.names }, text: textOf(runs, outputs.names) };
}

export const demo: Command = {
  name: "demo",
  usage: "[--methods LIST] [--steps N] [--rollouts DIR]",
  summary: "a small policy learns while you watch, in seconds, and leaves its rollouts",
  about: `Trains a policy by reinforcement, here and now, with nothing but this package: it answers "a b" with a step, (a + b) mod 4,
and an answer, that times b mod 4. The policy is a table of logits, so the gradient of the logits is all it needs; sampling,
rewards, advantages, the clipped loss and its gradient are real. A network is trained the same way in the repository:
npm run demo, docs/demo.md.`,
  options: {
    methods: { value: "LIST", text: `with commas between them: ${METHODS.join(",")}. Default all` },
    steps: { value: "N", text: "training steps; 128 responses each. Default 60" },
    seed: { value: "N", text: "of the random numbers; the same seed repeats to the last bit. Default 1" },
    rollouts: { value: "DIR", text: "write the rollouts of some steps to DIR/METHOD.jsonl" },
    every: { value: "N", text: "which steps --rollouts keeps: each Nth and the last. Default 10" },
    ...BACKEND_OPTION,
  },
  examples: [
    "surprisal demo",
    "surprisal demo --rollouts demo && surprisal advantages demo/empg.jsonl --estimator empg --out out.parquet --report report.html",
    "surprisal demo --methods grpo --steps 200 --json",
  ],
  files: { least: 0, most: 0, what: "files" },
  run,
};
