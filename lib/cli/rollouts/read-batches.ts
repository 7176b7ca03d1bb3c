// Reads the files of a command line with progress, and splits their rollouts into batches.
import * as path from "node:path";
import type { Collective } from "../../core/collective";
import { SurprisalError } from "../../core/errors";
import { readRollouts, type ReadReport, type Rollout, type RolloutSource } from "../../io";
import { counted } from "../../report/numbers";
import { visible } from "../../report/visible";
import { splitBySteps } from "../../io/rollout-groups";
import { oneWord } from "../shell/arguments";
import type { ShardView } from "../shards/shard";
import type { Call, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { readOptions } from "./read-flags";
import { runFiles } from "./run-files";

const BATCHES = ["step", "file", "all"] as const;
/** What counts as one batch. */
export type BatchRule = (typeof BATCHES)[number];

export const batchRuleOf = ({ args }: Pick<Call, "args">): BatchRule => oneWord(args, "batch", BATCHES) ?? "step";

/** Whether everything is one batch, which may lie on several processes. */
export const isOneBatch = (call: Pick<Call, "args">): boolean => batchRuleOf(call) === "all";

export const BATCH_OPTION: OptionSpecs = {
  batch: {
    value: "WORD",
    text: "which rollouts are computed together: each step of each file (step), each file, or all. Default step",
  },
};

export interface Batch {
  /** For tables: "step 3" of the one file there is, else "run.jsonl, step 3". */
  readonly label: string;
  /** For messages: always with the file. */
  readonly source: string;
  /** Training step, where it is one step. */
  readonly step?: number;
  readonly rollouts: readonly Rollout[];
  /** Where the batch lies on several processes: those, each with its own rollouts. */
  readonly collective?: Collective;
}

export interface ReadFile {
  readonly report: ReadReport;
  readonly rollouts: readonly Rollout[];
}

/** Chunks until there are no more, or until somebody says stop: a pipe may stay silent for ever. */
async function* untilStopped(
  chunks: AsyncIterable<Uint8Array | string>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | string> {
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => {
      reject(signal.reason as Error);
    };
  });
  stopped.catch(() => undefined); // whether or not anybody waits
  signal.addEventListener("abort", stop, { once: true });
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    signal.throwIfAborted();
    while (true) {
      const next = await Promise.race([iterator.next(), stopped]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Standard input where the name is "-". */
function sourceOf({ stdin, signal }: Call, file: string): RolloutSource {
  if (file !== "-") return file;
  if (stdin === undefined)
    throw new SurprisalError("ERR_SURPRISAL_FILE", "standard input cannot be read here", { name: "-" });
  return untilStopped(stdin, signal);
}

export const shownName = (file: string): string => (file === "-" ? "<stdin>" : file);

/** One file, one rollout after the other. */
export function openRollouts(call: Call, file: string): ReturnType<typeof readRollouts> {
  const { progress } = call;
  let started = false;
  return readRollouts(sourceOf(call, file), {
    ...readOptions(call, shownName(file)),
    onProgress({ bytes, totalBytes }) {
      if (!started) progress.start(`reading ${path.basename(shownName(file))}`, "bytes", totalBytes);
      started = true;
      progress.reach(bytes);
    },
  });
}

const MOST_NOTES = 5;

/** Writes the warnings of readers to standard error; what several files have in common is said once. */
export function noteWarnings({ stderr }: Pick<Call, "stderr">, reports: readonly ReadReport[]): void {
  const notes = new Map<string, { readonly message: string; files: number }>();
  for (const { name, warnings } of reports)
    for (const what of new Set(warnings.map(({ message }) => message.replace(`${name}:`, "")))) {
      // The same at the same line of many files, such as the first.
      const known = notes.get(what);
      if (known) ++known.files;
      else notes.set(what, { message: `${name}:${what}`, files: 1 });
    }
  const all = Array.from(notes.values());
  for (const { message, files } of all.slice(0, MOST_NOTES)) {
    const others = files > 1 ? `; the same in ${counted(files - 1, "other file")}` : "";
    stderr.write(`note: ${visible(message)}${others}\n`);
  }
  const unlisted = reports.reduce((sum, { warnings, warningCount }) => sum + warningCount - warnings.length, 0);
  const left = Math.max(all.length - MOST_NOTES, 0) + unlisted;
  if (left > 0) stderr.write(`note: ${left} more; surprisal inspect lists them\n`);
}

/** The files, and those of the folders among them, opened; of a part, the rollouts that belong to it. */
function* openEach(call: Call): Generator<{ readonly report: ReadReport; readonly rollouts: AsyncIterable<Rollout> }> {
  async function* own(reader: AsyncIterable<Rollout>, index: number): AsyncGenerator<Rollout> {
    let row = 0;
    for await (const rollout of reader) if (call.shard?.keeps?.(index, row++) ?? true) yield rollout;
    call.progress.end();
  }
  // A part has its files from the plan of the whole.
  const names = call.shard ? call.args.files : call.args.files.flatMap(runFiles);
  for (const [index, file] of names.entries()) {
    const reader = openRollouts(call, file);
    yield { report: reader.report, rollouts: own(reader, index) };
  }
}

/** All files, whole. Notes nothing. */
export async function readEach(call: Call): Promise<readonly ReadFile[]> {
  const files: ReadFile[] = [];
  for (const { report, rollouts } of openEach(call)) files.push({ report, rollouts: await arrayOf(rollouts) });
  return files;
}

async function arrayOf(rollouts: AsyncIterable<Rollout>): Promise<readonly Rollout[]> {
  const all: Rollout[] = [];
  for await (const rollout of rollouts) all.push(rollout);
  return all;
}

/** The rollouts of all files, some at a time, with the warnings of the readers on standard error behind the last. */
export async function* readSome(call: Call, most: number): AsyncGenerator<readonly Rollout[]> {
  const reports: ReadReport[] = [];
  let some: Rollout[] = [];
  for (const { report, rollouts } of openEach(call)) {
    reports.push(report);
    for await (const rollout of rollouts) {
      some.push(rollout);
      if (some.length < most) continue;
      yield some;
      some = [];
    }
  }
  if (some.length > 0) yield some;
  noteWarnings(call, reports);
}

/** The same, with the warnings of the readers on standard error. */
async function readFiles(call: Call): Promise<readonly ReadFile[]> {
  const files = await readEach(call);
  noteWarnings(
    call,
    files.map(({ report }) => report),
  );
  return files;
}

/** Rollouts that are computed together, in the order of the files and of the steps in them. Parts call batches alike. */
export function batchesOf(files: readonly ReadFile[], rule: BatchRule, shard?: ShardView): Batch[] {
  const whole = (source: string, rollouts: readonly Rollout[]): Batch => ({ label: source, source, rollouts });
  if (rule === "all") {
    const names = shard ? shard.files.map(shownName) : files.map(({ report }) => report.name);
    const batch = whole(
      names.join(", "),
      files.flatMap(({ rollouts }) => rollouts),
    );
    return [shard && shard.collective.size > 1 ? { ...batch, collective: shard.collective } : batch];
  }
  if (rule === "file") return files.map(({ report, rollouts }) => whole(report.name, rollouts));
  return files.flatMap(({ report: { name }, rollouts }) =>
    splitBySteps(rollouts).map(({ step, rollouts: own }): Batch => {
      if (step === undefined) return whole(name, own);
      const source = `${name}, step ${step}`;
      const label = (shard ?? { files }).files.length === 1 ? `step ${step}` : source;
      return { label, source, step, rollouts: own };
    }),
  );
}

/** By training step where each is another one, as files in the order of a shell are not: 10.jsonl stands before 2.jsonl there. */
export function inStepOrder<Of extends Pick<Batch, "step">>(batches: readonly Of[]): readonly Of[] {
  const steps = new Set(batches.map(({ step }) => step));
  if (steps.has(undefined) || steps.size < batches.length) return batches;
  return [...batches].sort((a, b) => a.step! - b.step!);
}

/** Refuses a batch that lies on several processes. */
export function needWholeBatch({ collective }: Batch, why: string): void {
  if (!collective) return;
  throw new UsageError(
    `--batch is "all", and the rollouts lie in ${collective.size} parts: ${why}; expected step or file`,
    {
      name: "--batch",
      got: "all",
      want: "step or file",
    },
  );
}

/** Files of a command line as batches; at least one rollout, but in a part that has none of them. */
export async function readBatches(call: Call): Promise<readonly Batch[]> {
  const batches = batchesOf(await readFiles(call), batchRuleOf(call), call.shard).filter(
    ({ rollouts }) => rollouts.length > 0,
  );
  if (batches.length === 0 && !call.shard)
    throw new SurprisalError("ERR_SURPRISAL_FILE", `${call.args.files.map(shownName).join(", ")}: no rollouts in it`, {
      want: "at least one rollout",
    });
  return batches;
}
