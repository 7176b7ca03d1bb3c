// Processes of an MPI job. Calls go through the one thread of the process that calls MPI (native/binding/mpi_thread.h).
import { findNative, type MpiAddon, nativeAddon } from "../backend/addon";
import { SurprisalError } from "../core/errors";
import type { Channel, Lane, Swapped } from "./channel";
import { afterEndings, endWithThread, hasEnded } from "./endings";
import { decodePrint, type Ending, encodeEnding, endingOf, FINGERPRINT_BYTES, hashOf, lostError } from "./fingerprint";
import { World } from "./group";
import type { OpenedCollective } from "./opened";
import { Line, type Steps, waited } from "./steps";

// native/mpi/mpi.h
const GATHER = 1;
const BROADCAST = 2;
const BARRIER = 3;

/**
 * Every call begins with the same message on all ranks, whatever they call: a fingerprint, and room for four numbers. Most calls
 * are no longer than that.
 */
const SLOT_BYTES = FINGERPRINT_BYTES + 32;
const PIECE_BYTES = 2 ** 20;

/** Of MPI's tags, all libraries have those below 2^15. */
const TAGS = 2 ** 15;

export interface MpiSettings {
  readonly timeout: number;
  readonly checked: boolean;
  readonly library: string | undefined;
}

const NO_BYTES = new Uint8Array(0);

class MpiChannel implements Channel {
  readonly rank: number;
  readonly size: number;
  readonly firstBytes: number;
  readonly pieceBytes = PIECE_BYTES;
  readonly line = new Line();
  ended: Channel["ended"];
  /** Every rank finishes MPI as far as is known. MPI would wait for ever for one that does not. */
  complete = true;
  readonly #mpi: MpiAddon;
  readonly #world: number;
  readonly #settings: MpiSettings;
  readonly #lanes = new Map<string, MpiLane>();

  constructor(mpi: MpiAddon, settings: MpiSettings, opened: { comm: number; rank: number; size: number }) {
    this.rank = opened.rank;
    this.size = opened.size;
    this.firstBytes = settings.checked ? SLOT_BYTES - FINGERPRINT_BYTES : PIECE_BYTES;
    this.#mpi = mpi;
    this.#world = opened.comm;
    this.#settings = settings;
    endWithThread(this);
  }

  laneOf(members: readonly number[]): Lane {
    const key = members.join();
    const known = this.#lanes.get(key);
    if (known) return known;
    const whole = members.length === this.size && members.every((member, i) => member === i);
    const lane = new MpiLane(this, members, whole ? this.#world : undefined);
    this.#lanes.set(key, lane);
    return lane;
  }

  end(ending: Ending): void {
    hasEnded(this);
    if (ending.reason === "told" || ending.reason === "timed out") this.complete = false;
    this.ended ??= (op) => lostError(op, ending);
    if (this.#settings.checked) for (const lane of this.#lanes.values()) lane.part(encodeEnding(ending));
  }

  abort(): void {
    this.#mpi.mpiAbort();
  }

  /** The communicator of some ranks: they make it in their first call, and wait for each other there. */
  groupOf(op: string, members: readonly number[]): number {
    const tag = (hashOf(members) >>> 0) % TAGS;
    const made = this.#mpi.mpiGroup(this.#world, Int32Array.from(members), tag, this.#settings.timeout);
    if (typeof made === "string") this.#fail(op, made);
    if (made < 0) this.#timeOut(op);
    return made;
  }

  *transfer(op: string, comm: number, kind: number, sent: Uint8Array, bytes: number, root = 0): Steps<Uint8Array> {
    const { timeout } = this.#settings;
    const got = yield* waited({
      sync: () => this.#mpi.mpiTransfer(comm, kind, sent, bytes, root, timeout),
      async: () => this.#mpi.mpiTransferAsync(comm, kind, sent, bytes, root, timeout),
    });
    if (got === null) this.#timeOut(op);
    if (typeof got === "string") this.#fail(op, got);
    return got;
  }

  post(comm: number, sent: Uint8Array, bytes: number): void {
    this.#mpi.mpiPost(comm, GATHER, sent, bytes, 0, Infinity);
  }

  lose(op: string, ending: Ending): never {
    this.end(ending);
    throw lostError(op, ending);
  }

  #fail(op: string, text: string): never {
    const lost = (call: string): SurprisalError =>
      new SurprisalError(
        "ERR_SURPRISAL_COLLECTIVE_LOST",
        `${call}: MPI failed (${text}); start the job again from its last saved state`,
        { op: call, reason: text },
      );
    this.ended = lost;
    this.end({ reason: "exited", cause: this.rank, code: 1 });
    throw lost(op);
  }

  #timeOut(op: string): never {
    const { timeout } = this.#settings;
    this.end({ reason: "timed out", cause: this.rank, code: 0 });
    const reason = `waited ${timeout} ms for other ranks`;
    throw new SurprisalError(
      "ERR_SURPRISAL_COLLECTIVE_TIMEOUT",
      `${op}: ${reason}; every rank has to make the same calls, and a longer timeout gives slow ones time`,
      { op, name: "timeout", got: timeout, want: "every rank to take part", reason },
    );
  }
}

class MpiLane implements Lane {
  calls = 0;
  readonly #channel: MpiChannel;
  readonly #members: readonly number[];
  #comm: number | undefined;
  #parted = false;

  constructor(channel: MpiChannel, members: readonly number[], comm: number | undefined) {
    this.#channel = channel;
    this.#members = members;
    this.#comm = comm;
  }

  *swap(op: string, print: Uint8Array | undefined, mine: Uint8Array, root: number): Steps<Swapped> {
    const channel = this.#channel;
    if (this.#members.length === 1) return { parts: [mine.slice()] };
    const comm = (this.#comm ??= channel.groupOf(op, this.#members));
    if (print && channel.firstBytes < channel.pieceBytes) return yield* this.#first(op, comm, print, mine);
    if (mine.length === 0) {
      yield* channel.transfer(op, comm, BARRIER, NO_BYTES, 0);
      return { parts: this.#members.map(() => NO_BYTES) };
    }
    if (root >= 0) {
      const part = yield* channel.transfer(op, comm, BROADCAST, mine, mine.length, root);
      return { parts: this.#members.map(() => part) };
    }
    const all = yield* channel.transfer(op, comm, GATHER, mine, mine.length * this.#members.length);
    return { parts: this.#members.map((_, r) => all.subarray(r * mine.length, (r + 1) * mine.length)) };
  }

  *release(): Steps<void> {
    // What the others gave is a copy.
  }

  /** Leaves a farewell where the others expect the next call of this rank. */
  part(farewell: Uint8Array): void {
    if (this.#comm === undefined || this.#parted) return;
    this.#parted = true;
    const slot = new Uint8Array(SLOT_BYTES);
    slot.set(farewell);
    this.#channel.post(this.#comm, slot, SLOT_BYTES * this.#members.length);
  }

  *#first(op: string, comm: number, print: Uint8Array, mine: Uint8Array): Steps<Swapped> {
    const slot = new Uint8Array(SLOT_BYTES);
    slot.set(print);
    slot.set(mine, FINGERPRINT_BYTES);
    const all = yield* this.#channel.transfer(op, comm, GATHER, slot, SLOT_BYTES * this.#members.length);
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

function noLibrary(reason: string): never {
  throw new SurprisalError("ERR_SURPRISAL_COLLECTIVE_LIBRARY", `openCollective: MPI cannot be used here: ${reason}`, {
    op: "openCollective",
    name: "library",
    reason,
  });
}

export function openMpi(settings: MpiSettings): OpenedCollective {
  const loaded = nativeAddon();
  if (!("addon" in loaded)) return noLibrary(loaded.reason);
  const file = findNative("libsurprisal_mpi.so", "build-mpi");
  if (file === undefined) return noLibrary("libsurprisal_mpi.so is not built; `npx surprisal build --mpi` builds it");
  const mpi = loaded.addon;
  const opened = mpi.mpiOpen(file, settings.library ?? process.env["SURPRISAL_MPI"] ?? null, settings.timeout);
  if (opened === "")
    throw new SurprisalError(
      "ERR_SURPRISAL_COLLECTIVE_TIMEOUT",
      `openCollective: waited ${settings.timeout} ms for other ranks; every rank has to open the collective`,
      { op: "openCollective", name: "timeout", got: settings.timeout, want: "every rank to take part" },
    );
  if (typeof opened === "string") return noLibrary(opened);
  const channel = new MpiChannel(mpi, settings, opened);
  afterEndings(() => mpi.mpiLeave(channel.complete));
  return new World("mpi", channel, opened.library);
}
