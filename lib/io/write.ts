// Rollouts into a file.
import { optionError } from "../core/errors";
import { type AtomicFile, writeAtomically } from "./atomic-file";
import { formatOfPath } from "./format";
import { writeJsonl } from "./jsonl-writer";
import type { FileFormat } from "./read-options";
import type { RolloutTarget, WriteOptions, WriteReport } from "./write-options";
import { writeParquet } from "./parquet-writer";
import { paced } from "./progress";
import type { Rollout } from "./record";
import { pathOf } from "./source";
import { writeTensorRollouts } from "./tensor-files";

const OP = "writeRollouts";

type Writer = (op: string, file: AtomicFile, rollouts: AsyncIterable<Rollout>, gzip: boolean) => Promise<void>;

const WRITERS: Readonly<Record<FileFormat, Writer>> = {
  jsonl: writeJsonl,
  parquet: writeParquet,
  safetensors: (op, file, rollouts) => writeTensorRollouts(op, file, rollouts, "safetensors"),
  npz: (op, file, rollouts) => writeTensorRollouts(op, file, rollouts, "npz"),
};

/**
 * Writes rollouts in our own spelling. Everything goes to a temporary name that is renamed at the end: a reader sees the whole
 * file or none. JSONL and Parquet are written as the rollouts come; safetensors and npz need all of them in memory.
 *
 * @param target a path or a file: URL; its ending says the layout
 * @returns how many rollouts and bytes were written
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown layout, _VALUE for a rollout that the layout cannot hold,
 * _FILE where the system refuses
 */
export async function writeRollouts(
  target: RolloutTarget,
  rollouts: Iterable<Rollout> | AsyncIterable<Rollout>,
  options: WriteOptions = {},
): Promise<WriteReport> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const path = pathOf(target) ?? "";
  const format = options.format ?? formatOfPath(path);
  if (format === undefined || !Object.hasOwn(WRITERS, format))
    throw optionError(
      OP,
      options.format === undefined ? "target" : "format",
      options.format ?? target,
      "a path that ends with .jsonl, .jsonl.gz, .parquet, .safetensors or .npz, or one of these layouts",
    );
  const gzip = options.gzip ?? /\.gz$/i.test(path);

  return writeAtomically(OP, target, async (file) => {
    let count = 0;
    const tick = paced(onProgress && (() => onProgress({ rollouts: count, bytes: file.bytes })));
    async function* counted(): AsyncGenerator<Rollout> {
      for await (const rollout of rollouts) {
        signal?.throwIfAborted();
        yield rollout;
        ++count;
        tick();
      }
    }
    await WRITERS[format](OP, file, counted(), gzip);
    signal?.throwIfAborted();
    tick(true);
    return { format, rollouts: count, bytes: file.bytes };
  });
}
