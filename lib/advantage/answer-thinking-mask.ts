// Which response tokens are the answer and which the thinking before it.
import type { TokenIds } from "../core/arrays";
import { type AnswerThinkingMaskOptions, splitResponse } from "./split-response";

export type {
  AnswerThinkingConventions,
  AnswerThinkingMaskOptions,
  AnswerThinkingMode,
  ThinkEnd,
} from "./split-response";

/**
 * Marks the answer or the thinking of each response. Per row, with s the first token that `mask` keeps, end the row's end,
 * and the first closing tag at or behind s:
 *
 *     split = behind the tag, or s without one (`unclosedThinking: "all"`: end)
 *     "answer": [split, end)    "thinking": [s, split)    "joint": [s, end)      each under the mask
 *
 * Only the first tag counts, in a hole of the mask or behind its last kept token too, so padding must not be made of tags.
 * A tag at the end leaves an empty answer. Rows without a kept token stay empty.
 *
 * @param tokens ids of the responses, [n] as `shape` or `offsets` say; with `promptLength` P padded rows of P + T ids
 * @returns 0 and 1, [n]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE (an empty tag, a wrong length), _DTYPE, _OPTION, _RANGE or _BUFFER
 */
export function answerThinkingMask(tokens: TokenIds, options: AnswerThinkingMaskOptions): Uint8Array {
  return splitResponse("answerThinkingMask", tokens, options);
}
