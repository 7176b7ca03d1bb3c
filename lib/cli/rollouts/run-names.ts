// What runs of a command line are called.
import * as path from "node:path";
import type { Arguments, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";

/** Flags of every command that takes several runs. */
export const NAME_OPTION: OptionSpecs = {
  name: {
    value: "TEXT",
    multiple: true,
    text: "what a run is called, in their order. Default: its file or folder",
  },
};

/** A file's name without endings, or a folder's. */
const nameOf = (place: string): string =>
  place === "-"
    ? "<stdin>"
    : path.basename(path.resolve(place)).replace(/\.(?:jsonl|ndjson|json|parquet)(?:\.gz)?$/i, "");

/** @throws UsageError for two runs of one name, or more names than runs */
export function runNames(args: Arguments): string[] {
  const texts = args.texts("name");
  const names = args.files.map((file, i) => texts[i] ?? nameOf(file));
  if (texts.length > args.files.length)
    throw new UsageError(`--name stands ${texts.length} times, for ${args.files.length} runs`, { name: "--name" });
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new UsageError(`two runs are called "${twice}"; --name TEXT, once for each run, tells them apart`, {
      name: "--name",
      got: twice,
    });
  return names;
}
