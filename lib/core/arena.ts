/// <reference lib="esnext.disposable" preserve="true" />
// Memory that a trainer's loop uses again and again: the outputs of a step's calls lie behind one another in it.
import { hasMark, markedClass } from "./brand";
import { argumentError, optionError, SurprisalError } from "./errors";
import { type ArrayKind, newArray, useHugePages } from "./host-memory";

/** What an arena holds, in bytes, but for the last two, which count. */
export interface ArenaStats {
  /** What arrays of this step take. */
  readonly inUse: number;
  /** Taken from the system: in use, and kept for the next arrays. */
  readonly reserved: number;
  /** The most that was ever in use. */
  readonly peakInUse: number;
  /** Part of `reserved` that lies in huge pages, as far as the system gave them without a stall; 0 where it has none. */
  readonly hugePages: number;
  /** Arrays made so far. */
  readonly allocations: number;
  /** Those of them that lie in memory which was kept. */
  readonly reused: number;
}

/** Where an array begins: on a cache line of its own, as vectors are loaded best. */
const ALIGNMENT = 64;

/** The memory under a new object, which takes all of it: arrays over the old one have length 0 from here on. */
function moved(buffer: ArrayBuffer): ArrayBuffer {
  const { transfer } = buffer as { transfer?: () => ArrayBuffer };
  return transfer ? transfer.call(buffer) : structuredClone(buffer, { transfer: [buffer] });
}

/**
 * Memory for the outputs of calls that name it, `{ arena }`, made by `createArena`. `reset()` once a step makes all of it free again.
 * What a step needs is known after it: the first one takes an array at a time from the system, later ones lie in one piece.
 *
 * Arrays of before a `reset()` are gone: they have length 0, and ops refuse them with ERR_SURPRISAL_BUFFER. What has to outlive the
 * step is copied, `array.slice()`, or made by a call that does not name the arena.
 */
export class Arena {
  #memory = new ArrayBuffer(0);
  #used = 0;
  /** Arrays that had no room, each in memory of its own until the step ends. */
  #beside: ArrayBuffer[] = [];
  #besideBytes = 0;
  /** Bytes that the memory should have when it is made again. */
  #wanted: number;
  #peak = 0;
  #huge = 0;
  #allocations = 0;
  #reused = 0;
  /** Calls off the event loop that still write. */
  #running = 0;
  #disposed = false;

  /** @internal Use `createArena`. */
  constructor(bytes: number) {
    this.#wanted = bytes;
  }

  /** Whether a value is one. */
  static is(value: unknown): value is Arena {
    return hasMark(value, MARK);
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * An array of this step. Its content is unspecified.
   *
   * @internal
   */
  take<Kind extends ArrayBufferView>(kind: ArrayKind<Kind>, length: number): Kind {
    const bytes = Math.ceil((length * kind.BYTES_PER_ELEMENT) / ALIGNMENT) * ALIGNMENT;
    ++this.#allocations;
    if (this.#used === 0 && this.#memory.byteLength < this.#wanted) this.#make(this.#wanted);
    if (this.#used + bytes > this.#memory.byteLength) return this.#takeBeside(kind, length, bytes);
    const array = new kind(this.#memory, this.#used, length);
    this.#used += bytes;
    ++this.#reused;
    this.#peak = Math.max(this.#peak, this.#used + this.#besideBytes);
    return array;
  }

  #takeBeside<Kind extends ArrayBufferView>(kind: ArrayKind<Kind>, length: number, bytes: number): Kind {
    const array = newArray(kind, length);
    this.#beside.push(array.buffer as ArrayBuffer);
    this.#besideBytes += bytes;
    this.#peak = Math.max(this.#peak, this.#used + this.#besideBytes);
    return array;
  }

  #make(bytes: number): void {
    this.#memory = new ArrayBuffer(bytes);
    this.#huge = useHugePages(new Uint8Array(this.#memory));
  }

  /**
   * Ends a step: all memory is free for the next one, and arrays that lie in it have length 0.
   *
   * @throws SurprisalError ERR_SURPRISAL_BUFFER while a call off the event loop, which named this arena, has not ended;
   * ERR_SURPRISAL_DISPOSED after `dispose()`
   */
  reset(): void {
    this.#need("reset");
    const missed = this.#besideBytes;
    if (this.#used > 0) this.#memory = moved(this.#memory);
    if (missed > 0) {
      this.#wanted = this.#used + missed;
      this.#drop();
    }
    this.#used = 0;
  }

  /** Gives all memory back. No call may name this arena any more. */
  dispose(): void {
    if (this.#disposed) return;
    this.#need("dispose");
    this.#drop();
    this.#used = 0;
    this.#disposed = true;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** The memory goes with the objects that it is moved to, which nobody keeps. */
  #drop(): void {
    for (const buffer of [this.#memory, ...this.#beside]) moved(buffer);
    this.#memory = new ArrayBuffer(0);
    this.#huge = 0;
    this.#beside = [];
    this.#besideBytes = 0;
  }

  #need(action: string): void {
    const op = `Arena.${action}`;
    if (this.#disposed) {
      const details = { op, name: "arena", got: "a disposed arena", want: "one that is not" };
      throw new SurprisalError("ERR_SURPRISAL_DISPOSED", `${op}: the arena was disposed of; make another`, details);
    }
    if (this.#running === 0) return;
    const running = `${this.#running} call${this.#running === 1 ? "" : "s"} off the event loop`;
    const message = `${op}: ${running} still write${this.#running === 1 ? "s" : ""} into the arena; await first`;
    throw new SurprisalError("ERR_SURPRISAL_BUFFER", message, { op, name: "arena", got: running, want: "none" });
  }

  /**
   * A call off the event loop begins.
   *
   * @internal
   */
  begin(): void {
    ++this.#running;
  }

  /** @internal */
  end(): void {
    --this.#running;
  }

  /** @internal */
  stats(): ArenaStats {
    return {
      inUse: this.#used + this.#besideBytes,
      reserved: this.#memory.byteLength + this.#besideBytes,
      peakInUse: this.#peak,
      hugePages: this.#huge,
      allocations: this.#allocations,
      reused: this.#reused,
    };
  }
}

const MARK = markedClass(Arena, "Arena");

/** The arena of the call that runs. */
let current: Arena | null = null;

/** Whether the outputs of the call that runs come from an arena. */
export const isInArena = (): boolean => current !== null;

/** Runs what allocates outputs, which come from the arena. Off the event loop: those that are allocated before the first wait. */
export function withArena<Result>(arena: Arena, run: () => Result): Result {
  const outer = current;
  current = arena;
  try {
    return run();
  } finally {
    current = outer;
  }
}

/** The option of a call, checked. */
export function needArena(op: string, value: unknown): Arena {
  if (!Arena.is(value)) throw optionError(op, "arena", value, "what createArena() gave");
  if (!value.disposed) return value;
  throw argumentError("ERR_SURPRISAL_DISPOSED", op, "arena", value, "one that was not disposed of");
}

/** An output on the host: of the arena of the call, with unspecified content, or new, all zeros. */
export function outputArray<Kind extends ArrayBufferView>(kind: ArrayKind<Kind>, length: number): Kind {
  return current === null ? newArray(kind, length) : current.take(kind, length);
}

/** Option of every op. */
export interface ArenaOption {
  /**
   * Memory that outputs are taken from, of `createArena()`: they live until its `reset()`. `out` goes first. A call off the event loop
   * takes what it has allocated before it first waits. DeviceArrays have memory of their stream. Default: none, new arrays.
   */
  readonly arena?: Arena | undefined;
}
