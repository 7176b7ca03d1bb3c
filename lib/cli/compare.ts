// surprisal compare: runs side by side.
import { writeFile } from "node:fs/promises";
import { type Comparison, compareRuns, comparisonTables, prepareSteps, renderComparison, summarize } from "../report";
import { backendOf, BACKEND_OPTION } from "./backend-option";
import { EXPORT_OPTIONS, exportEvents, exportScalars, exportTables } from "./exporting";
import { factsOf } from "./reporting";
import { readRun } from "./rollouts/read-runs";
import { NAME_OPTION, runNames } from "./rollouts/run-names";
import { READ_OPTIONS } from "./rollouts/read-flags";
import type { Answer, Call, Command } from "./shell/command";
import { UsageError } from "./shell/exit-codes";
import { brief, table, wrote } from "./shell/table";

/** What may stand in the name of a folder or a file. */
const folderName = (name: string, run: number): string => name.replace(/[^\p{L}\p{N}_.-]+/gu, "_") || `run_${run}`;

function shareOf(call: Call): number | undefined {
  const text = call.args.text("last-steps");
  if (text === undefined) return undefined;
  const share = Number(text);
  if (text.trim() === "" || !(share >= 0 && share <= 1))
    throw new UsageError(`--last-steps is "${text}", expected a number from 0 to 1`, {
      name: "--last-steps",
      got: text,
    });
  return share;
}

function textOf({ runs, differences, prompts }: Comparison): string {
  const rows = differences.map(({ figure, run, first, mean, difference, low, high, paired, prompts: [, own] }) => [
    figure,
    runs[run]!.name,
    brief(first),
    brief(mean),
    brief(difference),
    `${brief(low)} … ${brief(high)}`,
    paired ? `${own} in common` : String(own),
  ]);
  const better = prompts.filter(({ difference }) => difference > 0).length;
  const worse = prompts.filter(({ difference }) => difference < 0).length;
  const head = ["figure", "run", runs[0]!.name, "this run", "difference", "95 %", "prompts"];
  return (
    table(head, rows) +
    (prompts.length > 0 ? `\n${prompts.length} prompts in common: ${better} better, ${worse} worse\n` : "")
  );
}

async function run(call: Call): Promise<Answer> {
  const { args, outputs, progress } = call;
  const names = runNames(args);
  const options = { lastSteps: shareOf(call) };
  const out = args.text("out");
  const page = out === undefined ? undefined : await outputs.add(out);
  const backend = backendOf(args);
  const runs = [];
  for (const [i, file] of args.files.entries()) {
    const { name, rollouts } = await readRun(call, file, names[i]!);
    runs.push({ name, steps: prepareSteps(rollouts, { backend }) });
  }
  progress.start("comparing", "runs", runs.length);
  const comparison = compareRuns(runs, options);
  if (page !== undefined) {
    const facts = factsOf({ files: args.files.join(", ") });
    await writeFile(page, renderComparison(runs, { ...options, title: args.text("title"), facts }));
  }
  await exportTables(call, comparisonTables(comparison));
  for (const [i, { name, steps }] of runs.entries()) {
    const [summary, place] = [summarize(steps), folderName(name, i)];
    await exportEvents(call, summary, place);
    await exportScalars(call, summary, place);
    progress.advance(1);
  }
  progress.end();
  return { json: { outputs: outputs.names, comparison }, text: textOf(comparison) + wrote(outputs.names) };
}

export const compare: Command = {
  name: "compare",
  usage: "RUN RUN… [--out compare.html]",
  summary: "runs side by side: curves, differences with intervals, which prompts got better or worse",
  about: `Each RUN is a file of rollouts, or a folder with the files of one run. Prints how far each run is from the first over the
last steps, with 95 % intervals by bootstrap over prompts; writes a page with the curves of every scalar, the prompts that
changed most and the best response of each run. Where rollouts name no step, the numbers in the files' names are the steps.`,
  options: {
    out: { value: "FILE", short: "o", text: "the page to write" },
    title: { value: "TEXT", text: "title of the page" },
    ...NAME_OPTION,
    "last-steps": { value: "SHARE", text: "steps that differences are about, from the end. Default 0.25" },
    ...EXPORT_OPTIONS,
    scalars: {
      value: "FOLDER",
      text: "also write the scalars, a file a run with a JSON object a step, as Weights & Biases logs them",
    },
    ...READ_OPTIONS,
    ...BACKEND_OPTION,
  },
  examples: [
    "surprisal compare baseline/ candidate/ --out compare.html",
    "surprisal compare a.jsonl b.jsonl --name grpo --name empg --csv tables --tensorboard events",
  ],
  files: { least: 2, most: Infinity, what: "runs" },
  run,
};
