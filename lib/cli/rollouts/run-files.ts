// The files of a run: a folder's, or the one that is named.
import { readdirSync, statSync } from "node:fs";
import * as path from "node:path";
import { SurprisalError } from "../../core/errors";
import { formatOfPath } from "../../io/format";

const inOrder = new Intl.Collator("en", { numeric: true });

/**
 * The files of rollouts in a folder, but not in its folders, 9.jsonl before 10.jsonl; a file itself is one.
 *
 * @throws SurprisalError for a folder without one
 */
export function runFiles(place: string): string[] {
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

/** The numbers in the names of the files of a run, where there are several files and each has another number; else undefined for each. */
export function fileNumbers(files: readonly string[]): readonly (number | undefined)[] {
  const numbers = files.map(numberOf);
  return files.length > 1 && new Set(numbers).size === files.length ? numbers : files.map(() => undefined);
}
