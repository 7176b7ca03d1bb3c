// Which response tokens are the answer and which the thinking before it, for the functions that need the mask.
import type { BackendOption } from "../backend/select";
import { needIds, optionalMask } from "../core/arrays";
import { optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { offsetsOf } from "../core/packed-rows";
import { needRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../core/row-layout";
import { type Delimiter, findSpans } from "../ops/delim";
import { needDelimiter } from "../ops/delim/delimiter";
import type { TokenIds } from "../core/arrays";

const MODES = ["answer", "thinking", "joint"] as const;
const UNCLOSED = ["empty", "all"] as const;
const MASKED_TAGS = ["skip", "read"] as const;

/** The part of a response that a mask keeps. */
export type AnswerThinkingMode = (typeof MODES)[number];

/** A tag: one id, an id sequence (vocabularies that split the tag), or a list of alternative sequences. */
export type ThinkTag = number | Delimiter;

export interface AnswerThinkingConventions {
  /** `"answer"`: behind the closing tag. `"thinking"`: up to and including it. `"joint"`: all of the response. Default `"answer"`. */
  readonly mode?: AnswerThinkingMode;
  /**
   * The opening tag: the thinking begins at its first occurrence, where that comes before the closing tag. Default: none, the
   * thinking begins with the response, as it does where the prompt has the opening tag.
   */
  readonly thinkStart?: ThinkTag | null;
  /** The closing tag, null where the vocabulary has none. Needed unless `mode` is `"joint"`. */
  readonly thinkEnd?: ThinkTag | null;
  /**
   * How much of a response without closing tag is thinking: `"empty"` nothing, all of it is answer; `"all"`: a truncated
   * response has no answer. Default `"empty"`.
   */
  readonly unclosedThinking?: (typeof UNCLOSED)[number];
  /** Tags of which a token lies under the mask: not seen, or taken like any other. Default `"skip"`. */
  readonly maskedTags?: (typeof MASKED_TAGS)[number];
}

export interface SplitOptions extends AnswerThinkingConventions, RowLayout, BackendOption {
  /** 1 = a token of the response. `shape` and `offsets` are those of the response. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Tokens before the response in every padded row of `tokens`; they are never searched. Default 0. */
  readonly promptLength?: number;
}

/** From the first element of a row that the mask keeps to the row's end; empty without any. */
interface Response {
  readonly begin: number;
  readonly end: number;
}

function responseOf(rows: Rows, mask: Uint8Array | null, b: number): Response {
  const end = rowEnd(rows, b);
  let begin = rowBegin(rows, b);
  while (mask && begin < end && mask[begin] === 0) ++begin;
  return { begin, end };
}

/** No tag has this id. */
const HIDDEN = -(2 ** 31);

/** The responses alone, packed, so that nothing before them is searched. Tokens that `mask` leaves out match no tag. */
function packResponses(
  ids: Int32Array,
  responses: readonly Response[],
  promptLength: number,
  mask: Uint8Array | null,
): { readonly tokens: Int32Array; readonly offsets: Int32Array } {
  const offsets = offsetsOf(responses.map(({ begin, end }) => end - begin));
  const tokens = new Int32Array(offsets[responses.length]!);
  responses.forEach(({ begin, end }, b) => {
    const prompts = promptLength * (b + 1); // of this row and those before it
    for (let i = begin; i < end; ++i) tokens[offsets[b]! + i - begin] = mask?.[i] === 0 ? HIDDEN : ids[prompts + i]!;
  });
  return { tokens, offsets };
}

/** The first tag of a row: from `begin` to `finish`, in elements of the row's response. */
interface Tag {
  readonly begin: number;
  readonly finish: number;
}

/** The first tag of each row that has one. It is the end of a span that is open from the start. */
function firstTags(
  { tokens, offsets }: ReturnType<typeof packResponses>,
  tag: ThinkTag,
  backend: BackendOption,
): ReadonlyMap<number, Tag> {
  const end: Delimiter = typeof tag === "number" ? [tag] : tag;
  const { rows, finishes, startAlternatives, endAlternatives } = findSpans(tokens, {
    offsets,
    start: end,
    end,
    startsOpen: true,
    ...backend,
  });
  const { offsets: places } = needDelimiter("findSpans", "end", end);
  const tags = new Map<number, Tag>();
  rows.forEach((row, s) => {
    if (startAlternatives[s] !== -1) return; // later spans run from tag to tag
    const which = endAlternatives[s]!;
    tags.set(row, { begin: finishes[s]! - (places[which + 1]! - places[which]!), finish: finishes[s]! });
  });
  return tags;
}

function needTag(op: string, { mode, thinkEnd }: SplitOptions): void {
  if (thinkEnd === undefined && mode !== "joint")
    throw optionError(op, "thinkEnd", thinkEnd, "an id, an id sequence, alternatives, or null for no such tag");
}

/** As answerThinkingMask, in the name of the public function `op`. */
export function splitResponse(op: string, given: TokenIds, options: SplitOptions): Uint8Array {
  const rows = needRows(op, options);
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const mode = MODES[needWord(op, "mode", options.mode ?? "answer", MODES)]!;
  const unclosedAll = needWord(op, "unclosedThinking", options.unclosedThinking ?? "empty", UNCLOSED) === 1;
  const readMasked = needWord(op, "maskedTags", options.maskedTags ?? "skip", MASKED_TAGS) === 1;
  const promptLength = needNumber(op, "promptLength", options.promptLength ?? 0, { min: 0, integer: true });
  if (promptLength > 0 && rows.offsets)
    throw optionError(op, "promptLength", promptLength, "0 for packed rows, which hold the response only");
  const length = rows.n + rows.B * promptLength;
  const ids = needIds(op, "tokens", given, length, promptLength > 0 ? "rows * (promptLength + tokens)" : rows.meaning);
  needTag(op, options);
  const { thinkStart = null, thinkEnd = null, backend } = options;

  const responses = Array.from({ length: rows.B }, (_, b) => responseOf(rows, mask, b));
  const packed = packResponses(ids, responses, promptLength, readMasked ? null : mask);
  const find = (tag: ThinkTag | null) =>
    mode === "joint" || tag === null ? new Map<number, Tag>() : firstTags(packed, tag, { backend });
  const opening = find(thinkStart);
  const closing = find(thinkEnd);
  const part = new Uint8Array(rows.n);
  responses.forEach(({ begin, end }, b) => {
    const closed = closing.get(b);
    const opened = opening.get(b);
    const split = closed ? begin + closed.finish : unclosedAll ? end : begin;
    const first = opened && opened.finish <= (closed?.begin ?? end) ? begin + opened.begin : begin;
    const from = mode === "answer" ? split : mode === "thinking" ? first : begin;
    const to = mode === "thinking" ? split : end;
    for (let i = from; i < to; ++i) part[i] = !mask || mask[i] !== 0 ? 1 : 0;
  });
  return part;
}
