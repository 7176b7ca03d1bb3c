// Completions of a prompt that give the same answer.
import { shapeError } from "../core/errors";
import { boxedAnswer } from "./extraction/boxed";
import { mathEqual, type MathEqualOptions } from "./math/math-equal";

export interface AnswerClusterOptions extends MathEqualOptions {
  /** `"text"`: answers of the same characters, as SEED-GRPO has it. `"value"`: by mathEqual, each with the first of a cluster. Default `"text"`. */
  readonly by?: "text" | "value";
  /** The prompt of each completion. Default: all of one. */
  readonly groups?: ArrayLike<number>;
  /** The answer of a text. Default boxedAnswer. */
  readonly extract?: (text: string) => string | null;
}

/**
 * A cluster for each completion: those of a prompt with the same answer have the same id, counted from 0 over the batch. null where
 * there is no answer: a cluster of its own. `semanticEntropyScales` takes it as `clusters`.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE or _OPTION, naming the argument; with `by: "value"` what mathEqual throws
 * @see Chen et al. 2025, SEED-GRPO: Semantic Entropy Enhanced GRPO for Uncertainty-Aware Policy Optimization
 */
export async function answerClusters(
  completions: readonly string[],
  options: AnswerClusterOptions = {},
): Promise<(number | null)[]> {
  const op = "answerClusters";
  const { by = "text", groups, extract = boxedAnswer } = options;
  if (groups && groups.length !== completions.length)
    throw shapeError(op, "groups.length", groups.length, `${completions.length}, one per completion`);
  const known: { readonly group: number; readonly answer: string }[] = [];
  const ids: (number | null)[] = [];
  for (const [i, completion] of completions.entries()) {
    const answer = extract(completion);
    const group = groups?.[i] ?? 0;
    let id: number | null = null;
    for (const [k, one] of known.entries())
      if (
        answer !== null &&
        id === null &&
        one.group === group &&
        (one.answer === answer || (by === "value" && (await mathEqual(answer, one.answer, options))))
      )
        id = k;
    if (answer !== null && id === null) id = known.push({ group, answer }) - 1;
    ids.push(id);
  }
  return ids;
}
