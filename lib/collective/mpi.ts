// Processes of an MPI job. Calls go through the one thread of the process that calls MPI (native/binding/mpi_thread.h).
import { findNative, type MpiAddon, nativeAddon } from "../backend/addon";
import { whatIsMissing } from "../backend/whole-library";
import { SurprisalError } from "../core/errors";
import type { Channel, Lane } from "./channel";
import { afterEndings, endWithThread, hasEnded } from "./endings";
import { type Ending, hashOf, lostError } from "./fingerprint";
import { World } from "./group";
import type { OpenedCollective } from "./opened";
import { firstBytes, libraryFailed, NO_BYTES, PIECE_BYTES, type SlotChannel, SlotLane, timedOut } from "./slots";
import { Line, type Steps, waited } from "./steps";

// native/mpi/mpi.h
const GATHER = 1;
const BROADCAST = 2;
const BARRIER = 3;

/** Of MPI's tags, all libraries have those below 2^15. */
const TAGS = 2 ** 15;

export interface MpiSettings {
  readonly timeout: number;
  readonly checked: boolean;
  readonly library: string | undefined;
}

class MpiChannel implements SlotChannel<number> {
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
  readonly #lanes = new Map<string, SlotLane<number>>();

  constructor(mpi: MpiAddon, settings: MpiSettings, opened: { comm: number; rank: number; size: number }) {
    this.rank = opened.rank;
    this.size = opened.size;
    this.firstBytes = firstBytes(settings.checked);
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
    const lane = new SlotLane<number>(this, members, whole ? this.#world : undefined);
    this.#lanes.set(key, lane);
    return lane;
  }

  end(ending: Ending): void {
    hasEnded(this);
    if (ending.reason === "told" || ending.reason === "timed out") this.complete = false;
    this.ended ??= (op) => lostError(op, ending);
    if (this.#settings.checked) for (const lane of this.#lanes.values()) lane.part(ending);
  }

  abort(): void {
    this.#mpi.mpiAbort();
  }

  *commOf(op: string, members: readonly number[]): Steps<number> {
    const tag = (hashOf(members) >>> 0) % TAGS;
    const made = this.#mpi.mpiGroup(this.#world, Int32Array.from(members), tag, this.#settings.timeout);
    if (typeof made === "string") this.#fail(op, made);
    if (made < 0) this.#timeOut(op);
    return made;
  }

  gather(op: string, comm: number, mine: Uint8Array, ranks: number): Steps<Uint8Array> {
    return this.#transfer(op, comm, GATHER, mine, mine.length * ranks);
  }

  broadcast(op: string, comm: number, mine: Uint8Array, root: number): Steps<Uint8Array> {
    return this.#transfer(op, comm, BROADCAST, mine, mine.length, root);
  }

  *meet(op: string, comm: number): Steps<void> {
    yield* this.#transfer(op, comm, BARRIER, NO_BYTES, 0);
  }

  *#transfer(op: string, comm: number, kind: number, sent: Uint8Array, bytes: number, root = 0): Steps<Uint8Array> {
    const { timeout } = this.#settings;
    const got = yield* waited({
      sync: () => this.#mpi.mpiTransfer(comm, kind, sent, bytes, root, timeout),
      async: () => this.#mpi.mpiTransferAsync(comm, kind, sent, bytes, root, timeout),
    });
    if (got === null) this.#timeOut(op);
    if (typeof got === "string") this.#fail(op, got);
    return got;
  }

  post(comm: number, mine: Uint8Array, ranks: number): void {
    this.#mpi.mpiPost(comm, GATHER, mine, mine.length * ranks, 0, Infinity);
  }

  lose(op: string, ending: Ending): never {
    this.end(ending);
    throw lostError(op, ending);
  }

  #fail(op: string, text: string): never {
    const lost = libraryFailed("MPI", text);
    this.ended = lost;
    this.end({ reason: "exited", cause: this.rank, code: 1 });
    throw lost(op);
  }

  #timeOut(op: string): never {
    this.end({ reason: "timed out", cause: this.rank, code: 0 });
    throw timedOut(op, this.#settings.timeout);
  }
}

function noLibrary(reason: string): never {
  throw new SurprisalError("ERR_SURPRISAL_COLLECTIVE_LIBRARY", `openCollective: MPI cannot be used here: ${reason}`, {
    op: "openCollective",
    name: "library",
    reason,
  });
}

/** How many ranks Open MPI's launcher, or one of MPICH's kin, says that it started. */
function ranksStarted(): number | undefined {
  const text = process.env["OMPI_COMM_WORLD_SIZE"] ?? process.env["PMI_SIZE"];
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}

export function openMpi(settings: MpiSettings): OpenedCollective {
  const loaded = nativeAddon();
  if (!("addon" in loaded)) return noLibrary(loaded.reason);
  const file = findNative("libsurprisal_mpi.so", "build-mpi");
  if (file === undefined) return noLibrary("libsurprisal_mpi.so is not built; `npx surprisal build --mpi` builds it");
  const missing = whatIsMissing(file);
  if (missing !== undefined) return noLibrary(`${missing}; install or build it anew`);
  const mpi = loaded.addon;
  const opened = mpi.mpiOpen(file, settings.library ?? process.env["SURPRISAL_MPI"] ?? null, settings.timeout);
  if (opened === "")
    throw new SurprisalError(
      "ERR_SURPRISAL_COLLECTIVE_TIMEOUT",
      `openCollective: waited ${settings.timeout} ms for other ranks; every rank has to open the collective`,
      { op: "openCollective", name: "timeout", got: settings.timeout, want: "every rank to take part" },
    );
  if (typeof opened === "string") return noLibrary(opened);
  const started = ranksStarted();
  if (started !== undefined && started !== opened.size)
    return noLibrary(
      `${opened.library.slice(0, 60)} sees ${opened.size} rank(s) of the ${started} that the launcher started: it is not the launcher's own; ` +
        "name that one by `library` or SURPRISAL_MPI",
    );
  const channel = new MpiChannel(mpi, settings, opened);
  afterEndings(() => mpi.mpiLeave(channel.complete));
  return new World("mpi", channel, opened.library);
}
