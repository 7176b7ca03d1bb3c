// The number that a response gives as its answer: behind "####", or the last one there is.
import { needWord } from "../../core/option-checks";

/** Characters at the end of a response in which the answer is looked for. */
const TAIL = 300;
const METHODS = ["strict", "flexible"] as const;

/** `"strict"`: the number behind the last `####`. `"flexible"`: the last number anywhere. */
export type NumberAnswerMethod = (typeof METHODS)[number];

/**
 * The answer of a response in the form of GSM8K, looked for in its last 300 characters. Numbers are runs of digits, points and commas
 * with an optional minus.
 *
 *     strict:    the run behind the last "#### ", without its commas
 *     flexible:  the last run that is not "" or ".", as it stands
 *
 * @returns null where there is none
 * @throws SurprisalError ERR_SURPRISAL_OPTION for another method
 */
export function numberAnswer(text: string, method: NumberAnswerMethod = "strict"): string | null {
  const flexible = needWord("numberAnswer", "method", method, METHODS) === 1;
  const tail = text.slice(-TAIL);
  if (!flexible) {
    const marked = [...tail.matchAll(/#### (-?[0-9.,]+)/g)].at(-1)?.[1];
    return marked === undefined ? null : marked.replaceAll(",", "");
  }
  const runs = Array.from(tail.matchAll(/-?[0-9.,]+/g), ([run]) => run);
  return runs.findLast((run) => run !== ".") ?? runs[0] ?? null;
}
