// Rollouts into the file that a command line names, by way of a temporary name.
import * as path from "node:path";
import { type FileFormat, type Rollout, writeRollouts, type WriteReport } from "../../io";
import { writeAtomically } from "../../io/atomic-file";
import { formatOfPath } from "../../io/format";
import type { Rows } from "../shards/steps";
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

interface Place {
  readonly temporary: string;
  readonly format: FileFormat | undefined;
}

/** Reserves a place, so that a command learns before its work that it cannot write. */
export async function reserve({ args, outputs }: Call, file: string): Promise<Place> {
  const format = oneWord(args, "to", FORMAT_NAMES);
  if (format === undefined && !ENDINGS.test(file))
    throw new UsageError(
      `${file === "-" ? "standard output" : file} does not end with .jsonl, .jsonl.gz, .parquet, .safetensors or .npz; --to names the layout`,
      { name: "--out", got: file },
    );
  return { temporary: await outputs.add(file), format };
}

/** Whether the file holds lines as they are. */
function isPlainLines({ temporary, format }: Place): boolean {
  return (format ?? formatOfPath(temporary)) === "jsonl" && !/\.gz$/i.test(temporary);
}

/** One piece behind the other, each part's whole or nothing. */
function concatenate({ temporary }: Place, total: number, pieces: AsyncIterable<Uint8Array>): Promise<WriteReport> {
  return writeAtomically("writeRollouts", temporary, async (file) => {
    for await (const piece of pieces) await file.write(piece);
    return { format: "jsonl", rollouts: total, bytes: file.bytes };
  });
}

/** Writes to a reserved place; shows progress where `total` is known. Lines that are there already are not written anew. */
export async function write(
  call: Call,
  file: string,
  place: Place,
  rollouts: Iterable<Rollout> | AsyncIterable<Rollout>,
  { total, lines }: Partial<Pick<Rows, "total" | "lines">> = {},
): Promise<WriteReport> {
  if (total !== undefined && lines && isPlainLines(place)) return concatenate(place, total, lines);
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
