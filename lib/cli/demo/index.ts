// surprisal demo: a small policy learns while you watch, and its rollouts are yours to look at.
import { join } from "node:path";
import { mkdir } from "node:fs/promises";
import type { Rollout } from "../../io";
import { needName, wholeNumber } from "../shell/arguments";
import type { Answer, Call, Command } from "../shell/command";
import { wrote } from "../shell/table";
import { visible } from "../../report/visible";
import { prepareAsOne, type SpanOptions } from "../../report/prepare";
import { delimitersOf } from "../rollouts/delimiters";
import { writeReport } from "../reporting";
import { heading, line, type RunAnswer } from "./curve";
import { backendOf, BACKEND_OPTION } from "../backend-option";
import { write } from "../rollouts/write-rollouts";
import { type Method, METHODS, train } from "./train";

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function needMethods(text: string | undefined): readonly Method[] {
  return text === undefined ? METHODS : text.split(",").map((word) => needName("--methods", word.trim(), METHODS));
}

/** The rollouts that are kept of one step. */
interface Batch {
  readonly label: string;
  readonly rollouts: readonly Rollout[];
}

async function runOne(
  method: Method,
  seed: number,
  steps: number,
  call: Call,
): Promise<{ readonly answer: RunAnswer; readonly batches: readonly Batch[] }> {
  const { progress, signal, args } = call;
  const every = wholeNumber(args, "every", 1, 10);
  const begun = performance.now();
  const rewards: number[] = [];
  const batches: Batch[] = [];
  let entropyEnd = 0;
  progress.start(`training ${method}`, "steps", steps);
  for (const { step, reward, entropy, records } of train(method, seed, steps, { backend: backendOf(args) })) {
    signal.throwIfAborted();
    rewards.push(reward);
    entropyEnd = entropy;
    if (step % every === 0 || step === steps - 1)
      batches.push({ label: `${method}, step ${step}`, rollouts: records() });
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
    batches,
  };
}

/** The rollouts of all runs as one page, with the steps between delimiters. */
async function writePage(file: string, batches: readonly Batch[], call: Call): Promise<void> {
  call.progress.start("preparing the page", "steps", batches.length);
  const steps = batches.map(({ label, rollouts }) => {
    const spans = delimitersOf(rollouts) as unknown as SpanOptions;
    call.progress.advance(1);
    return prepareAsOne(label, rollouts, { spans, backend: backendOf(call.args) });
  });
  call.progress.end();
  await writeReport(file, steps, {}, "surprisal demo");
}

async function run(call: Call): Promise<Answer> {
  const { args, outputs } = call;
  const methods = needMethods(args.text("methods"));
  const steps = wholeNumber(args, "steps", 1, 60);
  const seed = wholeNumber(args, "seed", 0, 1);
  const folder = args.text("out") ?? "surprisal-demo";
  await mkdir(folder, { recursive: true });
  const places = new Map<Method, string>();
  for (const method of methods) places.set(method, await outputs.add(join(folder, `${method}.jsonl`)));
  const page = join(folder, "report.html");
  const temporaryPage = await outputs.add(page);
  const runs: RunAnswer[] = [];
  const kept: Batch[] = [];
  // Each curve as soon as it is known: whoever watches does not wait for the last.
  const show = (text: string): unknown => args.json || call.stdout.write(text);
  show(heading());
  for (const [method, temporary] of places) {
    const { answer, batches } = await runOne(method, seed, steps, call);
    runs.push(answer);
    show(line(answer));
    kept.push(...batches);
    const records = batches.flatMap(({ rollouts }) => rollouts);
    await write(call, temporary, { temporary, format: "jsonl" }, records);
  }
  await writePage(temporaryPage, kept, call);
  const example = outputs.names.find((output) => output.includes("empg")) ?? outputs.names[0]!;
  const text = `
The best reward there is is 0.80. One seed of a toy: it shows that learning works, not which method is better.
${wrote(outputs.names)}open ${visible(page)} in a browser, or go on with: surprisal inspect ${visible(example)}
`;
  return { json: { steps, runs, outputs: outputs.names }, text };
}

export const demo: Command = {
  name: "demo",
  usage: "[--methods LIST] [--steps N] [--out DIR]",
  summary: "a small policy learns while you watch, in seconds, and leaves its rollouts and a report",
  about: `Trains a policy by reinforcement, here and now, with nothing but this package: it answers "a b" with a step, (a + b) mod 4,
and an answer, that times b mod 4. The policy is a table of logits, so the gradient of the logits is all it needs; sampling,
rewards, advantages, the clipped loss and its gradient are real. A network is trained the same way in the repository:
npm run demo, docs/demo.md.`,
  options: {
    methods: { value: "LIST", text: `with commas between them: ${METHODS.join(",")}. Default all` },
    steps: { value: "N", text: "training steps; 128 responses each. Default 60" },
    seed: { value: "N", text: "of the random numbers; the same seed repeats to the last bit. Default 1" },
    out: {
      value: "DIR",
      short: "o",
      text: "where DIR/METHOD.jsonl and DIR/report.html go, the rollouts of some steps. Default surprisal-demo",
    },
    every: { value: "N", text: "which steps are kept: each Nth and the last. Default 10" },
    ...BACKEND_OPTION,
  },
  examples: [
    "surprisal demo",
    "surprisal demo --out demo && surprisal advantages demo/empg.jsonl --estimator empg --out out.parquet --report report.html",
    "surprisal demo --methods grpo --steps 200 --json",
  ],
  files: { least: 0, most: 0, what: "files" },
  run,
};
