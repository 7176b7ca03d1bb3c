// Rollouts from Parquet: a row is a record of one of the dialects. One row group is in memory at a time.
import type { DialectDetector } from "./dialects";
import { missingPackage } from "./parquet-peer";
import { ParquetThread } from "./parquet-thread";
import { isFileError, malformed, unreadable } from "./place";
import type { Rollout } from "./record";
import type { GrowingReport } from "./growing-report";

export interface ParquetOptions {
  readonly op: string;
  readonly report: GrowingReport;
  readonly detector: DialectDetector;
  readonly skip: boolean;
  readonly maxRecordBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly tick: () => void;
}

/** A row group is read as one: so many times the size of a single record. */
const GROUP_FACTOR = 16;

/** A column's value as JSON has it: no bigints that fit a number, no dates. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.some((item) => typeof item !== "number") ? value.map(plain) : value;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
}

function checkGroup(options: ParquetOptions, index: number, rows: bigint, bytes: bigint): void {
  const limit = options.maxRecordBytes * GROUP_FACTOR;
  const at = { op: options.op, file: options.report.name, line: 0 };
  if (bytes < 0n || bytes > BigInt(limit))
    throw malformed(
      at,
      `row group ${index}: size`,
      bytes,
      `at most ${limit} bytes, since a row group is read as one`,
      "the option maxRecordBytes allows more",
    );
  if (rows < 0n || rows > 2n ** 24n) throw malformed(at, `row group ${index}: rows`, rows, "at most 2^24");
}

/** The thread that takes the file apart. */
function threadOf(op: string, source: string | Uint8Array): ParquetThread {
  try {
    return new ParquetThread(typeof source === "string" ? { path: source } : { bytes: source });
  } catch (error) {
    throw missingPackage(op, "hyparquet", error);
  }
}

/** `source` is a path or bytes; `size` how many there are. */
export async function* parquetRollouts(
  source: string | Uint8Array,
  size: number,
  options: ParquetOptions,
): AsyncGenerator<Rollout> {
  const { op, report, signal } = options;
  report.totalBytes = size;
  const thread = threadOf(op, source);
  const guarded = async <T>(read: Promise<T>): Promise<T> => {
    try {
      return await read;
    } catch (error) {
      signal?.throwIfAborted();
      throw unreadable(
        { op, file: report.name, line: 0 },
        `the Parquet data is damaged (${(error as Error).message})`,
        error,
      );
    }
  };
  try {
    const groups = await guarded(thread.groups(size, signal));
    let rowStart = 0;
    for (const [index, { rows: count, bytes }] of groups.entries()) {
      checkGroup(options, index, count, bytes);
      const rowEnd = rowStart + Number(count);
      const rows = rowEnd > rowStart ? await guarded(thread.rows(rowStart, rowEnd, Number(bytes), signal)) : [];
      yield* rolloutsOfRows(rows, rowStart, options);
      rowStart = rowEnd;
      report.bytes = Math.floor((size * (index + 1)) / groups.length);
      options.tick();
    }
    report.bytes = size;
  } finally {
    await thread.close();
  }
}

function* rolloutsOfRows(
  rows: readonly Record<string, unknown>[],
  rowStart: number,
  { op, report, skip, detector }: ParquetOptions,
): Generator<Rollout> {
  for (const [i, row] of rows.entries()) {
    report.lines = rowStart + i + 1;
    let rollouts: Rollout[];
    try {
      rollouts = detector.read(report.place(op, report.lines), plain(row));
    } catch (error) {
      if (!skip || !isFileError(error)) throw error;
      ++report.skipped;
      report.warn("skipped", error.message, report.lines, error.details.name);
      continue;
    }
    report.dialect = detector.first;
    report.rewardFrom = detector.fields.rewardFrom;
    for (const rollout of rollouts) {
      ++report.rollouts;
      yield rollout;
    }
  }
}
