// The memory that the ranks of a collective share, and how it is laid out:
//
//   joined    int32 [size]         1 = a thread has taken this rank
//   ended     int32 [size]         0, or why the rank takes part no more: see Ending
//   arrivals  int32 [size, size]   [from, to]: how often `from` came to a meeting with `to`; the sign bit: `from` has ended
//   prints    bytes [size, 32]     what each rank is calling: fingerprint.ts
//   chunks    bytes [size, chunkBytes]
import { needNumber } from "../core/option-checks";
import { type Ending, FINGERPRINT_BYTES, REASONS } from "./fingerprint";

/** Of arrivals: 31 bits that wrap, and a sign that stays. */
export const COUNT_MASK = 0x7fffffff;
const ENDED_BIT = -0x80000000;

const MAX_SIZE = 1024;

/** A rank's ticket to a collective: plain data, for `workerData` or `postMessage`. */
export interface CollectiveHandle {
  readonly rank: number;
  readonly size: number;
  /** Milliseconds after which a rank stops waiting for another; Infinity: never. */
  readonly timeout: number;
  /** Bytes of a rank that travel at a time. */
  readonly chunkBytes: number;
  readonly memory: SharedArrayBuffer;
}

export interface CollectiveMemory {
  readonly joined: Int32Array;
  readonly ended: Int32Array;
  readonly arrivals: Int32Array;
  printOf(rank: number): Uint8Array;
  chunkOf(rank: number): Uint8Array;
}

/** In one number, so that it is there whole or not at all. */
function encode({ reason, cause, code }: Ending): number {
  return (REASONS.indexOf(reason) + 1) | (cause << 4) | ((code & 0xff) << 16);
}

export function decode(ended: number): Ending {
  return { reason: REASONS[(ended & 0xf) - 1]!, cause: (ended >> 4) & 0xfff, code: (ended >> 16) & 0xff };
}

const countsOf = (size: number): number => 8 * Math.ceil((4 * (2 * size + size * size)) / 8);

export function memoryOf({ memory, size, chunkBytes }: CollectiveHandle): CollectiveMemory {
  const prints = countsOf(size);
  const chunks = prints + FINGERPRINT_BYTES * size;
  return {
    joined: new Int32Array(memory, 0, size),
    ended: new Int32Array(memory, 4 * size, size),
    arrivals: new Int32Array(memory, 8 * size, size * size),
    printOf: (rank) => new Uint8Array(memory, prints + FINGERPRINT_BYTES * rank, FINGERPRINT_BYTES),
    chunkOf: (rank) => new Uint8Array(memory, chunks + chunkBytes * rank, chunkBytes),
  };
}

/** Records that a rank has ended, where all ranks see it, and wakes those that wait for it. The first record stays. */
export function endRank(memory: CollectiveMemory, rank: number, ending: Ending): void {
  const { ended, arrivals } = memory;
  const size = ended.length;
  if (Atomics.compareExchange(ended, rank, 0, encode(ending)) !== 0) return;
  for (let other = 0; other < size; ++other) {
    const at = rank * size + other;
    // The change of value reaches a rank that is about to wait, the notification one that waits.
    Atomics.or(arrivals, at, ENDED_BIT);
    Atomics.notify(arrivals, at);
  }
}

export interface CreateCollectiveOptions {
  /** Milliseconds after which a rank stops waiting for another, > 0; Infinity: never. Default 600000, ten minutes. */
  readonly timeout?: number;
  /** Bytes of a rank that travel at a time, a multiple of 8; longer arrays go in pieces. Default 65536. */
  readonly chunkBytes?: number;
}

/**
 * Makes a collective of `size` ranks in shared memory.
 *
 * @returns a handle for each rank, in order: give one to each worker, which calls `openCollective("workers", { handle })` with it
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the argument
 */
export function createCollective(size: number, options: CreateCollectiveOptions = {}): CollectiveHandle[] {
  const op = "createCollective";
  needNumber(op, "size", size, { min: 1, max: MAX_SIZE, integer: true });
  const timeout = needNumber(op, "timeout", options.timeout ?? 600_000, { min: 0, above: true, infinite: true });
  const words = needNumber(op, "chunkBytes / 8", (options.chunkBytes ?? 65_536) / 8, {
    min: 1,
    max: 2 ** 24,
    integer: true,
  });
  const chunkBytes = 8 * words;
  const memory = new SharedArrayBuffer(countsOf(size) + size * (FINGERPRINT_BYTES + chunkBytes));
  return Array.from({ length: size }, (_, rank) => ({ rank, size, timeout, chunkBytes, memory }));
}
