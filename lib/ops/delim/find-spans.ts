// findSpans: ranges of tokens between delimiters. docs/ops/delim.md has the rules with examples.
import { type DelimSpansArgs, INCLUDE_END, type IncludeEnd } from "../../backend/contract/delim";
import { type BackendOption, selectBackend } from "../../backend/select";
import { needIds, needInt32, type TokenIds } from "../../core/arrays";
import { argumentError } from "../../core/errors";
import { needFlag, needNumber, needWord } from "../../core/options";
import type { RowLayout, Rows } from "../../core/rows";
import { type Delimiter, needDelimiter } from "./delimiter";
import { needSpanRows } from "./rows";

export type { IncludeEnd } from "../../backend/contract/delim";

export const UNTERMINATED_RULES = ["drop", "keep"] as const;
/** What becomes of a span that its row never closes. */
export type Unterminated = (typeof UNTERMINATED_RULES)[number];

/** Which spans to look for. Without `shape` and `offsets` the tokens are one row. */
export interface FindSpansOptions extends RowLayout, BackendOption {
  /** Opens a span, which begins behind it. */
  readonly start: Delimiter;
  /** Closes a span: the first one that begins at or behind the span's begin. */
  readonly end: Delimiter;
  /**
   * Where it first occurs in a row, the range from the row's first token to its last one is a span too, ahead of all
   * others. `startsOpen` says the same without a second delimiter. Default: none.
   */
  readonly head?: Delimiter | null;
  /** Valid tokens of each padded row, in [0, T]: what lies behind never matches. Default: all. */
  readonly lengths?: TokenIds;
  /**
   * false: behind a closed span the search goes on behind its end delimiter, and an unclosed one ends the row. true: every
   * start opens a span, inside another one too. Default false.
   */
  readonly overlapping?: boolean;
  /**
   * How much of the end delimiter belongs to the span: `"all"`, its `"first"` token or `"none"`; a span that `"none"`
   * leaves empty is not listed. Default `"all"`.
   */
  readonly includeEnd?: IncludeEnd;
  /** A span that its row does not close: `"drop"` it or `"keep"` it up to the row's end. Default `"drop"`. */
  readonly unterminated?: Unterminated;
  /** The row begins inside a span, as a rollout does whose start delimiter is in the prompt. Default false. */
  readonly startsOpen?: boolean;
  /** Room for spans at the first attempt; it grows when there are more. Default n/16 + 64. */
  readonly capacity?: number;
}

/** Spans by row, then in the order in which they open (a head first). */
export interface Spans {
  readonly count: number;
  /** [count,3]: row, begin, finish. Begin and finish count from the row's first token; finish is exclusive. */
  readonly spans: Int32Array;
  /** The columns of `spans`, [count] each. */
  readonly rows: Int32Array;
  readonly begins: Int32Array;
  readonly finishes: Int32Array;
  /** Which alternative of `start` opened the span; −1: the row started open, −2: it is the head. */
  readonly startAlternatives: Int32Array;
  /** Which alternative of `end` closed the span; −1: none did. Of a head: which alternative of `head` it is. */
  readonly endAlternatives: Int32Array;
}

function needLengths(op: string, value: unknown, rows: Rows): Int32Array | null {
  if (value == null) return null;
  if (rows.offsets)
    throw argumentError("ERR_SURPRISAL_OPTION", op, "lengths", value, "nothing where offsets are given: they are for padded rows");
  const ids = needIds(op, "lengths", value);
  const lengths = needInt32(op, "lengths", ids, rows.B, "one per row");
  const wrong = lengths.findIndex((length) => length < 0 || length > rows.T);
  if (wrong >= 0)
    throw argumentError("ERR_SURPRISAL_RANGE", op, `lengths[${wrong}]`, lengths[wrong], `an integer in [0, ${rows.T}]`);
  return lengths;
}

/** Column k of a [count, width] array. */
function column(table: Int32Array, width: number, k: number): Int32Array {
  const out = new Int32Array(table.length / width);
  for (let i = 0; i < out.length; ++i) out[i] = table[i * width + k]!;
  return out;
}

/**
 * Finds the spans of tokens between a start and an end delimiter: the steps of a rollout, answers, turns, tool calls.
 *
 * Exact, on ids: the same on every backend. The time grows with the number of tokens, overlapping or not.
 *
 * @param tokens ids, [n] as `shape` or `offsets` say; without both, one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE (an empty delimiter or list of alternatives, a wrong number of tokens), _RANGE (an
 * id that is no int32, a length outside its row, offsets), _DTYPE, _OPTION or _BUFFER, naming the argument
 */
export function findSpans(tokens: TokenIds, options: FindSpansOptions): Spans {
  const op = "findSpans";
  const ids = needIds(op, "tokens", tokens);
  const rows = needSpanRows(op, options, ids.length);
  const { n, B, T, offsets } = rows;
  const start = needDelimiter(op, "start", options.start);
  const end = needDelimiter(op, "end", options.end);
  const head = options.head == null ? null : needDelimiter(op, "head", options.head);
  // No row has more than a span a token and the two at its begin.
  const most = n + 2 * B;
  const capacity = needNumber(op, "capacity", options.capacity ?? Math.floor(n / 16) + 64, { min: 0, integer: true });
  const count = new BigInt64Array(1);
  const args: Omit<DelimSpansArgs, "capacity" | "spans" | "which"> = {
    tokens: needInt32(op, "tokens", ids, n, rows.meaning),
    offsets,
    lengths: needLengths(op, options.lengths, rows),
    startIds: start.ids,
    startOffsets: start.offsets,
    endIds: end.ids,
    endOffsets: end.offsets,
    headIds: head && head.ids,
    headOffsets: head && head.offsets,
    n,
    B,
    T,
    startCount: start.count,
    endCount: end.count,
    headCount: head ? head.count : 0,
    startSize: start.ids.length,
    endSize: end.ids.length,
    headSize: head ? head.ids.length : 0,
    overlapping: needFlag(op, "overlapping", options.overlapping),
    includeEnd: needWord(op, "includeEnd", options.includeEnd ?? "all", INCLUDE_END),
    unterminatedKeep: needWord(op, "unterminated", options.unterminated ?? "drop", UNTERMINATED_RULES),
    startsOpen: needFlag(op, "startsOpen", options.startsOpen),
    count,
  };
  const { ops } = selectBackend(op, options.backend);

  /** Runs with room for `room` spans. The backend counts them all and writes those that have room. */
  function run(room: number): { found: number; spans: Int32Array; which: Int32Array } {
    const spans = new Int32Array(3 * room);
    const which = new Int32Array(2 * room);
    ops.delimSpans({ capacity: room, spans, which, ...args });
    return { found: Number(count[0]), spans, which };
  }

  let result = run(Math.min(capacity, most));
  if (3 * result.found > result.spans.length) result = run(result.found);
  const spans = result.spans.slice(0, 3 * result.found);
  const which = result.which.subarray(0, 2 * result.found);
  return {
    count: result.found,
    spans,
    rows: column(spans, 3, 0),
    begins: column(spans, 3, 1),
    finishes: column(spans, 3, 2),
    startAlternatives: column(which, 2, 0),
    endAlternatives: column(which, 2, 1),
  };
}
