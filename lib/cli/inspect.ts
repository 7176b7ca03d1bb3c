// surprisal inspect: what is in a file of rollouts, what is missing, and what looks wrong.
import { BATCH_OPTION, batchesOf, inStepOrder, readEach } from "./rollouts/read-batches";
import { READ_OPTIONS } from "./rollouts/read-flags";
import { JSON_NAMES, type ReadReport, type Rollout } from "../io";
import { renderTerminal, summarize } from "../report";
import { prepareAsOne } from "../report/prepare";
import { counted } from "../report/numbers";
import { visible } from "../report/visible";
import { oneWord } from "./shell/arguments";
import type { Answer, Call, Command } from "./shell/command";
import { EXIT } from "./shell/exit-codes";
import { Drawn } from "./shell/printed";
import { percent } from "./shell/table";

/** JSON name → how many rollouts have it; in the order of the record. */
function fieldCounts(rollouts: readonly Rollout[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [key, name] of Object.entries(JSON_NAMES)) {
    const having = rollouts.reduce((sum, rollout) => sum + (rollout[key as keyof Rollout] === undefined ? 0 : 1), 0);
    if (having > 0) counts[name] = having;
  }
  return counts;
}

/** A sum of named rewards. */
const SUM = / \+ /;
const SUMMED = "; --reward-weight NAME=NUMBER weighs them";

function fileText(
  {
    name,
    format,
    dialect,
    rewardFrom,
    gzip,
    bytes,
    rollouts,
    skipped,
    minusInfinities,
    cutOff,
    warnings,
    warningCount,
  }: ReadReport,
  fields: Readonly<Record<string, number>>,
): string {
  const having = Object.entries(fields).map(([field, count]) =>
    count === rollouts ? field : `${field} (${percent(count / rollouts)})`,
  );
  const lost: string[] = [];
  if (skipped > 0) lost.push(`${skipped} left out`);
  if (minusInfinities > 0) lost.push(`${counted(minusInfinities, "log-prob")} of -9999 or -3.4e38 read as -Infinity`);
  if (cutOff) lost.push(`cut off at line ${cutOff.line}`);
  const notes = warnings.map(({ message }) => `  note: ${visible(message)}\n`).join("");
  const rest = warningCount > warnings.length ? `  note: ${warningCount - warnings.length} more\n` : "";
  return (
    `${visible(name)}: ${[counted(rollouts, "rollout"), `${format}${gzip ? ", gzip" : ""}`, dialect ?? "empty", `${bytes} bytes`, ...lost].join(", ")}\n` +
    `  fields: ${having.join(", ")}\n` +
    (rewardFrom === undefined
      ? ""
      : `  reward read from ${visible(rewardFrom)}${SUM.test(rewardFrom) ? SUMMED : ""}\n`) +
    `${notes}${rest}`
  );
}

async function run(call: Call): Promise<Answer> {
  const { args, stdout, env } = call;
  const files = await readEach(call);
  const rule = oneWord(args, "batch", ["step", "file", "all"]) ?? "step";
  const batches = inStepOrder(batchesOf(files, rule).filter(({ rollouts }) => rollouts.length > 0));
  const summary = summarize(batches.map(({ label, rollouts }) => prepareAsOne(label, rollouts)));
  const fields = files.map(({ rollouts }) => fieldCounts(rollouts));
  const colour = stdout.isTTY === true && !env["NO_COLOR"];
  const width = Math.max(40, Math.min(120, stdout.columns ?? 100));
  const serious = summary.steps.flatMap(({ warnings }) => warnings).filter(({ severity }) => severity === "serious");
  return {
    json: { files: files.map(({ report }, i) => ({ ...report, fields: fields[i] })), summary },
    text: [
      `${files.map(({ report }, i) => fileText(report, fields[i]!)).join("")}\n`,
      new Drawn(batches.length > 0 ? renderTerminal(summary, { colour, width }) : ""),
    ],
    exitCode: args.has("strict") && serious.length > 0 ? EXIT.failed : EXIT.done,
  };
}

export const inspect: Command = {
  name: "inspect",
  usage: "FILE… [--json]",
  summary: "what a file of rollouts holds: fields, groups, rewards, lengths, entropies, warnings",
  about: `Says how each file is laid out and which fields its rollouts have, then for each batch the distributions of rewards,
lengths, entropies and advantages, the groups, the gap between sampler and trainer, and what is worth a warning.`,
  options: {
    strict: { text: "exit code 1 where a warning is serious, such as log-probs that are not finite" },
    ...BATCH_OPTION,
    ...READ_OPTIONS,
  },
  examples: [
    "surprisal inspect rollouts.jsonl",
    "surprisal inspect dump/*.jsonl --from verl --batch file",
    "surprisal inspect rollouts.parquet --json --strict > facts.json",
  ],
  files: { least: 1, most: Infinity, what: "rollout files" },
  run,
};
