// Which response tokens are the answer and which the thinking before it, for the functions that need the mask.
import type { BackendOption } from "../backend/select";
import { needIds, optionalMask } from "../core/arrays";
import { argumentError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { needRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../core/row-layout";
import { type Delimiter, findSpans } from "../ops/delim";
import type { TokenIds } from "../core/arrays";

const MODES = ["answer", "thinking", "joint"] as const;
const UNCLOSED = ["empty", "all"] as const;

/** The part of a response that a mask keeps. */
export type AnswerThinkingMode = (typeof MODES)[number];

/**
 * What ends the thinking: one id, an id sequence (vocabularies that split the tag), a list of alternative sequences, or null
 * where the vocabulary has none.
 */
export type ThinkEnd = number | Delimiter | null;

export interface AnswerThinkingConventions {
  /** `"answer"`: behind the tag. `"thinking"`: up to and including it. `"joint"`: all of the response. Default `"answer"`. */
  readonly mode?: AnswerThinkingMode;
  /** The closing tag. Needed unless `mode` is `"joint"`. */
  readonly thinkEnd?: ThinkEnd;
  /**
   * How much of a response without closing tag is thinking: `"empty"` nothing, all of it is answer; `"all"`: a truncated
   * response has no answer. Default `"empty"`.
   */
  readonly unclosedThinking?: (typeof UNCLOSED)[number];
}

export interface AnswerThinkingMaskOptions extends AnswerThinkingConventions, RowLayout, BackendOption {
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

/**
 * For each row, the element behind the closing tag; −1 without a tag. Packing the responses alone makes the tag the end of a
 * span that is open from the start.
 */
function findTags(
  ids: Int32Array,
  responses: readonly Response[],
  promptLength: number,
  thinkEnd: Exclude<ThinkEnd, null>,
  backend: BackendOption,
): Int32Array {
  const B = responses.length;
  const offsets = new Int32Array(B + 1);
  responses.forEach(({ begin, end }, b) => {
    offsets[b + 1] = offsets[b]! + end - begin;
  });
  const tokens = new Int32Array(offsets[B]!);
  responses.forEach(({ begin, end }, b) => {
    const prompts = promptLength * (b + 1); // of this row and those before it
    tokens.set(ids.subarray(prompts + begin, prompts + end), offsets[b]);
  });
  const tag: Delimiter = typeof thinkEnd === "number" ? [thinkEnd] : thinkEnd;
  const found = findSpans(tokens, { offsets, start: tag, end: tag, startsOpen: true, ...backend });
  const splits = new Int32Array(B).fill(-1);
  for (let s = 0; s < found.count; ++s) {
    const opensRow = found.startAlternatives[s] === -1; // later spans run from tag to tag
    const row = found.rows[s]!;
    if (opensRow) splits[row] = responses[row]!.begin + found.finishes[s]!;
  }
  return splits;
}

/** As answerThinkingMask, in the name of the public function `op`. */
export function splitResponse(op: string, tokens: TokenIds, options: AnswerThinkingMaskOptions): Uint8Array {
  const rows = needRows(op, options);
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const mode = MODES[needWord(op, "mode", options.mode ?? "answer", MODES)]!;
  const unclosedAll = needWord(op, "unclosedThinking", options.unclosedThinking ?? "empty", UNCLOSED) === 1;
  const promptLength = needNumber(op, "promptLength", options.promptLength ?? 0, { min: 0, integer: true });
  if (promptLength > 0 && rows.offsets)
    throw argumentError(
      "ERR_SURPRISAL_OPTION",
      op,
      "promptLength",
      promptLength,
      "0 for packed rows, which hold the response only",
    );
  const length = rows.n + rows.B * promptLength;
  const ids = needIds(op, "tokens", tokens, length, promptLength > 0 ? "rows * (promptLength + tokens)" : rows.meaning);
  const { thinkEnd, backend } = options;
  if (thinkEnd === undefined && mode !== "joint")
    throw argumentError(
      "ERR_SURPRISAL_OPTION",
      op,
      "thinkEnd",
      thinkEnd,
      "an id, an id sequence, alternatives, or null for no such tag",
    );

  const responses = Array.from({ length: rows.B }, (_, b) => responseOf(rows, mask, b));
  const search = mode !== "joint" && thinkEnd != null;
  const splits = search ? findTags(ids, responses, promptLength, thinkEnd, { backend }) : null;
  const part = new Uint8Array(rows.n);
  for (let b = 0; b < rows.B; ++b) {
    const { begin, end } = responses[b]!;
    const found = splits ? splits[b]! : -1;
    const split = found >= 0 ? found : unclosedAll ? end : begin;
    const from = mode === "answer" ? split : begin;
    const to = mode === "thinking" ? split : end;
    for (let i = from; i < to; ++i) part[i] = !mask || mask[i] !== 0 ? 1 : 0;
  }
  return part;
}
