// A*-PO: regression of the whole-sequence log ratio on the advantage over the optimal value.
import { needNumber } from "../../core/option-checks";
import { needWholeRows, optionalSums, type WholeRowsBatch } from "./policy-batch";
import { evaluatePolicy, policyResult } from "./evaluate-policy";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossOptions } from "./policy-loss-options";
import { rowMeanWeights } from "./row-weights";

export interface OptimalValueLossOptions extends PolicyLossOptions {
  /** β₂ > 0: reward per nat of log ratio. */
  readonly beta: number;
}

const METRICS = { verl: { "actor/ppo_kl": "-logRatio" }, trl: "none" } as const;

/**
 * A*-PO's loss and its gradient, with the reference policy's log-probs as `oldLogProbs`, or their sums o_b as `oldSequenceLogProbs`, and
 * A_b = r_b − V*_b of `optimalValueAdvantage`, R rows:
 *
 *     d_b = β₂ Σ_t (ℓ_bt − o_bt) − A_b,   loss = (1/R) Σ_b d_b²,   d loss / d ℓ_bt = 2·β₂·d_b / R
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Brantley et al. 2025, Accelerating RL for LLM Reasoning with Optimal Advantage Regression
 */
export function optimalValueLoss(batch: WholeRowsBatch, options: OptimalValueLossOptions): PolicyLossResult {
  const op = "optimalValueLoss";
  const coefficient = needNumber(op, "beta", options.beta, { min: 0, above: true });
  const checked = needWholeRows(op, batch);
  const old = optionalSums(op, batch, checked);
  const form = { form: "squared", reduce: "sum", coefficient, oldLogProbsPer: old ? "row" : "token" } as const;
  const evaluation = evaluatePolicy(
    op,
    checked,
    options,
    { skeleton: "row", form, oldLogProbs: old ?? undefined },
    () => rowMeanWeights(op, checked, options),
  );
  return policyResult(evaluation, options, METRICS);
}
