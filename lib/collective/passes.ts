// A collective without a network, in passes: a call is answered by what all ranks gave in the pass before. One that has no answer
// yet is answered as if every rank were like this one, so that the pass goes on to the calls behind it; what this rank gave is
// kept. What it gave on a guess may be wrong. The next pass compares: once every rank gives in every call what the answers were made
// of, all calls are those that one job would have made.
import type { Channel, Lane, Swapped } from "./channel";
import { decodePrint, type Fingerprint } from "./fingerprint";
import { Line, type Steps } from "./steps";

/** What a rank gave in a call. */
export interface Given {
  readonly print: Uint8Array;
  /** Aligned for float64. */
  readonly bytes: Uint8Array;
}

/** Nothing travels in pieces. */
const WHOLE = 2 ** 52;

const SAME = ["kind", "whole", "reduction", "root", "sequence", "group", "size"] as const;

const alike = (one: Fingerprint, other: Fingerprint): boolean => SAME.every((field) => one[field] === other[field]);

/** The same bytes in memory of their own, zeros behind them. */
function copied(bytes: Uint8Array, length = bytes.length): Uint8Array {
  const copy = new Uint8Array(length);
  copy.set(bytes);
  return copy;
}

/** Arrays that are gathered are as long as the longest one, which a rank that guessed took its own for. */
const mayBePadded = ({ kind, whole }: Fingerprint): boolean => kind === "allGather" && !whole;

/** What all ranks gave, call by call, rank by rank: the calls from the first on that they made alike. */
export function answersOf(ranks: readonly (readonly Given[])[]): Given[][] {
  const answers: Given[][] = [];
  for (let call = 0; ranks.every((given) => call < given.length); ++call) {
    const own = ranks.map((given) => given[call]!);
    const prints = own.map(({ print }) => decodePrint(print));
    const longest = Math.max(...own.map(({ bytes }) => bytes.length));
    const ragged = own.some(({ bytes }) => bytes.length !== longest);
    if (!prints.every((print) => alike(print, prints[0]!)) || (ragged && !mayBePadded(prints[0]!))) break;
    answers.push(own.map(({ print, bytes }) => ({ print, bytes: copied(bytes, longest) })));
  }
  return answers;
}

export class Passes implements Channel {
  readonly firstBytes = WHOLE;
  readonly pieceBytes = WHOLE;
  readonly line = new Line();
  readonly ended = undefined;
  /** What this rank gave, call by call. */
  readonly given: Given[] = [];
  /** How many calls, from the first on, were answered. */
  answered = 0;

  /** @param answers what all ranks gave in the pass before, as `answersOf` has it */
  constructor(
    readonly rank: number,
    readonly size: number,
    private readonly answers: readonly (readonly Given[])[] = [],
  ) {}

  /** Whether an answer was a guess: what came of it is not to be believed. */
  get guessed(): boolean {
    return this.answered < this.given.length;
  }

  laneOf(members: readonly number[]): Lane {
    const answer = (print: Uint8Array, bytes: Uint8Array): Uint8Array[] => this.answer(print, bytes);
    const { rank, size } = this;
    return {
      calls: 0,
      *swap(op, print, mine, root): Steps<Swapped> {
        if (members.length !== size) throw new Error(`${op}: passes have no sub-groups`);
        // Of a broadcast the others' numbers are not read, and need not stay the same.
        return { parts: answer(print!, root >= 0 && root !== rank ? new Uint8Array(mine.length) : mine) };
      },
      *release(): Steps<void> {
        // Nobody waits.
      },
    };
  }

  end(): void {
    // Nobody waits.
  }

  abort(): void {
    // The other ranks are of other times.
  }

  /** The arrays of all ranks, copied where a caller could change them. */
  private answer(print: Uint8Array, bytes: Uint8Array): Uint8Array[] {
    const known = this.guessed ? undefined : this.answers[this.given.length];
    const own = known?.[this.rank];
    const same = own && alike(decodePrint(own.print), decodePrint(print)) && Buffer.compare(own.bytes, bytes) === 0;
    this.given.push({ print, bytes: copied(bytes) });
    if (!known || !same) return Array.from({ length: this.size }, () => bytes);
    ++this.answered;
    return known.map((part) => part.bytes);
  }
}
