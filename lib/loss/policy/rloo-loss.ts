// The clipped loss of RLOO: one ratio and one term a row, from whole-sequence log-probs.
import { type PresetOption, resolvePreset } from "../../presets";
import { needWholeRows, optionalSums, type WholeRowsBatch } from "./policy-batch";
import { type ClipRange, needClipRange } from "./clip-range";
import { evaluatePolicy, policyResult } from "./evaluate-policy";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossOptions } from "./policy-loss-options";
import { rowMeanWeights } from "./row-weights";

export type RlooLossOptions = PolicyLossOptions & ClipRange & PresetOption<"rlooLoss">;

const METRICS = { verl: { "actor/pg_clipfrac": "clipped", "actor/ppo_kl": "-logRatio" }, trl: "rows" } as const;

/**
 * RLOO's policy loss and its gradient, with R rows:
 *
 *     r_b = exp(Σ_t ℓ_bt − o_b),   loss = (1/R) Σ_b max(−A_b·r_b, −A_b·clip(r_b, 1 − clipLow, 1 + clipHigh))
 *     d loss / d ℓ_bt = −A_b·r_b / R where not clipped, else 0
 *
 * `aggregation` weighs the KL term and the entropy bonus alone.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Ahmadian et al. 2024, Back to Basics: Revisiting REINFORCE-Style Optimization for Learning from Human Feedback in LLMs
 */
export function rlooLoss(batch: WholeRowsBatch, options: RlooLossOptions): PolicyLossResult {
  const op = "rlooLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const checked = needWholeRows(op, batch);
  const old = optionalSums(op, batch, checked);
  const evaluation = evaluatePolicy(
    op,
    checked,
    resolved,
    {
      skeleton: "row",
      form: { form: "clipOnce", reduce: "sum", ...needClipRange(op, resolved), oldLogProbsPer: old ? "row" : "token" },
      oldLogProbs: old ?? undefined,
    },
    () => rowMeanWeights(op, checked, resolved),
  );
  return policyResult(evaluation, resolved, METRICS);
}
