// Bytes unpacked as they come, and whether the compressed data was whole.
import { createGunzip } from "node:zlib";
import { unreadable } from "./place";
import { ZlibSteps } from "./zlib-steps";

export interface Unpacking {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** After the end: the compressed data stops before its own end. */
  cutOff: boolean;
}

export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

export function gunzip(op: string, file: string, packed: AsyncIterable<Uint8Array>): Unpacking {
  const state: Unpacking = { bytes: unpack(), cutOff: false };
  const fail = (error: Error | undefined): void => {
    if (!error) return;
    // Z_BUF_ERROR: there should have been more.
    if ((error as NodeJS.ErrnoException).code !== "Z_BUF_ERROR")
      throw unreadable({ op, file, line: 0 }, `the gzip data is damaged (${error.message})`, error);
    state.cutOff = true;
  };

  async function* unpack(): AsyncGenerator<Uint8Array> {
    const steps = new ZlibSteps(createGunzip());
    try {
      for await (const piece of packed) {
        yield* steps.push(piece);
        fail(steps.error);
      }
      yield* steps.end();
      fail(steps.error);
    } finally {
      steps.close();
    }
  }
  return state;
}
