// findSpans: ranges of tokens between delimiters. docs/ops/delim.md has the rules with examples.
import { type DelimOps, type DelimSpansArgs, INCLUDE_ENDS, type IncludeEnd } from "../../backend/contract/delim";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { isWide, needIds, needInt32, needLength, needWideIds, type TokenIds } from "../../core/arrays";
import { allocateOn, DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE } from "../../core/dtype";
import { optionError, rangeError } from "../../core/errors";
import { keepingLast } from "../../core/kept-memory";
import type { StreamOption } from "../../core/on-device";
import { needFlag, needNumber, needWord } from "../../core/option-checks";
import type { RowLayout, Rows } from "../../core/row-layout";
import type { Stream } from "../../core/stream";
import type { Writable } from "../../core/writable";
import { type Delimiter, needDelimiter } from "./delimiter";
import { DeviceSpans } from "./device-spans";
import { needSpanRows } from "./span-rows";
import { listSpans, type Spans } from "./spans";

takesDeviceArrays("findSpans");

export type { IncludeEnd } from "../../backend/contract/delim";
export type { Spans } from "./spans";

const UNTERMINATED_RULES = ["drop", "keep"] as const;
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

function needLengths(op: string, value: unknown, rows: Rows): Int32Array | null {
  if (value == null) return null;
  if (rows.offsets)
    throw optionError(op, "lengths", value, "nothing where offsets are given: they are for padded rows");
  const ids = needIds(op, "lengths", value);
  const lengths = needInt32(op, "lengths", ids, rows.B, "one per row");
  if (DeviceArray.is(lengths)) return lengths; // the kernel looks at them
  const wrong = lengths.findIndex((length) => length < 0 || length > rows.T);
  if (wrong >= 0) throw rangeError(op, `lengths[${wrong}]`, lengths[wrong], `an integer in [0, ${rows.T}]`);
  return lengths;
}

/** Options where the tokens lie on a device. */
export type DeviceFindSpansOptions = Omit<FindSpansOptions, "lengths"> &
  StreamOption & { readonly lengths?: TokenIds | DeviceArray<"int32"> };

type SearchArgs = Omit<DelimSpansArgs, "capacity" | "spans" | "alternatives" | "count">;

/** A checked search: where it runs, what a backend needs, and the room to begin with. */
function prepareSearch(op: string, tokens: TokenIds | DeviceArray<"int32">, options: FindSpansOptions) {
  const stream = streamOf(op, options, tokens, options.lengths);
  const ids = needWideIds(op, "tokens", tokens);
  const rows = needSpanRows(op, options, ids.length);
  const { n, B, T, offsets } = rows;
  needLength(op, "tokens", ids, n, rows.meaning);
  const start = needDelimiter(op, "start", options.start);
  const end = needDelimiter(op, "end", options.end);
  const head = options.head == null ? null : needDelimiter(op, "head", options.head);
  // No row has more than a span a token and the two at its begin.
  const most = n + 2 * B;
  const capacity = needNumber(op, "capacity", options.capacity ?? Math.floor(n / 16) + 64, { min: 0, integer: true });
  const args: SearchArgs = {
    dtype: DTYPE_CODE[isWide(ids) ? "int64" : "int32"],
    tokens: ids,
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
    includeEnd: needWord(op, "includeEnd", options.includeEnd ?? "all", INCLUDE_ENDS),
    unterminatedKeep: needWord(op, "unterminated", options.unterminated ?? "drop", UNTERMINATED_RULES),
    startsOpen: needFlag(op, "startsOpen", options.startsOpen),
  };
  return { args, room: Math.min(capacity, most), stream };
}

/** Room for so many spans. */
interface Room {
  readonly spans: Int32Array;
  readonly alternatives: Int32Array;
  readonly count: BigInt64Array;
}

type Search = SearchArgs & Room & { readonly capacity: number };

const newRoom = (capacity: number): Room => ({
  spans: new Int32Array(3 * capacity),
  alternatives: new Int32Array(2 * capacity),
  count: new BigInt64Array(1),
});

/** Spans for which room is kept from call to call. */
const MOST_KEPT = 512;
const keptRoom = keepingLast(newRoom);

/** The arguments, now with room for so many spans: the backend counts them all and writes those that have room. */
function withRoom(args: SearchArgs, capacity: number, { spans, alternatives, count }: Room): Search {
  const search = args as Writable<Search>;
  search.capacity = capacity;
  search.spans = spans;
  search.alternatives = alternatives;
  search.count = count;
  return search;
}

const foundBy = ({ count }: Room): number => Number(count[0]);

/** With the room that there is: the device alone learns how many spans there are. */
function findOnDevice(stream: Stream, ops: DelimOps, room: number, args: SearchArgs): DeviceSpans {
  const spans = allocateOn(stream, "int32", [room, 3]);
  const alternatives = allocateOn(stream, "int32", [room, 2]);
  const count = allocateOn(stream, "int64", [1]);
  const outputs = { spans, alternatives, count } as unknown as Pick<DelimSpansArgs, "spans" | "alternatives" | "count">;
  ops.delimSpans({ ...args, capacity: room, ...outputs });
  return new DeviceSpans(spans, alternatives, count);
}

/** The same on a device, where the tokens lie. Delimiters are packed on the host, and copied. */
export function findSpans(tokens: DeviceArray<"int32">, options: DeviceFindSpansOptions): DeviceSpans;
/**
 * Finds the spans of tokens between a start and an end delimiter: the steps of a rollout, answers, turns, tool calls.
 *
 * Exact, on ids: the same on every backend. The time grows with the number of tokens, overlapping or not.
 *
 * @param tokens ids, [n] as `shape` or `offsets` say; without both, one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE (an empty delimiter or list of alternatives, a wrong number of tokens), _RANGE (an
 * id that is no int32, a length outside its row, offsets), _DTYPE, _OPTION or _BUFFER, naming the argument
 */
export function findSpans(tokens: TokenIds, options: FindSpansOptions): Spans;
export function findSpans(
  tokens: TokenIds | DeviceArray<"int32">,
  anywhere: FindSpansOptions | DeviceFindSpansOptions,
): Spans | DeviceSpans {
  const op = "findSpans";
  const options = anywhere as FindSpansOptions;
  const { args, room, stream } = prepareSearch(op, tokens, options);
  const { ops } = selectBackend(op, options.backend, stream);
  if (stream) return findOnDevice(stream, ops, room, args);
  const run = (wanted: Search): Search => (ops.delimSpans(wanted), wanted);
  const kept = room <= MOST_KEPT;
  const first = run(withRoom(args, room, kept ? keptRoom(room) : newRoom(room)));
  const count = foundBy(first);
  if (count <= room) return listSpans(count, first.spans, first.alternatives, kept);
  const { spans, alternatives } = run(withRoom(args, count, newRoom(count)));
  return listSpans(count, spans, alternatives);
}

/** `findSpans` off the event loop. The arrays must not be touched until it resolves. */
export async function findSpansAsync(tokens: TokenIds, options: FindSpansOptions & AsyncOption): Promise<Spans> {
  const op = "findSpansAsync";
  const { args, room } = prepareSearch(op, tokens, options);
  const run = async (wanted: Search): Promise<Search> => {
    const { tokens: ids, lengths, offsets } = wanted;
    await runWhole(op, "delimSpans", wanted, { tokens: ids, lengths, offsets }, options);
    return wanted;
  };
  let done = await run(withRoom(args, room, newRoom(room)));
  if (foundBy(done) > room) done = await run(withRoom(args, foundBy(done), newRoom(foundBy(done))));
  return listSpans(foundBy(done), done.spans, done.alternatives);
}
