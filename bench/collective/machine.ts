// Ranks, cores and messages as events: when a call of a collective is over on all ranks.
//
// A call is a list of messages, each a collective of MPI (docs/scaling.md). In each a rank goes through rounds: it hands a message over
// and takes one, which keeps a core busy, and goes on when that of its neighbour is there. Short gathers and barriers take ⌈log2 P⌉ rounds, as by
// recursive doubling, long gathers P − 1, as around a ring, broadcasts ⌈log2 P⌉, as down a tree.

export interface Parameters {
  /** Cores that all ranks share; Infinity: each rank has its own. */
  readonly cores: number;
  /** Seconds of a core that a message costs beside its rounds: from JavaScript to the thread of MPI and back. */
  readonly handOff: number;
  /** Seconds of a round, whatever its bytes; half with either side. */
  readonly round: number;
  /** Seconds of a byte on its way between two ranks: a core's, for half as long, with the sender and with the receiver. */
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
  /** Of whom a rank receives in a round; undefined: of nobody. */
  readonly sender: (rank: number, round: number) => number | undefined;
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
  const behind = (rank: number, distance: number): number => (rank - (distance % ranks) + ranks) % ranks;
  if (bytes <= SHORT) {
    const rounds = doublings(ranks);
    return {
      rounds,
      bytes: received / Math.max(1, rounds),
      sender: (rank, round) => behind(rank, 2 ** round),
      received,
    };
  }
  return { rounds: ranks - 1, bytes, sender: (rank) => behind(rank, 1), received };
}

/** Down a tree from rank 0: in each round all who have the bytes hand them to one who has not. */
function broadcast(bytes: number, ranks: number): Message {
  const sender = (rank: number, round: number): number | undefined =>
    rank >= 2 ** round && rank < 2 ** (round + 1) ? rank - 2 ** round : undefined;
  return { rounds: doublings(ranks), bytes, sender, received: bytes };
}

/** The messages of a call, as lib/collective cuts it. */
function messagesOf({ call, bytes }: Call, ranks: number): Message[] {
  const messages = [gather(SLOT, ranks)];
  for (let left = bytes - WITH_SLOT; left > 0; left -= PIECE) {
    const piece = Math.min(left, PIECE);
    messages.push(call === "broadcast" ? broadcast(piece, ranks) : gather(piece, ranks));
  }
  return messages;
}

/** Of work that ranks do at the same time each core does a piece of one, then of the next: three ranks on two cores take half as long again. */
const PIECES = 4;

/** Cores and when they are free again: the earliest of them is taken. */
class Cores {
  readonly #free: Float64Array | undefined;

  constructor(cores: number) {
    if (Number.isFinite(cores)) this.#free = new Float64Array(cores);
  }

  /** Each rank works for its seconds. @returns when it has, of when it was ready */
  work(ready: readonly number[], seconds: (rank: number) => number): number[] {
    const free = this.#free;
    if (!free) return ready.map((at, rank) => at + seconds(rank));
    const each = ready.map((_, rank) => seconds(rank) / PIECES);
    const now = [...ready];
    for (let piece = 0; piece < PIECES; ++piece)
      for (let rank = 0; rank < now.length; ++rank) {
        const core = free.indexOf(Math.min(...free));
        now[rank] = free[core] = Math.max(now[rank]!, free[core]!) + each[rank]!;
      }
    return now;
  }
}

/** So many calls follow each other, as they are measured. */
const IN_A_ROW = 3;

/** Seconds of a call among others like it: one may begin on a rank while others are still in that before. */
export function secondsOf(call: Call, ranks: number, own: Parameters): number {
  const cores = new Cores(own.cores);
  const wake = ranks > own.cores ? own.wake : 0;
  let now: number[] = Array.from({ length: ranks }, () => 0);
  const messages = Array.from({ length: IN_A_ROW }, () => messagesOf(call, ranks)).flat();
  for (const { rounds, bytes, sender, received } of messages) {
    now = cores.work(now, () => own.handOff / 2);
    for (let round = 0; round < rounds; ++round) {
      const senders = now.map((_, rank) => sender(rank, round));
      // One half with whoever sends, the other with whoever receives.
      const half = (own.round + bytes * own.byte) / 2;
      const done = cores.work(
        now,
        (rank) => half * (Number(senders[rank] !== undefined) + Number(senders.includes(rank))),
      );
      now = done.map((at, rank) => {
        const other = senders[rank] === undefined ? at : done[senders[rank]]!;
        return other > at ? other + wake : at;
      });
    }
    now = cores.work(now, () => own.handOff / 2 + received * own.copy);
  }
  return Math.max(...now) / IN_A_ROW;
}
