// Rollouts from JSON Lines: as many at a time as are taken, whatever the size of the file.
import { joined, utf8Text } from "./bytes";
import type { DialectDetector } from "./dialects";
import { gunzip, isGzip } from "./gunzip";
import { parseJson } from "./json-text";
import { type Line, linesOf } from "./lines";
import { isFileError, malformed, unreadable } from "./place";
import type { Rollout } from "./record";
import type { GrowingReport } from "./growing-report";
import type { ByteStream } from "./source";

export interface JsonlOptions {
  readonly op: string;
  readonly report: GrowingReport;
  readonly detector: DialectDetector;
  readonly skip: boolean;
  readonly maxRecordBytes: number;
  /** Lines of the source before the first that is read. */
  readonly linesBefore?: number | undefined;
  readonly tick: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** Counts the bytes of the source as they are taken. */
async function* counted(pieces: AsyncIterable<Uint8Array>, report: GrowingReport): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    report.bytes += piece.length;
    yield piece;
  }
}

/** The pieces again, after a look at the first one that has bytes. */
async function peek(
  pieces: AsyncGenerator<Uint8Array>,
): Promise<{ first: Uint8Array; all: AsyncGenerator<Uint8Array> }> {
  let head: Uint8Array = new Uint8Array(0);
  let ended = false;
  // Two bytes tell gzip. One alone is copied: its buffer may be the next piece's.
  while (head.length < 2 && !ended) {
    const next = await pieces.next();
    ended = next.done === true;
    if (next.done !== true)
      head = head.length === 0 && next.value.length >= 2 ? next.value : joined([head, next.value]);
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (head.length > 0) yield head;
      if (!ended) yield* pieces;
    } finally {
      await pieces.return(undefined);
    }
  }
  return { first: head, all: all() };
}

const startsWithMark = (bytes: Uint8Array): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
const BLANK = /^\s*$/;

/** The first line of a document that is spread over many lines. */
const OPENS_DOCUMENT = /^\s*(?:\[\s*\{?|\{)\s*$/;

/** A line of server-sent events. */
const EVENT = /^(data|event|id):/;
/** Events, and pages of HTML. */
const NEVER_JSON = /^(\s*<|(data|event|id):)/;

/** The text of a line; undefined for invalid UTF-8. */
function textOf({ bytes, number }: Line): string | undefined {
  return utf8Text(number === 1 && startsWithMark(bytes!) ? bytes!.subarray(3) : bytes!);
}

class LineReader {
  readonly #options: JsonlOptions;
  #unpacked: { readonly cutOff: boolean };
  /** The lines of a document that is spread over many, from its first on. */
  #document: { readonly first: number; readonly texts: string[]; length: number } | undefined;
  #started = false;

  constructor(options: JsonlOptions, unpacked: { readonly cutOff: boolean }) {
    this.#options = options;
    this.#started = (options.linesBefore ?? 0) > 0;
    this.#unpacked = unpacked;
  }

  /** The rollouts of a line: none for a blank, a broken or a cut-off one. */
  read(line: Line): Rollout[] {
    const { report, op } = this.#options;
    report.lines = line.number;
    return this.#guarded(line.number, () => {
      const at = { op, file: report.name, line: line.number };
      if (!line.bytes)
        throw malformed(
          at,
          "the line's length",
          line.length,
          `at most ${this.#options.maxRecordBytes} bytes`,
          "the option maxRecordBytes allows more",
        );
      const text = textOf(line);
      if (text !== undefined && BLANK.test(text.slice(0, 64)) && BLANK.test(text)) return [];
      if (this.#document) return this.#extend(this.#document, text, at);
      if (!this.#started && line.ended && text !== undefined && OPENS_DOCUMENT.test(text.slice(0, 64))) {
        this.#document = { first: line.number, texts: [text], length: text.length };
        return [];
      }
      return this.#record(line, text);
    });
  }

  /** What is left when there are no more lines. */
  end(): Rollout[] {
    const { report, op } = this.#options;
    const document = this.#document;
    report.ofLines = !report.gzip && document === undefined;
    const rollouts = document
      ? this.#guarded(document.first, () => {
          let value: unknown;
          try {
            value = parseJson(document.texts.join("\n"));
          } catch (error) {
            if (this.#unpacked.cutOff || /end of JSON|Unterminated|Expected/.test((error as Error).message))
              this.#cut(document.first, document.length);
            throw unreadable(
              { op, file: report.name, line: document.first },
              `the document that begins here is no JSON (${(error as Error).message})`,
              error,
            );
          }
          return this.#rollouts(document.first, value);
        })
      : [];
    // Compressed data that stops between two lines.
    if (this.#unpacked.cutOff && !report.cutOff) this.#cut(report.lines + 1, 0);
    return rollouts;
  }

  #extend(
    document: { readonly texts: string[]; length: number },
    text: string | undefined,
    at: { op: string; file: string; line: number },
  ): Rollout[] {
    if (text === undefined) throw unreadable(at, "the line is no UTF-8");
    document.texts.push(text);
    document.length += text.length + 1;
    if (document.length > this.#options.maxRecordBytes)
      throw malformed(
        at,
        "the document's length",
        document.length,
        `at most ${this.#options.maxRecordBytes} bytes`,
        "JSON Lines, one record a line, have no such limit",
      );
    return [];
  }

  #record(line: Line, text: string | undefined): Rollout[] {
    const { report, op } = this.#options;
    const at = { op, file: report.name, line: line.number };
    let value: unknown;
    try {
      if (text === undefined) throw unreadable(at, "the line is no UTF-8");
      value = parseJson(text);
    } catch (error) {
      // A writer that was stopped leaves half a line; what never was JSON, such as a page of HTML, is no half of one.
      if (!line.ended && (text === undefined || !NEVER_JSON.test(text.slice(0, 64)))) {
        this.#cut(line.number, line.length);
        return [];
      }
      if (isFileError(error)) throw error;
      const hint = EVENT.test(text!.slice(0, 16)) ? "; it is an event of a streamed answer: log whole answers" : "";
      throw unreadable(at, `the line is no JSON (${(error as Error).message})${hint}`, error);
    }
    this.#started = true;
    return this.#rollouts(line.number, value);
  }

  #rollouts(line: number, value: unknown): Rollout[] {
    const { report, op, detector } = this.#options;
    const rollouts = detector.read(report.place(op, line), value);
    report.dialect = detector.first;
    report.rewardFrom = detector.fields.rewardFrom;
    return rollouts;
  }

  #cut(line: number, bytes: number): void {
    const { report } = this.#options;
    report.cutOff = { line, bytes };
    report.warn(
      "cut-off",
      `${report.name}:${line}: the source is cut off here; ${bytes} bytes of an unfinished line are left out`,
      line,
    );
  }

  /** Leaves a malformed record out where that was asked for. */
  #guarded(line: number, read: () => Rollout[]): Rollout[] {
    const { skip, report } = this.#options;
    try {
      return read();
    } catch (error) {
      if (!skip || !isFileError(error)) throw error;
      ++report.skipped;
      report.warn("skipped", error.message, line, error.details.name);
      return [];
    }
  }
}

export async function* jsonlRollouts(stream: ByteStream, options: JsonlOptions): AsyncGenerator<Rollout> {
  const { report, op, maxRecordBytes, linesBefore = 0, tick, signal } = options;
  report.totalBytes = stream.totalBytes;
  const { first, all } = await peek(counted(stream.pieces, report));
  report.gzip = isGzip(first);
  const unpacked = report.gzip ? gunzip(op, report.name, all) : { bytes: all, cutOff: false };
  const reader = new LineReader(options, unpacked);
  for await (const lines of linesOf(unpacked.bytes, maxRecordBytes, linesBefore + 1)) {
    for (const line of lines) {
      for (const rollout of reader.read(line)) {
        ++report.rollouts;
        yield rollout;
      }
    }
    tick();
    signal?.throwIfAborted(); // a piece of gzip can hold millions of lines
  }
  for (const rollout of reader.end()) {
    ++report.rollouts;
    yield rollout;
  }
}
