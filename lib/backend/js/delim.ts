// Spans between delimiters (contract: native/include/surprisal/delim.h). A row is read from its begin, for starts and, from where a
// span begins, for its end.
import { DTYPE_CODE } from "../../core/dtype";
import { rangeError, type SurprisalError } from "../../core/errors";
import { firstWideOr, halvesOf, isWideId, LOW as LOW_HALF } from "../../core/wide-ids";
import { rowBegin, rowEnd } from "../../core/row-layout";
import {
  type DelimMaskArgs,
  type DelimMeansArgs,
  type DelimNgramsArgs,
  type DelimOps,
  type DelimSpansArgs,
  HEAD_SPAN,
  INCLUDE_ENDS,
  ROW_STARTS_OPEN,
  UNTERMINATED,
} from "../contract/delim";
import { liveSpans } from "./live-spans";

const INCLUDE_ALL = INCLUDE_ENDS.indexOf("all");
const INCLUDE_FIRST = INCLUDE_ENDS.indexOf("first");

/** One alternative of a delimiter. */
interface Alternative {
  readonly index: number;
  readonly ids: Int32Array;
}

/** So many low bits of an id say whether an alternative may begin with it: few other tokens come as far as the map. */
const SIEVE_BITS = 12;
const LOW = (1 << SIEVE_BITS) - 1;

const NONE: readonly Alternative[] = [];

/** A row of ids: id i lies at i << shift. */
interface TokenRow {
  readonly ids: Int32Array;
  readonly shift: number;
  readonly length: number;
  /** Of int64 ids, of which `ids` begins with the low one. */
  readonly halves: Int32Array | undefined;
  /** What says that id i is no int32. */
  readonly refusal: (i: number) => SurprisalError;
}

/** Whether id i is an int32. */
const isNarrow = ({ halves }: TokenRow, i: number): boolean => halves === undefined || !isWideId(halves, i);

function isAt(wanted: Int32Array, row: TokenRow, position: number): boolean {
  if (position + wanted.length > row.length) return false;
  let same = 1;
  while (
    same < wanted.length &&
    row.ids[(position + same) << row.shift] === wanted[same] &&
    isNarrow(row, position + same)
  )
    ++same;
  return same === wanted.length;
}

class Delimiter {
  /** In the order in which they are tried: the longest first, then as listed. */
  private readonly byFirst = new Map<number, Alternative[]>();
  private readonly sieve = new Uint8Array(1 << SIEVE_BITS);
  /** What all alternatives begin with, where it is one id. */
  private readonly only: number | undefined;

  constructor(ids: Int32Array, offsets: Int32Array, count: number) {
    for (let index = 0; index < count; ++index) {
      const alternative = { index, ids: ids.subarray(offsets[index], offsets[index + 1]) };
      const first = alternative.ids[0]!;
      const others = this.byFirst.get(first);
      if (others) others.push(alternative);
      else this.byFirst.set(first, [alternative]);
      this.sieve[first & LOW] = 1;
    }
    if (this.byFirst.size === 1) [this.only] = this.byFirst.keys();
    for (const alternatives of this.byFirst.values()) alternatives.sort((a, b) => b.ids.length - a.ids.length);
  }

  matchAt(row: TokenRow, position: number): Alternative | undefined {
    for (const alternative of this.byFirst.get(row.ids[position << row.shift]!) ?? NONE)
      if (isAt(alternative.ids, row, position)) return alternative;
    return undefined;
  }

  /**
   * First position from `begin` on, and before `end`, where an alternative matches; `end` if there is none. Refuses ids on the way that
   * are no int32: those that are not passed here were compared with a delimiter's.
   */
  next(row: TokenRow, begin: number, end: number): number {
    for (let i = this.candidate(row, begin, end); i < end; i = this.candidate(row, i + 1, end)) {
      if (!isNarrow(row, i)) throw row.refusal(i);
      if (this.matchAt(row, i)) return i;
    }
    return end;
  }

  /** First position where one may begin, or of no int32: a loop without a call in it, or the engine's own, which ends with the row. */
  private candidate({ ids, halves, length }: TokenRow, begin: number, end: number): number {
    const { sieve, only } = this;
    let i = begin;
    if (halves !== undefined) {
      if (only !== undefined) return firstWideOr(only, halves, begin, end);
      while (i < end && sieve[ids[2 * i]! & LOW] === 0 && !isWideId(halves, i)) ++i;
    } else if (only === undefined) while (i < end && sieve[ids[i]! & LOW] === 0) ++i;
    else if (end < length) while (i < end && ids[i] !== only) ++i;
    else {
      const at = ids.indexOf(only, begin);
      return at < 0 ? end : at;
    }
    return i;
  }
}

/** The first match of a delimiter at or behind a position of a row, for positions that go on, or back by no more than a delimiter. */
class NextMatch {
  private from = 0;
  private at = -1;

  constructor(
    private readonly wanted: Delimiter,
    private readonly row: TokenRow,
  ) {}

  behind(begin: number): number {
    const { wanted, row } = this;
    if (begin > this.at) this.at = wanted.next(row, begin, row.length);
    else if (begin < this.from) {
      const earlier = wanted.next(row, begin, this.from);
      if (earlier < this.from) this.at = earlier;
    } else return this.at;
    this.from = begin;
    return this.at;
  }
}

function tokenRow(a: DelimSpansArgs, b: number): TokenRow {
  const { tokens, offsets, lengths, T } = a;
  const begin = offsets ? offsets[b]! : b * T;
  const end = offsets ? offsets[b + 1]! : begin + (lengths ? lengths[b]! : T);
  const length = end - begin;
  const refusal = (i: number) => rangeError("delimSpans", `tokens[${begin + i}]`, tokens[begin + i], "an int32");
  if (a.dtype === DTYPE_CODE.int32)
    return { ids: (tokens as Int32Array).subarray(begin, end), shift: 0, length, halves: undefined, refusal };
  const halves = halvesOf((tokens as BigInt64Array).subarray(begin, end));
  return { ids: halves.subarray(LOW_HALF), shift: 1, length, halves, refusal };
}

function delimSpans(a: DelimSpansArgs): void {
  const start = new Delimiter(a.startIds, a.startOffsets, a.startCount);
  const end = new Delimiter(a.endIds, a.endOffsets, a.endCount);
  const head = a.headIds && a.headOffsets ? new Delimiter(a.headIds, a.headOffsets, a.headCount) : undefined;
  let count = 0;

  function emit(b: number, begin: number, finish: number, startAlternative: number, endAlternative: number): void {
    if (count < a.capacity) {
      a.spans[3 * count] = b;
      a.spans[3 * count + 1] = begin;
      a.spans[3 * count + 2] = finish;
      if (a.alternatives) {
        a.alternatives[2 * count] = startAlternative;
        a.alternatives[2 * count + 1] = endAlternative;
      }
    }
    ++count;
  }

  /** Emits the span whose content begins at `begin`. Returns where a scan without overlap goes on. */
  function open(b: number, row: TokenRow, ends: NextMatch, begin: number, startAlternative: number): number {
    const at = ends.behind(begin);
    if (at === row.length) {
      if (a.unterminatedKeep && begin < row.length) emit(b, begin, row.length, startAlternative, UNTERMINATED);
      return row.length;
    }
    const closing = end.matchAt(row, at)!;
    const included = a.includeEnd === INCLUDE_ALL ? closing.ids.length : a.includeEnd === INCLUDE_FIRST ? 1 : 0;
    if (at + included > begin) emit(b, begin, at + included, startAlternative, closing.index);
    return at + closing.ids.length;
  }

  for (let b = 0; b < a.B; ++b) {
    const row = tokenRow(a, b);
    const ends = new NextMatch(end, row);
    if (head) {
      const at = head.next(row, 0, row.length);
      const match = head.matchAt(row, at);
      if (match) emit(b, 0, at + match.ids.length, HEAD_SPAN, match.index);
    }
    let i = 0;
    if (a.startsOpen) {
      const resume = open(b, row, ends, 0, ROW_STARTS_OPEN);
      if (!a.overlapping) i = resume;
    }
    for (;;) {
      i = start.next(row, i, row.length);
      if (i === row.length) break;
      const { ids, index } = start.matchAt(row, i)!;
      const resume = open(b, row, ends, i + ids.length, index);
      i = a.overlapping ? i + 1 : resume;
    }
  }
  a.count[0] = BigInt(count);
}

/** First element of the row that span s lies in. */
function rowOfSpan(a: DelimMeansArgs | DelimMaskArgs, s: number): number {
  const b = a.spans[3 * s]!;
  return a.offsets ? a.offsets[b]! : b * a.T;
}

function delimMeans(a: DelimMeansArgs): void {
  const S = liveSpans(a);
  a.means.fill(0, S);
  for (let s = 0; s < S; ++s) {
    const row = rowOfSpan(a, s);
    const begin = row + a.spans[3 * s + 1]!;
    const finish = row + a.spans[3 * s + 2]!;
    let sum = 0;
    for (let i = begin; i < finish; ++i) sum += a.values[i]!;
    a.means[s] = sum / (finish - begin);
  }
}

function delimMask(a: DelimMaskArgs): void {
  const S = liveSpans(a);
  // +1 where a span begins, -1 where it ends: the running sum is how many spans a token lies in.
  const change = new Int32Array(a.n + 1);
  for (let s = 0; s < S; ++s) {
    const row = rowOfSpan(a, s);
    ++change[row + a.spans[3 * s + 1]!]!;
    --change[row + a.spans[3 * s + 2]!]!;
  }
  let inside = 0;
  for (let i = 0; i < a.n; ++i) {
    inside += change[i]!;
    a.mask[i] = inside > 0 ? 1 : 0;
  }
}

/**
 * Numbers what it sees: the tokens first, then pairs of them, fours and so on by doubling; an n-gram is the two longest such
 * grams that cover it together. A pair of numbers below 2^26 makes one exact key.
 */
function delimNgrams(a: DelimNgramsArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let numbers = new Numbering();
    let grams = runs(a, rowBegin(a, b), rowEnd(a, b)).map((run) => Array.from(run, (id) => numbers.of(id)));
    for (let length = 1; length < a.length && grams.length > 0;) {
      const step = Math.min(length, a.length - length);
      const { size } = numbers;
      const pairs = new Numbering();
      grams = grams.map((gram) => gram.slice(step).map((second, i) => pairs.of(gram[i]! * size + second)));
      numbers = pairs;
      length += step;
    }
    a.counts[2 * b] = grams.reduce((sum, run) => sum + run.length, 0);
    a.counts[2 * b + 1] = grams.length > 0 ? numbers.size : 0;
  }
}

/** The stretches of kept tokens in [begin, end) that are long enough. */
function runs({ tokens, mask, length }: DelimNgramsArgs, begin: number, end: number): Int32Array[] {
  const found: Int32Array[] = [];
  let start = begin;
  for (let i = begin; i <= end; ++i)
    if (i === end || (mask && mask[i] === 0)) {
      if (i - start >= length) found.push(tokens.subarray(start, i));
      start = i + 1;
    }
  return found;
}

/** Keys numbered 0, 1, … by first appearance. */
class Numbering {
  private readonly numbers = new Map<number, number>();

  get size(): number {
    return this.numbers.size;
  }

  of(key: number): number {
    let number = this.numbers.get(key);
    if (number === undefined) this.numbers.set(key, (number = this.numbers.size));
    return number;
  }
}

export const delimOps: DelimOps = { delimSpans, delimMeans, delimMask, delimNgrams };
