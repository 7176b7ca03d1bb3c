// One thread's place in a collective: it meets others and learns when one of them is gone. Two ranks count their meetings
// separately from all other pairs, so sub-groups need neither memory of their own nor a call of the others.
import { argumentError, SurprisalError } from "../core/errors";
import {
  type CollectiveHandle,
  type CollectiveMemory,
  COUNT_MASK,
  decode,
  type Ending,
  endRank,
  memoryOf,
} from "./shared-memory";

/** Endpoints of this thread that are in use; their ranks end with the thread. */
const open = new Set<Endpoint>();
let threw = false;
let listening = false;

function listen(): void {
  if (listening) return;
  listening = true;
  process.on("uncaughtExceptionMonitor", () => {
    threw = true;
  });
  process.on("exit", (code) => {
    for (const endpoint of open) endpoint.end({ reason: threw ? "threw" : "exited", cause: endpoint.rank, code });
  });
}

const HOW: Readonly<Record<Ending["reason"], (rank: number, ending: Ending) => string>> = {
  exited: (rank, { code }) => `the thread of rank ${rank} has ended (exit code ${code})`,
  threw: (rank) => `rank ${rank} threw an error that nothing caught`,
  closed: (rank) => `rank ${rank} has closed its end`,
  "timed out": (rank) => `rank ${rank} waited too long for another and gave up`,
};

export class Endpoint {
  readonly rank: number;
  readonly size: number;
  readonly memory: CollectiveMemory;
  readonly chunkBytes: number;
  readonly #timeout: number;
  /** How often this rank has met each other one. */
  readonly #meetings: Int32Array;

  constructor(handle: CollectiveHandle) {
    const { rank, size, timeout, chunkBytes } = handle;
    this.rank = rank;
    this.size = size;
    this.chunkBytes = chunkBytes;
    this.memory = memoryOf(handle);
    this.#timeout = timeout;
    this.#meetings = new Int32Array(size);
    if (Atomics.compareExchange(this.memory.joined, rank, 0, 1) !== 0)
      throw argumentError(
        "ERR_SURPRISAL_OPTION",
        "joinCollective",
        "handle.rank",
        rank,
        "a rank that nobody has joined as yet",
      );
    listen();
    open.add(this);
  }

  end(ending: Ending): void {
    open.delete(this);
    endRank(this.memory, this.rank, ending);
  }

  /** Returns when every member has come to this meeting. */
  meet(op: string, members: readonly number[]): void {
    this.#refuseEnded(op);
    const { arrivals } = this.memory;
    for (const member of members) {
      if (member === this.rank) continue;
      const count = (this.#meetings[member]! + 1) & COUNT_MASK;
      this.#meetings[member] = count;
      const at = this.rank * this.size + member;
      Atomics.store(arrivals, at, count);
      Atomics.notify(arrivals, at);
    }
    const deadline = performance.now() + this.#timeout;
    for (const member of members) if (member !== this.rank) this.#await(op, member, members, deadline);
  }

  #await(op: string, member: number, members: readonly number[], deadline: number): void {
    const { arrivals } = this.memory;
    const at = member * this.size + this.rank;
    while (!this.#arrived(member)) {
      const value = Atomics.load(arrivals, at);
      // It may have come between the two looks.
      if (this.#arrived(member)) return;
      if (value < 0) this.#giveUp(op, member);
      const left = deadline - performance.now();
      if (left <= 0) this.#timeOut(op, members);
      Atomics.wait(arrivals, at, value, left);
    }
  }

  /** Whether another rank has come; it may be one meeting ahead already. */
  #arrived(member: number): boolean {
    const count = Atomics.load(this.memory.arrivals, member * this.size + this.rank);
    return ((count - this.#meetings[member]!) & COUNT_MASK) < 2 ** 30;
  }

  #giveUp(op: string, member: number): never {
    const { cause } = decode(Atomics.load(this.memory.ended, member));
    const ending = decode(Atomics.load(this.memory.ended, cause));
    // Whoever waits for this rank learns what it began with.
    this.end({ ...ending, cause });
    throw this.#failure(op, cause, ending);
  }

  #failure(op: string, cause: number, ending: Ending): SurprisalError {
    const reason = HOW[ending.reason](cause, ending);
    return new SurprisalError("ERR_SURPRISAL_COLLECTIVE", `${op}: ${reason}; make a new collective to go on`, {
      op,
      name: "rank",
      got: cause,
      want: "every rank to take part",
      reason,
    });
  }

  #timeOut(op: string, members: readonly number[]): never {
    const missing = members.filter((member) => member !== this.rank && !this.#arrived(member));
    this.end({ reason: "timed out", cause: this.rank, code: 0 });
    const who = missing.length === 1 ? `rank ${missing[0]}` : `ranks ${missing.join(", ")}`;
    const reason = `waited ${this.#timeout} ms for ${who}`;
    throw new SurprisalError(
      "ERR_SURPRISAL_COLLECTIVE",
      `${op}: ${reason}; every rank has to make the same calls, and a longer timeout gives slow ones time`,
      { op, name: "timeout", got: this.#timeout, want: `${who} to take part`, reason },
    );
  }

  #refuseEnded(op: string): void {
    const ended = Atomics.load(this.memory.ended, this.rank);
    if (ended === 0) return;
    const { cause } = decode(ended);
    throw this.#failure(op, cause, decode(Atomics.load(this.memory.ended, cause)));
  }
}
