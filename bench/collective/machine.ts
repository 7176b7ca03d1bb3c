// Ranks, cores and messages as events: when a call of a collective is over on all ranks.
//
// A call is a list of messages, each a collective of MPI (docs/scaling.md). In each a rank goes through rounds: it hands a message over,
// which takes a core, and goes on when the message of its neighbour is there. Short gathers and barriers take ⌈log2 P⌉ rounds, as by
// recursive doubling, long gathers P − 1, as around a ring, broadcasts ⌈log2 P⌉, as down a tree.

export interface Parameters {
  /** Cores that all ranks share; Infinity: each rank has its own. */
  readonly cores: number;
  /** Seconds of a core that a message costs beside its rounds: from JavaScript to the thread of MPI and back. */
  readonly handOff: number;
  /** Seconds of a round, whatever its bytes. */
  readonly round: number;
  /** Seconds of a byte on its way between two ranks. */
  readonly byte: number;
  /** Seconds of a core for each byte that a rank receives: copies into JavaScript, and the sums there. */
  readonly copy: number;
  /** Seconds until a rank that waits is given a core again, where there are more ranks than cores. */
  readonly wake: number;
}

export interface Call {
  readonly call: "barrier" | "allReduce" | "allGather" | "broadcast";
  /** Of each rank's array. */
  readonly bytes: number;
}

interface Message {
  readonly rounds: number;
  /** That a rank hands over in a round. */
  readonly bytes: number;
  /** Round → how far away the rank is that it waits for. */
  readonly from: (round: number) => number;
  readonly received: number;
}

const SLOT = 64;
const WITH_SLOT = 32;
const PIECE = 2 ** 20;
/** Gathers of more bytes a rank go around a ring. */
const SHORT = 2048;

const doublings = (ranks: number): number => Math.ceil(Math.log2(ranks));

function gather(bytes: number, ranks: number): Message {
  const received = bytes * ranks;
  if (bytes <= SHORT) {
    const rounds = doublings(ranks);
    return { rounds, bytes: received / Math.max(1, rounds), from: (round) => 2 ** round, received };
  }
  return { rounds: ranks - 1, bytes, from: () => 1, received };
}

/** The messages of a call, as lib/collective cuts it. */
function messagesOf({ call, bytes }: Call, ranks: number): Message[] {
  const messages = [gather(SLOT, ranks)];
  for (let left = bytes - WITH_SLOT; left > 0; left -= PIECE) {
    const piece = Math.min(left, PIECE);
    if (call === "broadcast")
      messages.push({ rounds: doublings(ranks), bytes: piece, from: (round) => 2 ** round, received: piece });
    else messages.push(gather(piece, ranks));
  }
  return messages;
}

/** When the cores are free again: the earliest of them is taken. */
class Cores {
  readonly #free: Float64Array | undefined;

  constructor(cores: number) {
    if (Number.isFinite(cores)) this.#free = new Float64Array(cores);
  }

  /** @returns when work that is ready then is done */
  work(ready: number, seconds: number): number {
    const free = this.#free;
    if (!free) return ready + seconds;
    const core = free.indexOf(Math.min(...free));
    return (free[core] = Math.max(ready, free[core]!) + seconds);
  }
}

/** Seconds from the begin of a call on all ranks until it is over on rank 0. */
export function secondsOf(call: Call, ranks: number, own: Parameters): number {
  const cores = new Cores(own.cores);
  const wake = ranks > own.cores ? own.wake : 0;
  let now: number[] = Array.from({ length: ranks }, () => 0);
  for (const { rounds, bytes, from, received } of messagesOf(call, ranks)) {
    now = now.map((at) => cores.work(at, own.handOff / 2));
    for (let round = 0; round < rounds; ++round) {
      const sent = now.map((at) => cores.work(at, own.round + bytes * own.byte));
      const distance = from(round) % ranks;
      now = sent.map((at, rank) => {
        const other = sent[(rank - distance + ranks) % ranks]!;
        return other > at ? other + wake : at;
      });
    }
    now = now.map((at) => cores.work(at, own.handOff / 2 + received * own.copy));
  }
  return now[0]!;
}
