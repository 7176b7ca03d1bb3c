// Rollouts into the file that a command line names, by way of a temporary name.
import * as path from "node:path";
import { type FileFormat, type Rollout, writeRollouts, type WriteReport } from "../../io";
import { oneWord } from "../shell/arguments";
import type { Call, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { FORMAT_NAMES } from "./read-flags";

const ENDINGS = /\.(jsonl|jsonl\.gz|parquet|safetensors|npz)$/i;

/** Flags of every command that writes rollouts. */
export const WRITE_OPTIONS: OptionSpecs = {
  out: { value: "FILE", short: "o", text: "where the rollouts go: .jsonl, .jsonl.gz, .parquet, .safetensors or .npz" },
  to: { value: "FORMAT", text: `layout of --out, where its name does not say it: ${FORMAT_NAMES.join(", ")}` },
};

/** Reserves a place, so that a command learns before its work that it cannot write. */
export async function reserve(
  { args, outputs }: Call,
  file: string,
): Promise<{ readonly temporary: string; readonly format: FileFormat | undefined }> {
  const format = oneWord(args, "to", FORMAT_NAMES);
  if (format === undefined && !ENDINGS.test(file))
    throw new UsageError(
      `${file === "-" ? "standard output" : file} does not end with .jsonl, .jsonl.gz, .parquet, .safetensors or .npz; --to names the layout`,
      { name: "--out", got: file },
    );
  return { temporary: await outputs.add(file), format };
}

/** Writes to a reserved place; shows progress where `total` is known. */
export async function write(
  call: Call,
  file: string,
  place: { readonly temporary: string; readonly format: FileFormat | undefined },
  rollouts: Iterable<Rollout> | AsyncIterable<Rollout>,
  total?: number,
): Promise<WriteReport> {
  const { progress, signal } = call;
  if (total !== undefined) progress.start(`writing ${path.basename(file)}`, "rollouts", total);
  const report = await writeRollouts(place.temporary, rollouts, {
    signal,
    onProgress:
      total !== undefined
        ? ({ rollouts: done }) => {
            progress.reach(done);
          }
        : undefined,
    format: place.format,
  });
  progress.end();
  return report;
}
