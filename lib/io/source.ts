// Where bytes come from: in pieces from the start, or from any place of a file.
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { typedArrayName } from "../core/dtype";
import { dtypeError, optionError } from "../core/errors";
import { whatIs } from "../core/unfinished-file";
import { utf8Bytes } from "./bytes";
import type { RolloutSource } from "./read-options";
import { isFileError, refusedBySystem, unreadable } from "./place";

/** Bytes read at a time. */
const PIECE = 256 * 1024;

/** Bytes in memory that no other thread sees. */
export type OwnBytes = Uint8Array & { readonly buffer: ArrayBuffer };

/** Bytes of known size that can be read anywhere. */
export interface ByteSource {
  readonly name: string;
  readonly size: number;
  /** Exactly these bytes, in memory of their own. */
  read(offset: number, length: number): Promise<OwnBytes>;
  /** The bytes from `offset` on, as many as `into` has room for. */
  fill(into: Uint8Array, offset: number): Promise<void>;
  close(): Promise<void>;
}

/** A path as given or in a file: URL; undefined for anything else. */
export function pathOf(source: unknown): string | undefined {
  if (typeof source === "string") return source;
  return source instanceof URL && source.protocol === "file:" ? fileURLToPath(source) : undefined;
}

function isBytes(source: unknown): source is Uint8Array {
  return typedArrayName(source) === "Uint8Array";
}

/** What messages call a source. */
export function nameOf(source: RolloutSource, given: string | undefined): string {
  return given ?? pathOf(source) ?? (isBytes(source) ? "<bytes>" : "<input>");
}

function isChunks(source: unknown): source is AsyncIterable<unknown> {
  return typeof source === "object" && source !== null && Symbol.asyncIterator in source;
}

/** Whether a source can be read at any place. */
export function isRandomAccess(source: RolloutSource): boolean {
  return isBytes(source) || pathOf(source) !== undefined;
}

function bytesSource(name: string, bytes: Uint8Array): ByteSource {
  return {
    name,
    size: bytes.length,
    read: (offset, length) => Promise.resolve(Uint8Array.from(bytes.subarray(offset, offset + length))),
    fill(into, offset) {
      into.set(bytes.subarray(offset, offset + into.length));
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}

/** Refuses a pipe, which may wait for a writer for ever, a device and a folder. */
function needFile(op: string, name: string, stats: Stats): void {
  if (stats.isFile()) return;
  const rest = stats.isDirectory()
    ? "name the files in it"
    : 'pipe it in: chunks of createReadStream(path), "-" on a command line';
  throw unreadable(
    { op, file: name, line: 0 },
    `is ${whatIs(stats)}, and no file that can be read at any place; ${rest}`,
  );
}

async function fileSource(op: string, name: string, path: string): Promise<ByteSource> {
  let file: FileHandle;
  try {
    // Before it is opened, which would wake a writer of the pipe; and opened without waiting, should it be another file now. Windows
    // has no such flag, and needs none.
    needFile(op, name, await stat(path));
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw isFileError(error) ? error : refusedBySystem(op, name, "opened", error);
  }
  try {
    const stats = await file.stat();
    needFile(op, name, stats);
    return {
      name,
      size: stats.size,
      async read(offset, length) {
        const bytes = new Uint8Array(length);
        await fillExactly(op, name, file, bytes, offset);
        return bytes;
      },
      fill: (into, offset) => fillExactly(op, name, file, into, offset),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function fillExactly(
  op: string,
  name: string,
  file: FileHandle,
  into: Uint8Array,
  offset: number,
): Promise<void> {
  for (let done = 0; done < into.length;) {
    const { bytesRead } = await file.read(into, done, into.length - done, offset + done);
    if (bytesRead === 0)
      throw unreadable({ op, file: name, line: 0 }, `ends at byte ${offset + done}, before what it declares`);
    done += bytesRead;
  }
}

/** Opens a file or bytes for reading at any place. */
export async function openSource(op: string, source: RolloutSource, name: string): Promise<ByteSource> {
  if (isBytes(source)) return bytesSource(name, source);
  const path = pathOf(source);
  if (path !== undefined) return fileSource(op, name, path);
  throw optionError(
    op,
    "source",
    source,
    "a path, a file: URL or a Uint8Array",
    "this format is not read from a stream",
  );
}

/** Bytes from the start, and how many there are where that is known. */
export interface ByteStream {
  readonly totalBytes: number | undefined;
  readonly pieces: AsyncIterable<Uint8Array>;
}

async function* piecesOf(source: ByteSource, start: number): AsyncGenerator<Uint8Array> {
  try {
    for (let at = start; at < source.size; at += PIECE) yield await source.read(at, Math.min(PIECE, source.size - at));
  } finally {
    await source.close();
  }
}

/** The first half of a character that a string may be cut in. */
const HALF = /[\ud800-\udbff]$/;

async function* encoded(op: string, chunks: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  let half = "";
  for await (const chunk of chunks) {
    if (typeof chunk === "string") {
      const text = half + chunk;
      half = HALF.exec(text)?.[0] ?? "";
      yield utf8Bytes(text.slice(0, text.length - half.length));
      continue;
    }
    if (half !== "") yield utf8Bytes(half);
    half = "";
    if (isBytes(chunk)) yield chunk;
    else throw dtypeError(op, "source", chunk, "chunks that are Uint8Array or string");
  }
  if (half !== "") yield utf8Bytes(half);
}

/** Lets an abort end the wait for a source that does not answer. */
async function* abortable(
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (!signal) {
    yield* pieces;
    return;
  }
  const iterator = pieces[Symbol.asyncIterator]();
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    // What an abort means is the caller's to say.
    abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
  });
  aborted.catch(() => undefined);
  let ended = false;
  try {
    while (true) {
      signal.throwIfAborted();
      const next = await Promise.race([iterator.next(), aborted]);
      if (next.done === true) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", abort);
    // A source that hangs would hang here too.
    if (!ended) iterator.return?.().catch(() => undefined);
  }
}

/** Opens any source for reading from its start, or a file from a later byte on. */
export async function openStream(
  op: string,
  source: RolloutSource,
  name: string,
  signal?: AbortSignal,
  start = 0,
): Promise<ByteStream> {
  signal?.throwIfAborted();
  if (isRandomAccess(source)) {
    const bytes = await openSource(op, source, name);
    return { totalBytes: bytes.size, pieces: abortable(piecesOf(bytes, start), signal) };
  }
  if (isChunks(source)) return { totalBytes: undefined, pieces: abortable(encoded(op, source), signal) };
  throw optionError(op, "source", source, "a path, a file: URL, a Uint8Array or an async iterable of chunks");
}
