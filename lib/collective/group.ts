// The calls of a collective, over any channel: checks, pieces, and sums in the order of the ranks.
import type { CollectiveArray, CollectiveReduction } from "../core/collective";
import { allocateOn, DeviceArray } from "../core/device-array";
import { DTYPE_CODE, typedArrayName } from "../core/dtype";
import { rangeError } from "../core/errors";
import type { Channel, DeviceLane, Lane } from "./channel";
import { copyOf, emptyLike, needRanks, needReduction, needRoot, needValues, REDUCTIONS } from "./checks";
import { encodePrint, type Ending, hashOf, type Kind, mismatch } from "./fingerprint";
import type { AsyncCollective, OpenedCollective } from "./opened";
import type { Steps } from "./steps";

interface Call<A extends CollectiveArray | DeviceArray> {
  readonly kind: Kind;
  readonly values: A;
  /** Position in REDUCTIONS. */
  readonly reduction?: number;
  /** Position among the members. */
  readonly root?: number;
}

const COMBINE: Readonly<Record<CollectiveReduction, (a: number, b: number) => number>> = {
  sum: (a, b) => a + b,
  min: Math.min,
  max: Math.max,
};

/** Where the pieces of some bytes begin and end; none has one empty piece. */
function pieces(bytes: number, first: number, rest: number): (readonly [begin: number, end: number])[] {
  const list: (readonly [number, number])[] = [[0, Math.min(bytes, first)]];
  for (let begin = first; begin < bytes; begin += rest) list.push([begin, Math.min(bytes, begin + rest)]);
  return list;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: CollectiveArray): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

export class Group implements AsyncCollective {
  readonly rank: number;
  readonly size: number;
  readonly #channel: Channel;
  readonly #lane: Lane;
  /** Ranks of the whole collective. */
  readonly #members: readonly number[];

  constructor(channel: Channel, members: readonly number[]) {
    this.#channel = channel;
    this.#members = members;
    this.#lane = channel.laneOf(members);
    this.rank = members.indexOf(channel.rank);
    this.size = members.length;
  }

  allReduce<A extends CollectiveArray>(values: A, reduction: CollectiveReduction): A {
    return this.#channel.line.runSync("allReduce", this.#allReduce("allReduce", values, reduction));
  }

  allReduceAsync<A extends CollectiveArray>(values: A, reduction: CollectiveReduction): Promise<A> {
    return this.#later("allReduceAsync", values, (op, own) => this.#allReduce(op, own, reduction));
  }

  allGather<A extends CollectiveArray | DeviceArray>(values: A): A[] {
    return this.#channel.line.runSync("allGather", this.#allGather("allGather", values));
  }

  allGatherAsync<A extends CollectiveArray | DeviceArray>(values: A): Promise<A[]> {
    return this.#later("allGatherAsync", values, (op, own) => this.#allGather(op, own));
  }

  broadcast<A extends CollectiveArray | DeviceArray>(values: A, root: number): A {
    return this.#channel.line.runSync("broadcast", this.#broadcast("broadcast", values, root));
  }

  broadcastAsync<A extends CollectiveArray | DeviceArray>(values: A, root: number): Promise<A> {
    return this.#later("broadcastAsync", values, (op, own) => this.#broadcast(op, own, root));
  }

  barrier(): void {
    this.#channel.line.runSync("barrier", this.#barrier("barrier"));
  }

  barrierAsync(): Promise<void> {
    return this.#channel.line.runAsync(this.#barrier("barrierAsync"));
  }

  subgroup(ranks: readonly number[]): Group {
    const list = needRanks("subgroup", ranks, this.rank, this.size);
    return new Group(
      this.#channel,
      list.map((rank) => this.#members[rank]!),
    );
  }

  /** The caller may change the array while the call waits for its turn. */
  async #later<A extends CollectiveArray | DeviceArray, T>(
    op: string,
    values: A,
    steps: (op: string, own: A) => Steps<T>,
  ): Promise<T> {
    if (this.#deviceLane(values)) {
      const { stream, dtype, shape } = values as DeviceArray;
      const own = allocateOn(stream, dtype, shape).copyFrom(values as DeviceArray);
      return this.#channel.line.runAsync(steps(op, own as A)).finally(() => own.dispose());
    }
    needValues(op, values);
    return this.#channel.line.runAsync(steps(op, copyOf(values as CollectiveArray) as A));
  }

  /** What carries a DeviceArray as it is. */
  #deviceLane(values: CollectiveArray | DeviceArray): DeviceLane | undefined {
    return DeviceArray.is(values) ? this.#lane.onDevice : undefined;
  }

  *#allReduce<A extends CollectiveArray>(op: string, values: A, reduction: CollectiveReduction): Steps<A> {
    needValues(op, values);
    const word = needReduction(op, reduction);
    const combine = COMBINE[REDUCTIONS[word]!];
    const result = emptyLike(values);
    let overflow: { at: number; value: number } | undefined;
    yield* this.#exchange(op, { kind: "allReduce", values, reduction: word }, (parts, begin, end) => {
      for (let i = begin; i < end; ++i) {
        let value = parts[0]![i - begin]!;
        for (let r = 1; r < parts.length; ++r) value = combine(value, parts[r]![i - begin]!);
        result[i] = value;
        if (!overflow && result[i] !== value && !Number.isNaN(value)) overflow = { at: i, value };
      }
    });
    // The same on every rank, and after the last meeting: the collective goes on.
    if (overflow)
      throw rangeError(
        op,
        `the sum of values[${overflow.at}]`,
        overflow.value,
        "a number in int32",
        "Float64Array has room",
      );
    return result;
  }

  *#allGather<A extends CollectiveArray | DeviceArray>(op: string, values: A): Steps<A[]> {
    const lane = this.#deviceLane(values);
    if (lane) {
      yield* this.#agree(op, { kind: "allGather", values });
      return (yield* lane.gather(op, values as DeviceArray)) as A[];
    }
    needValues(op, values);
    const own: CollectiveArray = values as CollectiveArray;
    const results = this.#members.map(() => emptyLike(own));
    yield* this.#exchange(op, { kind: "allGather", values: own }, (parts, begin) => {
      parts.forEach((part, r) => results[r]!.set(part, begin));
    });
    return results as A[];
  }

  *#broadcast<A extends CollectiveArray | DeviceArray>(op: string, values: A, root: number): Steps<A> {
    const lane = this.#deviceLane(values);
    if (!lane) needValues(op, values);
    const from = needRoot(op, root, this.size);
    if (lane) {
      yield* this.#agree(op, { kind: "broadcast", values, root: from });
      return (yield* lane.broadcast(op, values as DeviceArray, from)) as A;
    }
    const own: CollectiveArray = values as CollectiveArray;
    const result = emptyLike(own);
    yield* this.#exchange(op, { kind: "broadcast", values: own, root: from }, (parts, begin) => {
      result.set(parts[from]!, begin);
    });
    return result as A;
  }

  *#barrier(op: string): Steps<void> {
    yield* this.#exchange(op, { kind: "barrier", values: new Int32Array(0) }, () => undefined);
  }

  /** Counts a call, and says what it is. */
  #begin<A extends CollectiveArray | DeviceArray>(op: string, call: Call<A>): Uint8Array {
    if (this.#channel.ended) throw this.#channel.ended(op);
    const { kind, values, root = -1 } = call;
    return encodePrint({
      kind,
      whole: typedArrayName(values) === "Int32Array",
      reduction: call.reduction ?? 0,
      root: root < 0 ? -1 : this.#members[root]!,
      length: values.length,
      sequence: ++this.#lane.calls,
      group: hashOf(this.#members),
      size: this.size,
      device: DeviceArray.is(values) ? DTYPE_CODE[values.dtype] + 1 : 0,
    });
  }

  /** Where calls are checked, all ranks make this one. */
  *#agree(op: string, call: Call<CollectiveArray | DeviceArray>): Steps<void> {
    const channel = this.#channel;
    const print = this.#begin(op, call);
    if (channel.firstBytes === channel.pieceBytes) return;
    const { prints } = yield* this.#lane.swap(op, print, new Uint8Array(0), -1);
    yield* this.#lane.release(op);
    const complaint = prints && mismatch(op, prints, this.#members);
    if (complaint) throw complaint;
  }

  /** Sends the array piece by piece and lets `read` see the piece of every member. */
  *#exchange<A extends CollectiveArray>(
    op: string,
    call: Call<A>,
    read: (parts: readonly CollectiveArray[], begin: number, end: number) => void,
  ): Steps<void> {
    const channel = this.#channel;
    const lane = this.#lane;
    const print = this.#begin(op, call);
    const { values, root = -1 } = call;
    const whole = typedArrayName(values) === "Int32Array";
    const width = values.BYTES_PER_ELEMENT;
    const bytes = bytesOf(values);
    for (const [begin, end] of pieces(bytes.length, channel.firstBytes, channel.pieceBytes)) {
      const { prints, parts } = yield* lane.swap(op, begin === 0 ? print : undefined, bytes.subarray(begin, end), root);
      const complaint = prints && mismatch(op, prints, this.#members);
      if (!complaint) {
        const length = (end - begin) / width;
        const numbers = parts.map(({ buffer, byteOffset }) =>
          whole ? new Int32Array(buffer, byteOffset, length) : new Float64Array(buffer, byteOffset, length),
        );
        read(numbers, begin / width, end / width);
      }
      yield* lane.release(op);
      if (complaint) throw complaint; // all members are at the same call again
    }
  }
}

/** All ranks of a channel. */
export class World extends Group implements OpenedCollective {
  readonly kind: OpenedCollective["kind"];
  readonly library: string | undefined;
  readonly #channel: Channel;

  constructor(kind: OpenedCollective["kind"], channel: Channel, library?: string) {
    super(
      channel,
      Array.from({ length: channel.size }, (_, rank) => rank),
    );
    this.kind = kind;
    this.library = library;
    this.#channel = channel;
    channel.line.told = () => this.#end("told", "SIGTERM");
  }

  close({ abort = false }: { readonly abort?: boolean } = {}): void {
    if (abort) this.#channel.abort();
    this.#end("closed", "close");
  }

  /** Also rejects the call that waits. */
  #end(reason: Ending["reason"], op: string): void {
    const channel = this.#channel;
    if (channel.ended) return;
    channel.end({ reason, cause: this.rank, code: 0 });
    const ended = channel.ended as Channel["ended"];
    if (ended) channel.line.interrupt(ended(op));
  }
}
