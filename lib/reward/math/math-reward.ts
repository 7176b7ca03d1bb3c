// Rewards of mathematical responses, by the value of their final answer.
import { setImmediate } from "node:timers/promises";

import { shapeError } from "../../core/errors";
import type { RewardCallOptions, RewardResult } from "../reward-function";
import { type AnswerSource, finalAnswer } from "./final-answer";
import { compareMath, type MathEqualOptions } from "./math-equal";
import { symbolicPool } from "./symbolic";

/** Completions that are judged before the event loop goes on. */
const TOGETHER = 8;

/** What is right: a text or number, or several that count alike. */
export type MathAnswer = string | number | bigint | readonly (string | number | bigint)[];

export interface MathRewardOptions extends MathEqualOptions, RewardCallOptions {
  /** Where the final answer is looked for, as `finalAnswer` does. */
  readonly sources?: readonly AnswerSource[];
}

/**
 * 1 for each completion whose final answer has the value of the right one, else 0:
 *
 *     "equal"   "different"   "no answer"   "time limit"
 *
 * @param completions texts; the answer is what `finalAnswer` finds, and only that counts
 * @param answers one for each completion; each may hold several right ones
 * @returns `details.answer` is what was found
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _OPTION, or _PEER_MISSING where numbers and texts do not decide and @cortex-js/compute-engine
 *   is not installed; the reason of `signal`
 */
export async function mathReward(
  completions: readonly string[],
  answers: readonly MathAnswer[],
  options: MathRewardOptions = {},
): Promise<RewardResult[]> {
  const op = "mathReward";
  if (answers.length !== completions.length)
    throw shapeError(op, "answers.length", answers.length, `${completions.length}, one per completion`);
  const results: RewardResult[] = [];
  let [next, done] = [0, 0];
  const work = async (): Promise<void> => {
    while (next < completions.length) {
      const i = next++;
      // Answers that need no library are judged here: others of this thread have their turn between them.
      if (i % TOGETHER === 0) await setImmediate();
      options.signal?.throwIfAborted();
      const answer = finalAnswer(completions[i]!, options.sources ? { sources: options.sources } : {});
      results[i] = answer === null ? { reward: 0, reason: "no answer" } : await judge(op, answer, answers[i]!, options);
      options.onProgress?.(++done, completions.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: symbolicPool.size }, work));
  } finally {
    next = completions.length; // where one failed, the others begin nothing more
  }
  return results;
}

async function judge(op: string, answer: string, right: MathAnswer, options: MathRewardOptions): Promise<RewardResult> {
  let reason = "different";
  for (const wanted of typeof right === "object" ? right : [right]) {
    const comparison = await compareMath(op, answer, String(wanted), options);
    if (comparison === "equal") return { reward: 1, reason: comparison, details: { answer } };
    if (comparison === "time limit") reason = comparison;
  }
  return { reward: 0, reason, details: { answer } };
}
