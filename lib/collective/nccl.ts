// Ranks that meet over NCCL, each with a GPU of its own. Arrays of a device travel as they lie; those in host memory go by way of the
// device. Nothing blocks inside: what NCCL began is asked after until it has ended or the deadline has passed.
import { nativeAddon, type NcclAddon, type NcclRanks } from "../backend/addon";
import { nativeError } from "../backend/native-error";
import { deviceBackend } from "../backend/select";
import { homeStream } from "../backend/streams";
import type { Collective } from "../core/collective";
import { allocateOn, type DeviceArray, needSameDevice } from "../core/device-array";
import type { EventHandle } from "../core/device-runtime";
import { SurprisalError } from "../core/errors";
import type { Stream } from "../core/stream";
import type { Channel, DeviceLane, Lane } from "./channel";
import { endWithThread, hasEnded } from "./endings";
import { type Ending, lostError } from "./fingerprint";
import { World } from "./group";
import type { DeviceCollective, OpenedCollective } from "./opened";
import { refuseLibrary, versionsOfAll } from "./nccl-library";
import { polled } from "./polled";
import { firstBytes, PIECE_BYTES, type SlotChannel, SlotLane } from "./slots";
import { Line, type Steps, waited } from "./steps";

/** Milliseconds in which what was sent may arrive once a rank closes. */
const LAST = 1000;

export interface NcclSettings {
  readonly through: Collective;
  readonly stream: Stream | undefined;
  readonly timeout: number;
  readonly checked: boolean;
  readonly library: string;
}

class NcclLane extends SlotLane<NcclRanks> {
  readonly onDevice: DeviceLane;

  constructor(channel: NcclChannel, members: readonly number[], comm: NcclRanks | undefined) {
    super(channel, members, comm);
    const known = (op: string): Steps<NcclRanks> => this.known(op);
    this.onDevice = {
      *gather(op, values) {
        const { dtype, length, shape } = values;
        const whole = allocateOn(channel.stream, dtype, [members.length * length]);
        if (length > 0) yield* channel.gatherOn(op, yield* known(op), values, whole);
        const parts = members.map((_, r) => whole.view(r * length, (r + 1) * length).reshape(shape));
        whole.dispose();
        return parts;
      },
      *broadcast(op, values, root) {
        const result = allocateOn(channel.stream, values.dtype, values.shape);
        if (values.length > 0) yield* channel.broadcastOn(op, yield* known(op), values, result, root);
        return result;
      },
    };
  }
}

class NcclChannel implements SlotChannel<NcclRanks> {
  readonly rank: number;
  readonly size: number;
  readonly firstBytes: number;
  readonly pieceBytes = PIECE_BYTES;
  readonly line = new Line();
  ended: Channel["ended"];
  readonly stream: Stream;
  readonly #nccl: NcclAddon;
  readonly #settings: NcclSettings;
  readonly #lanes = new Map<string, NcclLane>();
  readonly #comms: NcclRanks[] = [];
  /** Nothing is under way, and nothing has failed. */
  #quiet = true;

  constructor(nccl: NcclAddon, settings: NcclSettings, stream: Stream) {
    this.rank = settings.through.rank;
    this.size = settings.through.size;
    this.firstBytes = firstBytes(settings.checked);
    this.stream = stream;
    this.#nccl = nccl;
    this.#settings = settings;
    endWithThread(this);
  }

  laneOf(members: readonly number[]): Lane {
    const key = members.join();
    const known = this.#lanes.get(key);
    if (known) return known;
    const lane = new NcclLane(this, members, undefined);
    this.#lanes.set(key, lane);
    return lane;
  }

  end(ending: Ending): void {
    hasEnded(this);
    this.ended ??= (op) => lostError(op, ending);
    const whole = this.#quiet && (ending.reason === "closed" || ending.reason === "exited");
    for (const comm of this.#comms.splice(0)) this.#giveBack(comm, whole);
  }

  abort(): void {
    const { through } = this.#settings;
    (through as Partial<OpenedCollective>).close?.({ abort: true });
  }

  /** Its members hand the id of NCCL to each other by what this collective was opened through. */
  *commOf(op: string, members: readonly number[]): Steps<NcclRanks> {
    const { through } = this.#settings;
    const whole = members.length === this.size && members.every((member, i) => member === i);
    const own = members.indexOf(this.rank);
    const made = own === 0 ? this.#nccl.ncclUniqueId() : new Uint8Array(128);
    // The length tells the others that there is none.
    const sent = new Int32Array(33);
    if (typeof made !== "string") {
      sent[0] = 1;
      sent.set(new Int32Array(made.buffer, made.byteOffset, 32), 1);
    }
    const got = (whole ? through : through.subgroup(members)).broadcast(sent, 0);
    if (typeof made === "string") this.#fail(op, made);
    if (got[0] === 0) this.#fail(op, `rank ${members[0]} could not make an id`);
    const id = new Uint8Array(got.slice(1).buffer);
    const comm = this.#begun(op, this.#nccl.ncclJoin(this.#session, id, members.length, own));
    this.#comms.push(comm);
    yield* this.#done(op, comm, performance.now() + this.#settings.timeout, false);
    return comm;
  }

  *gather(op: string, comm: NcclRanks, mine: Uint8Array, ranks: number): Steps<Uint8Array> {
    return yield* this.#staged(mine, ranks, (sent, received) => this.gatherOn(op, comm, sent, received));
  }

  *broadcast(op: string, comm: NcclRanks, mine: Uint8Array, root: number): Steps<Uint8Array> {
    return yield* this.#staged(mine, 1, (sent, received) => this.broadcastOn(op, comm, sent, received, root));
  }

  *meet(op: string, comm: NcclRanks): Steps<void> {
    yield* this.gather(op, comm, new Uint8Array(8), this.size);
  }

  *gatherOn(op: string, comm: NcclRanks, sent: DeviceArray, received: DeviceArray): Steps<void> {
    needSameDevice(op, "values", sent, this.stream);
    yield* this.#run(op, comm, () =>
      this.#nccl.ncclGather(this.#session, comm, sent.handle(op, "values"), received.handle(op, "result")),
    );
  }

  *broadcastOn(op: string, comm: NcclRanks, sent: DeviceArray, received: DeviceArray, root: number): Steps<void> {
    needSameDevice(op, "values", sent, this.stream);
    yield* this.#run(op, comm, () =>
      this.#nccl.ncclBroadcast(this.#session, comm, sent.handle(op, "values"), received.handle(op, "result"), root),
    );
  }

  lose(op: string, ending: Ending): never {
    this.end(ending);
    throw lostError(op, ending);
  }

  get #session(): number {
    return this.stream.runtime.session;
  }

  /** Bytes of host memory by way of the device. */
  *#staged(
    mine: Uint8Array,
    ranks: number,
    move: (sent: DeviceArray, received: DeviceArray) => Steps<void>,
  ): Steps<Uint8Array> {
    const sent = allocateOn(this.stream, "uint8", [mine.length]);
    const received = allocateOn(this.stream, "uint8", [mine.length * ranks]);
    try {
      sent.write(mine);
      yield* move(sent, received);
      return received.read();
    } finally {
      sent.dispose();
      received.dispose();
    }
  }

  *#run(op: string, comm: NcclRanks, start: () => number | string): Steps<void> {
    const deadline = performance.now() + this.#settings.timeout;
    this.#quiet = false;
    this.#begun(op, start());
    // What NCCL began is on the stream once it says so; from there on the stream's mark tells when it has run.
    yield* this.#done(op, comm, deadline, false);
    yield* this.#done(op, comm, deadline, true);
    this.#quiet = true;
  }

  *#done(op: string, comm: NcclRanks, deadline: number, onStream: boolean): Steps<void> {
    const event: EventHandle | null = onStream ? this.stream.runtime.recordEvent() : null;
    const left = (): number => deadline - performance.now();
    const done = yield* waited({
      sync: () => this.#nccl.ncclWait(comm, event, left()),
      async: () =>
        polled(
          () => this.#nccl.ncclTest(comm, event),
          () => left() <= 0 || this.ended !== undefined,
        ),
    });
    if (this.ended) throw this.ended(op);
    if (typeof done === "string") this.#fail(op, done);
    if (!done) this.#timeOut(op);
  }

  /** What a call of NCCL began. */
  #begun<T>(op: string, answer: T | number | string): T {
    if (typeof answer === "string") this.#fail(op, answer);
    if (typeof answer !== "number" || answer === 0) return answer as T;
    const loaded = nativeAddon();
    const text = "addon" in loaded ? loaded.addon.lastError() : loaded.reason;
    throw nativeError(this.stream.backend, op, answer, `${op}: ${text}`);
  }

  /** Away without waiting for others, or after what this rank sent has arrived. */
  #giveBack(comm: NcclRanks, whole: boolean): void {
    const nccl = this.#nccl;
    const within = Math.min(LAST, this.#settings.timeout);
    if (whole && nccl.ncclFinalize(comm) === 0 && nccl.ncclWait(comm, null, within) === true) nccl.ncclDestroy(comm);
    else nccl.ncclAbort(comm);
  }

  #fail(op: string, text: string): never {
    const lost = (call: string): SurprisalError =>
      new SurprisalError(
        "ERR_SURPRISAL_COLLECTIVE_LOST",
        `${call}: NCCL failed (${text}); start the job again from its last saved state`,
        { op: call, reason: text },
      );
    this.#quiet = false;
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

/** The stream where calls run, or why there is none. */
function streamFor({ stream }: NcclSettings): Stream | string {
  if (stream) return stream;
  try {
    return homeStream("openCollective", deviceBackend("openCollective", "cuda", undefined));
  } catch (error) {
    return (error as Error).message;
  }
}

export function openNccl(settings: NcclSettings): DeviceCollective {
  const { through, library } = settings;
  const loaded = nativeAddon();
  const version = "addon" in loaded ? loaded.addon.ncclOpen(library) : loaded.reason;
  const stream = typeof version === "string" ? version : streamFor(settings);
  // All ranks hear of one that cannot take part, so that nobody waits for it.
  const able = typeof stream === "string" ? 0 : (version as number);
  const text = versionsOfAll(through, able, typeof stream === "string" ? stream : "");
  if (typeof stream === "string" || !("addon" in loaded)) return refuseLibrary(text);
  const channel = new NcclChannel(loaded.addon, settings, stream);
  const world = new World("nccl", channel, text);
  // The ranks meet here, as those of MPI do.
  world.barrier();
  return world as DeviceCollective;
}
