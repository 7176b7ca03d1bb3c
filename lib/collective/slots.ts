// Ranks that meet in calls of another library, each of which moves the same number of bytes of every rank. MPI and NCCL are such.
import type { Channel, Lane, Swapped } from "./channel";
import { decodePrint, type Ending, encodeEnding, endingOf, FINGERPRINT_BYTES } from "./fingerprint";
import type { Steps } from "./steps";

/**
 * Every call begins with the same message on all ranks, whatever they call: a fingerprint, and room for four numbers. Most calls
 * are no longer than that.
 */
const SLOT_BYTES = FINGERPRINT_BYTES + 32;
export const PIECE_BYTES = 2 ** 20;
export const NO_BYTES = new Uint8Array(0);

/** How many bytes of an array travel with its fingerprint; where there is none, the first piece is as the others. */
export const firstBytes = (checked: boolean): number => (checked ? SLOT_BYTES - FINGERPRINT_BYTES : PIECE_BYTES);

/** `Comm` is what the library knows a list of ranks by. */
export interface SlotChannel<Comm> extends Channel {
  /** Made in the first call of its ranks, who wait for each other there. */
  commOf(op: string, members: readonly number[]): Steps<Comm>;
  /** The bytes of each of the ranks, one behind the other. */
  gather(op: string, comm: Comm, mine: Uint8Array, ranks: number): Steps<Uint8Array>;
  broadcast(op: string, comm: Comm, mine: Uint8Array, root: number): Steps<Uint8Array>;
  meet(op: string, comm: Comm): Steps<void>;
  /** Gathers when the others do, and waits for nobody: where the library can. */
  post?(comm: Comm, mine: Uint8Array, ranks: number): void;
  lose(op: string, ending: Ending): never;
}

export class SlotLane<Comm> implements Lane {
  calls = 0;
  protected comm: Comm | undefined;
  readonly #channel: SlotChannel<Comm>;
  readonly #members: readonly number[];
  #parted = false;

  constructor(channel: SlotChannel<Comm>, members: readonly number[], comm: Comm | undefined) {
    this.#channel = channel;
    this.#members = members;
    this.comm = comm;
  }

  protected *known(op: string): Steps<Comm> {
    return (this.comm ??= yield* this.#channel.commOf(op, this.#members));
  }

  *swap(op: string, print: Uint8Array | undefined, mine: Uint8Array, root: number): Steps<Swapped> {
    const channel = this.#channel;
    const { length } = this.#members;
    if (length === 1) return { parts: [mine.slice()] };
    const comm = yield* this.known(op);
    if (print && channel.firstBytes < channel.pieceBytes) return yield* this.#first(op, comm, print, mine);
    if (mine.length === 0) {
      yield* channel.meet(op, comm);
      return { parts: this.#members.map(() => NO_BYTES) };
    }
    if (root >= 0) {
      const part = yield* channel.broadcast(op, comm, mine, root);
      return { parts: this.#members.map(() => part) };
    }
    const all = yield* channel.gather(op, comm, mine, length);
    return { parts: this.#members.map((_, r) => all.subarray(r * mine.length, (r + 1) * mine.length)) };
  }

  *release(): Steps<void> {
    // What the others gave is a copy.
  }

  /** Leaves a farewell where the others expect the next call of this rank. */
  part(ending: Ending): void {
    if (this.comm === undefined || this.#parted) return;
    this.#parted = true;
    const slot = new Uint8Array(SLOT_BYTES);
    slot.set(encodeEnding(ending));
    this.#channel.post?.(this.comm, slot, this.#members.length);
  }

  *#first(op: string, comm: Comm, print: Uint8Array, mine: Uint8Array): Steps<Swapped> {
    const slot = new Uint8Array(SLOT_BYTES);
    slot.set(print);
    slot.set(mine, FINGERPRINT_BYTES);
    const all = yield* this.#channel.gather(op, comm, slot, this.#members.length);
    const slots = this.#members.map((_, r) => all.subarray(r * SLOT_BYTES, (r + 1) * SLOT_BYTES));
    const prints = slots.map(decodePrint);
    const ending = prints.find(({ kind }) => kind === "ended");
    if (ending) {
      this.#parted = true; // the farewell came in the place of this call, on every rank
      this.#channel.lose(op, endingOf(ending));
    }
    return { prints, parts: slots.map((one) => one.subarray(FINGERPRINT_BYTES)) };
  }
}
