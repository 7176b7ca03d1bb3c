// Bytes as lines, however they are cut into pieces, with no line held that is too long.
import { joined } from "./bytes";

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its newline; undefined where it was longer than the limit, and was dropped. */
  readonly bytes: Uint8Array | undefined;
  /** How long it was. */
  readonly length: number;
  /** A newline followed. */
  readonly ended: boolean;
}

const NEWLINE = 10;

/** @param first number of the first line */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>, limit: number, first = 1): AsyncGenerator<Line[]> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let number = first;

  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > limit) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  const take = (ended: boolean): Line => {
    const bytes = length > limit ? undefined : parts.length === 1 ? parts[0]! : joined(parts);
    const line = { number, bytes, length, ended };
    parts = [];
    length = 0;
    ++number;
    return line;
  };

  for await (const piece of pieces) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      add(piece.subarray(start, end));
      lines.push(take(true));
      start = end + 1;
    }
    // What is kept for the next piece is a copy, so that a small rest does not hold a large piece.
    add(Uint8Array.from(piece.subarray(start)));
    if (lines.length > 0) yield lines;
  }
  if (length > 0) yield [take(false)];
}
