// surprisal report: rollouts as an HTML page.
import { Drawn } from "./shell/printed";
import { wrote } from "./shell/table";
import { UsageError } from "./shell/exit-codes";
import { writeFile } from "node:fs/promises";
import { renderTerminal, type ReportStep, reportTables, summarize } from "../report";
import { backendOf, BACKEND_OPTION } from "./backend-option";
import { EXPORT_OPTIONS, exportEvents, exportTables, scalarLines } from "./exporting";
import { BATCH_OPTION, inStepOrder, needWholeBatch, readBatches } from "./rollouts/read-batches";
import { READ_OPTIONS } from "./rollouts/read-flags";
import { preparedStep, SPANS, writeReport } from "./reporting";
import { sharedCommand } from "./shards/shared-command";
import type { Steps } from "./shards/steps";
import { flagsOf, optionsFrom } from "./tables/option-flags";

interface Place {
  readonly page: string;
  readonly scalarsFile: string | undefined;
}

const steps: Steps<Place, readonly ReportStep[]> = {
  async reserve({ args, outputs }) {
    const out = args.text("out");
    if (out === undefined)
      throw new UsageError("--out is missing: the page to write, such as --out report.html", { name: "--out" });
    optionsFrom(args, SPANS);
    backendOf(args);
    const page = await outputs.add(out);
    const scalars = args.text("scalars");
    return { page, scalarsFile: scalars === undefined ? undefined : await outputs.add(scalars) };
  },

  async work(call) {
    const { args, progress } = call;
    const options = optionsFrom(args, SPANS);
    const backend = backendOf(args);
    const batches = await readBatches(call);
    progress.start("preparing the page", "batches", batches.length);
    const data = batches.map((batch) => {
      needWholeBatch(batch, "a page shows whole batches");
      const step = preparedStep(batch, options, { backend });
      progress.advance(1);
      return step;
    });
    progress.end();
    return { data };
  },

  async finish(call, { page, scalarsFile }, data) {
    const { args, stdout, env, outputs } = call;
    const all = inStepOrder(data.flat()); // parts lie in the order of files
    const settings = { files: args.files.join(", "), ...optionsFrom(args, SPANS) };
    await writeReport(page, all, settings, args.text("title"));
    const summary = summarize(all);
    if (args.text("csv") !== undefined) await exportTables(call, reportTables(all));
    await exportEvents(call, summary);
    if (scalarsFile !== undefined) await writeFile(scalarsFile, scalarLines(summary));
    const colour = stdout.isTTY === true && !env["NO_COLOR"];
    return {
      json: { outputs: outputs.names, summary },
      text: [
        new Drawn(renderTerminal(summary, { colour, width: Math.max(40, Math.min(120, stdout.columns ?? 100)) })),
        `\n${wrote(outputs.names)}`,
      ],
    };
  },
};

export const report = sharedCommand(
  {
    name: "report",
    usage: "FILE… --out report.html [--start TEXT --end TEXT]",
    summary: "an HTML page about rollouts: tokens coloured by entropy and advantage, groups, distributions",
    about: `Writes one HTML file that needs no network: the tokens of rollouts with their entropies and advantages, the steps between
delimiters, distributions, the groups of each batch, and a slider over batches. Advantages are those in the file, else of
the rewards relative to the group; with delimiters they are modulated by entropy (EMPG).`,
    options: {
      out: { value: "FILE", short: "o", text: "the page to write" },
      title: { value: "TEXT", text: "title of the page" },
      options: { value: "JSON", text: "the options below as a JSON object, or a file with one; flags win" },
      ...EXPORT_OPTIONS,
      scalars: { value: "FILE", text: "also write the scalars, a JSON object a step, as Weights & Biases logs them" },
      ...BATCH_OPTION,
      ...READ_OPTIONS,
      ...BACKEND_OPTION,
    },
    moreOptions: () => ({
      title: "where steps begin and end, and what they weigh (docs/advantage/empg.md)",
      options: flagsOf(SPANS),
    }),
    examples: [
      "surprisal report rollouts.jsonl --out report.html",
      "surprisal report run/*.jsonl -o run.html --csv tables --tensorboard events --scalars scalars.jsonl",
      "surprisal report run/*.jsonl -o run.html --start '[[151667]]' --end '[[151668]]'",
    ],
    files: { least: 1, most: Infinity, what: "rollout files" },
  },
  steps,
);
