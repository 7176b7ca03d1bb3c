// How often rollouts are drawn again, by their scores.
import { needNumber, needWord } from "../core/option-checks";
import type { FloatArray } from "../core/dtype";
import { floatDType } from "../core/float-arrays";
import { groupWeigh, type WeighForm } from "../ops/group";
import { needScores, type OutcomeBatch, type OutcomeOptions } from "./outcome";
import { roundedTo } from "./token-rewards";

const METHODS = ["pow", "maxMin", "maxRandom"] as const;

export interface ResamplingWeightsOptions extends OutcomeOptions {
  /**
   * - `"pow"`: |score|^power
   * - `"maxMin"`: 1 for the best and the worst scores of the batch, 0 for the rest
   * - `"maxRandom"`: 0.4 for the best scores, 0.1 for the rest
   *
   * Default `"pow"`.
   */
  readonly method?: (typeof METHODS)[number];
  /** Of `"pow"`, >= 0. Default 2. */
  readonly power?: number;
  /** Added to every weight, >= 0, so that a draw is possible. Default 1e-8. */
  readonly floor?: number;
}

function formOf(op: string, options: ResamplingWeightsOptions): WeighForm {
  const method = needWord(op, "method", options.method ?? "pow", METHODS);
  if (METHODS[method] === "pow")
    return { form: "power", power: needNumber(op, "power", options.power ?? 2, { min: 0 }) };
  const best = METHODS[method] === "maxMin";
  return { form: "extremes", atMax: best ? 1 : 0.4, atMin: best ? 1 : 0.1, between: best ? 0 : 0.1 };
}

/**
 * Weights for drawing the rows of a batch again with replacement (PF-PPO), in no particular scale: divide by their sum for
 * probabilities. The best and the worst are those of the whole batch.
 *
 * @param batch scores per row, or rewards per token and where they lie; groups are not looked at
 * @returns one per row, in the type of the rewards
 * @throws SurprisalError as `grpoAdvantage`
 * @see Zhang et al. 2024, Policy Filtration in RLHF to Fine-Tune LLM for Code Generation
 */
export function resamplingWeights(batch: OutcomeBatch, options: ResamplingWeightsOptions = {}): FloatArray {
  const op = "resamplingWeights";
  const form = formOf(op, options);
  const floor = needNumber(op, "floor", options.floor ?? 1e-8, { min: 0 });
  const { batch: checked, scores, backend, together } = needScores(op, batch, options);
  return roundedTo(
    floatDType(checked.rewards),
    groupWeigh(scores, form, { groups: "all", floor, ...backend, ...together }),
  );
}
