// Segments of rows (turns, steps, runs of kept tokens) as rows inside the rows: whatever takes rows takes segments.
import { needsHostArrays } from "../../core/device-ops";
import { needInt32 } from "../../core/arrays";
import { optionError, rangeError, valueError } from "../../core/errors";
import { needMaskedRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../../core/row-layout";
import { needSpans } from "./span-values";

needsHostArrays("segments", "turns are counted in host memory");

export interface SegmentsOptions extends RowLayout {
  /** 1 = the policy's token. Default: all 1. */
  readonly mask?: Uint8Array;
  /** The number of its turn per token, never going down along a row. Not read under the mask. Give this or `spans`. */
  readonly turns?: Int32Array;
  /** A segment for each span, [S,3] as `findSpans(…).spans`, in the order of the tokens and without overlap. Tokens outside are masked. */
  readonly spans?: Int32Array;
}

/**
 * Every token belongs to a segment: masked ones to that before them in the row, those ahead of the first segment to the first. A
 * row without a segment has one without kept tokens, unless the row is empty.
 */
export interface Segments {
  /** Where the segments lie in arrays of tokens: segment s is tokens offsets[s] … offsets[s + 1]. */
  readonly offsets: Int32Array;
  /** Where the rows lie in arrays of segments: row b has segments rowOffsets[b] … rowOffsets[b + 1]. */
  readonly rowOffsets: Int32Array;
  /** The tokens of the segments, [n]: the mask, without what lies outside of `spans`. */
  readonly mask: Uint8Array;
  /** Which segments have a kept token, [segments]: a mask for arrays of segments. */
  readonly kept: Uint8Array;
  /** Segments with a kept token, one per row. */
  readonly counts: Int32Array;
}

/** The tokens of the spans that the mask keeps, and the first kept token of each span. */
function ofSpans(op: string, rows: Rows, mask: Uint8Array | null, spans: Int32Array) {
  const list = needSpans(op, spans, rows);
  const inside = new Uint8Array(rows.n);
  const opens = new Uint8Array(rows.n);
  let behind = 0;
  for (let s = 0; s < list.S; ++s) {
    const [row, begin, finish] = [list.spans[3 * s]!, list.spans[3 * s + 1]!, list.spans[3 * s + 2]!];
    const from = rowBegin(rows, row) + begin;
    const to = rowBegin(rows, row) + finish;
    if (from < behind || to > rowEnd(rows, row))
      throw rangeError(op, `spans[${s}]`, [row, begin, finish], "a span behind the one before it, in its row");
    behind = to;
    let first = true;
    for (let i = from; i < to; ++i) {
      if (mask?.[i] === 0) continue;
      inside[i] = 1;
      if (first) opens[i] = 1;
      first = false;
    }
  }
  return { inside, opens };
}

/** The first kept token of each turn, or of each run of kept tokens where there are no turns. */
function ofTurns(op: string, rows: Rows, mask: Uint8Array | null, turns: Int32Array | null) {
  const inside = mask ? mask.map((kept) => (kept === 0 ? 0 : 1)) : new Uint8Array(rows.n).fill(1);
  const opens = new Uint8Array(rows.n);
  for (let b = 0; b < rows.B; ++b) {
    let last = -1;
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) {
      if (inside[i] === 0) continue;
      if (turns && last >= 0 && turns[i]! < turns[last]!)
        throw valueError(op, `turns[${i}]`, turns[i], `at least ${turns[last]!}, that of the token before it`);
      if (last < 0 || (turns ? turns[i] !== turns[last] : last < i - 1)) opens[i] = 1;
      last = i;
    }
  }
  return { inside, opens };
}

/**
 * Cuts rows into segments: turns by their numbers, spans between delimiters, or else runs of kept tokens. The result is a layout
 * of rows inside the rows:
 *
 *     const turns = segments({ shape, mask });
 *     moments(values, { offsets: turns.offsets, mask: turns.mask, over: "row" }).means      a mean per turn
 *     discountedReturns(rewardsOfTurns, { offsets: turns.rowOffsets, gamma })               turn after turn
 *     groupBroadcast(perTurn, { offsets: turns.offsets, mask: turns.mask })                 back to the tokens
 *
 * @param options the rows, by `shape` or `offsets`; their `mask`; `turns` or `spans`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (spans) or _VALUE (turns that go down), naming the argument
 */
export function segments(options: SegmentsOptions): Segments {
  const op = "segments";
  const { rows, mask } = needMaskedRows(op, options);
  const { turns, spans } = options;
  if (turns !== undefined && spans !== undefined)
    throw optionError(op, "spans", spans, "nothing where turns are given");
  const { inside, opens } =
    spans === undefined
      ? ofTurns(op, rows, mask, turns === undefined ? null : needInt32(op, "turns", turns, rows.n, rows.meaning))
      : ofSpans(op, rows, mask, spans);

  const begins: number[] = [];
  const kept: number[] = [];
  const rowOffsets = new Int32Array(rows.B + 1);
  const counts = new Int32Array(rows.B);
  for (let b = 0; b < rows.B; ++b) {
    const begin = rowBegin(rows, b);
    const end = rowEnd(rows, b);
    for (let i = begin; i < end; ++i) {
      if (opens[i] === 0) continue;
      begins.push(counts[b] === 0 ? begin : i);
      kept.push(1);
      ++counts[b]!;
    }
    if (counts[b] === 0 && begin < end) {
      begins.push(begin);
      kept.push(0);
    }
    rowOffsets[b + 1] = begins.length;
  }
  return {
    offsets: Int32Array.from([...begins, rows.n]),
    rowOffsets,
    mask: inside,
    kept: Uint8Array.from(kept),
    counts,
  };
}
