// Runs of a command line: a file each, or a folder with the files of one.
import { readdirSync, statSync } from "node:fs";
import * as path from "node:path";
import { SurprisalError } from "../../core/errors";
import type { Rollout } from "../../io";
import { formatOfPath } from "../../io/format";
import type { Call } from "../shell/command";
import { noteWarnings, openRollouts, shownName } from "./read-batches";

export interface ReadRun {
  readonly name: string;
  readonly rollouts: readonly Rollout[];
}

const inOrder = new Intl.Collator("en", { numeric: true });

/** The files of rollouts in a folder, 9.jsonl before 10.jsonl; a file itself is one. */
function filesOf(place: string): string[] {
  if (place === "-" || statSync(place, { throwIfNoEntry: false })?.isDirectory() !== true) return [place];
  const files = readdirSync(place, { withFileTypes: true })
    .filter((entry) => entry.isFile() && formatOfPath(entry.name) !== undefined && !entry.name.startsWith("."))
    .map(({ name }) => name)
    .sort(inOrder.compare)
    .map((name) => path.join(place, name));
  if (files.length === 0)
    throw new SurprisalError("ERR_SURPRISAL_FILE", `${place}: no file of rollouts in it`, {
      name: place,
      want: "a folder with .jsonl, .jsonl.gz, .json or .parquet files",
    });
  return files;
}

/** The last number in a file's name: 100 of "step_100.jsonl". */
function numberOf(file: string): number | undefined {
  const digits = /(\d+)\D*$/.exec(path.basename(file).replace(/\.(?:jsonl|ndjson|json|parquet)(?:\.gz)?$/i, ""))?.[1];
  return digits === undefined ? undefined : Number(digits);
}

async function readOne(call: Call, file: string, step: number | undefined): Promise<Rollout[]> {
  const reader = openRollouts(call, file);
  const rollouts: Rollout[] = [];
  for await (const rollout of reader)
    rollouts.push(rollout.step === undefined && step !== undefined ? { ...rollout, step } : rollout);
  call.progress.end();
  noteWarnings(call, reader.report);
  return rollouts;
}

/** The rollouts of a run. Where they name no step, the numbers in the names of its files are the steps. */
export async function readRun(call: Call, place: string, name: string): Promise<ReadRun> {
  const files = filesOf(place);
  const numbers = files.map(numberOf);
  const numbered = files.length > 1 && new Set(numbers).size === files.length;
  const rollouts: Rollout[] = [];
  for (const [i, file] of files.entries())
    for (const rollout of await readOne(call, file, numbered ? numbers[i] : undefined)) rollouts.push(rollout);
  if (rollouts.length === 0)
    throw new SurprisalError("ERR_SURPRISAL_FILE", `${shownName(place)}: no rollouts in it`, {
      name: place,
      want: "at least one rollout",
    });
  return { name, rollouts };
}

/** What a run is called: its file's name without endings, or its folder's. */
export const runName = (place: string): string =>
  place === "-"
    ? "<stdin>"
    : path.basename(path.resolve(place)).replace(/\.(?:jsonl|ndjson|json|parquet)(?:\.gz)?$/i, "");
