// Rollouts from any source, one after the other.
import { optionError, SurprisalError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { DialectDetector, DIALECTS } from "./dialects";
import { formatOf, HEAD_BYTES } from "./format";
import { jsonlRollouts } from "./jsonl";
import type { FileFormat, ReadOptions, ReadReport, RolloutReader, RolloutSource } from "./read-options";
import { parquetRollouts } from "./parquet";
import { paced } from "./progress";
import type { Rollout } from "./record";
import { GrowingReport } from "./growing-report";
import { isRandomAccess, nameOf, openSource, openStream, pathOf } from "./source";
import { tensorRollouts } from "./tensor-files";

const OP = "readRollouts";
const DEFAULT_RECORD_BYTES = 64 * 1024 * 1024;
const FORMATS: readonly FileFormat[] = ["jsonl", "parquet", "safetensors", "npz"];

/** The end of a line: so many bytes and lines are before it. */
export interface LineEnd {
  readonly bytes: number;
  readonly lines: number;
}
const START: LineEnd = { bytes: 0, lines: 0 };

/** What the option says, or what the first bytes say; a stream is JSONL unless something else is said. */
async function findFormat(source: RolloutSource, name: string, { format }: ReadOptions): Promise<FileFormat> {
  if (format !== undefined) return format;
  if (!isRandomAccess(source)) return "jsonl";
  const bytes = await openSource(OP, source, name);
  try {
    return formatOf(await bytes.read(0, Math.min(HEAD_BYTES, bytes.size)));
  } finally {
    await bytes.close();
  }
}

/** What a thread can open by itself; `openSource` has refused anything else. */
const parquetSource = (source: RolloutSource): string | Uint8Array => pathOf(source) ?? (source as Uint8Array);

async function* rolloutsOf(
  source: RolloutSource,
  options: ReadOptions,
  report: GrowingReport,
  detector: DialectDetector,
  from: LineEnd = START,
): AsyncGenerator<Rollout> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const tick = paced(
    onProgress && (() => onProgress({ bytes: report.bytes, totalBytes: report.totalBytes, rollouts: report.rollouts })),
  );
  report.format = from === START ? await findFormat(source, report.name, options) : "jsonl";
  const { format } = report;
  const shared = {
    op: OP,
    report,
    detector,
    skip: options.malformed === "skip",
    maxRecordBytes: options.maxRecordBytes ?? DEFAULT_RECORD_BYTES,
    linesBefore: from.lines,
    signal,
    tick,
  };
  if (format === "jsonl") {
    for await (const rollout of jsonlRollouts(await openStream(OP, source, report.name, signal, from.bytes), shared)) {
      yield report.meant(rollout);
      signal?.throwIfAborted();
    }
  } else {
    const bytes = await openSource(OP, source, report.name);
    try {
      for await (const rollout of format === "parquet"
        ? parquetRollouts(parquetSource(source), bytes.size, shared)
        : tensorRollouts(bytes, shared)) {
        yield report.meant(rollout);
        signal?.throwIfAborted();
      }
    } finally {
      await bytes.close();
    }
  }
  tick(true);
}

class Reader implements RolloutReader {
  readonly report: ReadReport;
  readonly #start: () => AsyncGenerator<Rollout>;
  #started = false;

  constructor(report: GrowingReport, start: () => AsyncGenerator<Rollout>) {
    this.report = report;
    this.#start = start;
  }

  [Symbol.asyncIterator](): AsyncIterator<Rollout> {
    if (this.#started)
      throw new SurprisalError("ERR_SURPRISAL_OPTION", `${OP}: this reader was iterated before; call ${OP} again`, {
        op: OP,
        name: "reader",
      });
    this.#started = true;
    return this.#start();
  }
}

function checkOptions(source: RolloutSource, options: ReadOptions): void {
  if (options.from !== undefined) needWord(OP, "from", options.from, DIALECTS);
  if (options.format !== undefined) needWord(OP, "format", options.format, FORMATS);
  if (options.malformed !== undefined) needWord(OP, "malformed", options.malformed, ["throw", "skip"]);
  if (options.maxRecordBytes !== undefined)
    needNumber(OP, "maxRecordBytes", options.maxRecordBytes, { min: 1, max: 2 ** 29, integer: true });
  const given: unknown = source;
  if (given === "" || given == null)
    throw optionError(OP, "source", given, "a path, a file: URL, a Uint8Array or an async iterable of chunks");
}

/**
 * Reads rollouts from a trainer's dump or an inference server's log, as fast as they are taken and no faster.
 *
 *     const reader = readRollouts("rollouts.jsonl.gz");
 *     for await (const rollout of reader) …
 *     reader.report.warnings
 *
 * The layout (JSONL, also gzipped, Parquet, safetensors, npz) is told by the first bytes, the dialect by the fields of the
 * records. Memory holds one piece and one line of JSONL, one row group of Parquet, or the tensors of the other two.
 *
 * @param source a path, a file: URL, bytes, or chunks such as `process.stdin` (JSONL)
 * @returns the rollouts, to be iterated once, and a report of what was read and what was left out
 * @throws SurprisalError ERR_SURPRISAL_OPTION at once; while iterating ERR_SURPRISAL_FILE naming file, line and field
 */
export function readRollouts(source: RolloutSource, options: ReadOptions = {}): RolloutReader {
  checkOptions(source, options);
  const detector = new DialectDetector(OP, options);
  const report = new GrowingReport(nameOf(source, options.name));
  return new Reader(report, () => rolloutsOf(source, options, report, detector));
}

/**
 * All rollouts of a file, or those behind `from`, and where they end: undefined where what is added to the file later cannot be read by
 * itself, since it is no JSONL with a record a line.
 *
 * @throws SurprisalError as `readRollouts`
 */
export async function readOn(
  path: string,
  options: ReadOptions,
  from?: LineEnd,
): Promise<{ rollouts: Rollout[]; report: ReadReport; end: LineEnd | undefined }> {
  checkOptions(path, options);
  const report = new GrowingReport(nameOf(path, options.name));
  const rollouts: Rollout[] = [];
  for await (const rollout of rolloutsOf(path, options, report, new DialectDetector(OP, options), from))
    rollouts.push(rollout);
  const bytes = (from ?? START).bytes + report.bytes - (report.cutOff?.bytes ?? 0);
  const lines = Math.max(report.lines, (from ?? START).lines) - (report.cutOff ? 1 : 0);
  return { rollouts, report, end: report.ofLines ? { bytes, lines } : undefined };
}

/**
 * As `readRollouts`, with all rollouts in memory.
 *
 * @throws SurprisalError as `readRollouts`
 */
export async function readAllRollouts(
  source: RolloutSource,
  options: ReadOptions = {},
): Promise<{ rollouts: Rollout[]; report: ReadReport }> {
  const reader = readRollouts(source, options);
  const rollouts: Rollout[] = [];
  for await (const rollout of reader) rollouts.push(rollout);
  return { rollouts, report: reader.report };
}
