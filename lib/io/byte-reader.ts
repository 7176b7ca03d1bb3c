// Bytes from the first to the last, each read once and straight to where it is wanted.
import type { ByteSource } from "./source";

export interface ByteReader {
  /** How many there are in all. */
  readonly size: number;
  /** The next ones, as many as `into` has room for. */
  fill(into: Uint8Array): Promise<void>;
}

/** A part of a source. */
export function readerOf(source: ByteSource, begin: number, size: number): ByteReader {
  let at = begin;
  return {
    size,
    async fill(into) {
      await source.fill(into, at);
      at += into.length;
    },
  };
}
