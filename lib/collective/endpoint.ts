// One thread's place in a collective over shared memory: it meets others and learns when one of them is gone. Two ranks count
// their meetings separately from all other pairs, so sub-groups need neither memory of their own nor a call of the others.
import { optionError, SurprisalError } from "../core/errors";
import type { Channel, Lane, Swapped } from "./channel";
import { endWithThread, hasEnded } from "./endings";
import { decodePrint, type Ending, lostError } from "./fingerprint";
import { type CollectiveHandle, type CollectiveMemory, COUNT_MASK, decode, endRank, memoryOf } from "./shared-memory";
import { Line, type Steps, waited } from "./steps";

interface WaitsAsync {
  waitAsync(array: Int32Array, at: number, value: number, timeout: number): { readonly value: unknown };
}

export class Endpoint implements Channel {
  readonly rank: number;
  readonly size: number;
  readonly firstBytes: number;
  readonly pieceBytes: number;
  readonly line = new Line();
  readonly #memory: CollectiveMemory;
  readonly #timeout: number;
  /** How often this rank has met each other one. */
  readonly #meetings: Int32Array;
  readonly #lanes = new Map<string, Lane>();

  constructor(handle: CollectiveHandle) {
    const { rank, size, timeout, chunkBytes } = handle;
    this.rank = rank;
    this.size = size;
    this.firstBytes = chunkBytes;
    this.pieceBytes = chunkBytes;
    this.#memory = memoryOf(handle);
    this.#timeout = timeout;
    this.#meetings = new Int32Array(size);
    if (Atomics.compareExchange(this.#memory.joined, rank, 0, 1) !== 0)
      throw optionError("openCollective", "handle.rank", rank, "a rank that nobody has taken as yet");
    endWithThread(this);
  }

  get ended(): Channel["ended"] {
    const ended = Atomics.load(this.#memory.ended, this.rank);
    return ended === 0 ? undefined : (op) => lostError(op, this.#origin(decode(ended)));
  }

  end(ending: Ending): void {
    hasEnded(this);
    endRank(this.#memory, this.rank, ending);
  }

  abort(): void {
    // The other threads are of this process: they learn of the end.
  }

  laneOf(members: readonly number[]): Lane {
    const key = members.join();
    const known = this.#lanes.get(key);
    if (known) return known;
    const prints = members.map((member) => this.#memory.printOf(member));
    const parts = members.map((member) => this.#memory.chunkOf(member));
    const meet = (op: string) => this.#meet(op, members);
    const own = members.indexOf(this.rank);
    const lane: Lane = {
      calls: 0,
      *swap(op, print, mine, root): Steps<Swapped> {
        if (print) prints[own]!.set(print);
        if (root < 0 || root === own) parts[own]!.set(mine);
        yield* meet(op); // all are written
        return print ? { prints: prints.map(decodePrint), parts } : { parts };
      },
      release: meet, // all are read
    };
    this.#lanes.set(key, lane);
    return lane;
  }

  /** Returns when every member has come to this meeting. */
  *#meet(op: string, members: readonly number[]): Steps<void> {
    if (this.ended) throw this.ended(op);
    const { arrivals } = this.#memory;
    for (const member of members) {
      if (member === this.rank) continue;
      const count = (this.#meetings[member]! + 1) & COUNT_MASK;
      this.#meetings[member] = count;
      const at = this.rank * this.size + member;
      Atomics.store(arrivals, at, count);
      Atomics.notify(arrivals, at);
    }
    const deadline = performance.now() + this.#timeout;
    for (const member of members) if (member !== this.rank) yield* this.#await(op, member, members, deadline);
  }

  *#await(op: string, member: number, members: readonly number[], deadline: number): Steps<void> {
    const { arrivals } = this.#memory;
    const at = member * this.size + this.rank;
    while (!this.#arrived(member)) {
      const value = Atomics.load(arrivals, at);
      // It may have come between the two looks.
      if (this.#arrived(member)) return;
      if (value < 0) this.#giveUp(op, member);
      const left = deadline - performance.now();
      if (left <= 0) this.#timeOut(op, members);
      yield* waited<unknown>({
        sync: () => Atomics.wait(arrivals, at, value, left),
        async: () => (Atomics as unknown as WaitsAsync).waitAsync(arrivals, at, value, left).value,
      });
    }
  }

  /** Whether another rank has come; it may be one meeting ahead already. */
  #arrived(member: number): boolean {
    const count = Atomics.load(this.#memory.arrivals, member * this.size + this.rank);
    return ((count - this.#meetings[member]!) & COUNT_MASK) < 2 ** 30;
  }

  /** What an ending began with. */
  #origin(ending: Ending): Ending {
    const { cause } = ending;
    return { ...decode(Atomics.load(this.#memory.ended, cause)), cause };
  }

  #giveUp(op: string, member: number): never {
    const ending = this.#origin(decode(Atomics.load(this.#memory.ended, member)));
    // Whoever waits for this rank learns what it began with.
    this.end(ending);
    throw lostError(op, ending);
  }

  #timeOut(op: string, members: readonly number[]): never {
    const missing = members.filter((member) => member !== this.rank && !this.#arrived(member));
    this.end({ reason: "timed out", cause: this.rank, code: 0 });
    const who = missing.length === 1 ? `rank ${missing[0]}` : `ranks ${missing.join(", ")}`;
    const reason = `waited ${this.#timeout} ms for ${who}`;
    throw new SurprisalError(
      "ERR_SURPRISAL_COLLECTIVE_TIMEOUT",
      `${op}: ${reason}; every rank has to make the same calls, and a longer timeout gives slow ones time`,
      { op, name: "timeout", got: this.#timeout, want: `${who} to take part`, reason },
    );
  }
}
