// KL-Cov: the plain surrogate with a penalty on the few tokens of highest covariance.
import { needNumber } from "../../core/option-checks";
import { layoutOfRows } from "../../core/row-layout";
import { evaluateCovarianceMask } from "../../ops/select/covariance-mask";
import { type PresetOption, resolvePreset } from "../../presets";
import { needPolicyBatch, type PolicyBatch } from "./policy-batch";
import { evaluatePolicy, policyResult } from "./evaluate-policy";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossOptions } from "./policy-loss-options";

export interface KlCovLossOptions extends PolicyLossOptions, PresetOption<"klCovLoss"> {
  /** Share of the kept tokens that is penalised, at least one token; in [0, 1]. Default 2e-4. */
  readonly share?: number;
  /** Penalty per nat of |ℓ − o|. >= 0. Default 1. */
  readonly coefficient?: number;
}

export interface KlCovLossResult extends PolicyLossResult {
  /** 1 = a penalised token, [n]. */
  readonly selected: Uint8Array;
}

const METRICS = { verl: { "actor/ppo_kl": "absoluteLogRatio" }, trl: "none" } as const;

/**
 * KL-Cov's policy loss and its gradient, per token:
 *
 *     l = −A·exp(ℓ − o),   and on the max(1, ⌊share·N⌋) kept tokens with the largest (A − mean A)·(ℓ − mean ℓ):
 *     l += coefficient·|ℓ − o|,   d l / d ℓ += coefficient·sign(ℓ − o)
 *
 * The smaller index wins a tie. Nothing is clipped.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument; _VALUE
 *   for a kept log-prob or advantage that is not finite
 * @see Cui et al. 2025, The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models (KL-Cov)
 */
export function klCovLoss(batch: PolicyBatch, options: KlCovLossOptions = {}): KlCovLossResult {
  const op = "klCovLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const checked = needPolicyBatch(op, batch);
  const { selected } = evaluateCovarianceMask(op, checked.logProbs, checked.advantages.array, {
    ...layoutOfRows(checked.rows),
    mask: checked.mask ?? undefined,
    advantagesPer: checked.advantages.perToken ? "token" : "row",
    share: needNumber(op, "share", resolved.share ?? 2e-4, { min: 0, max: 1 }),
    least: 1,
    backend: resolved.backend,
  });
  const coefficient = needNumber(op, "coefficient", resolved.coefficient ?? 1, { min: 0 });
  const evaluation = evaluatePolicy(op, checked, resolved, {
    skeleton: "token",
    form: { form: "marked", coefficient, marks: selected },
  });
  return { ...policyResult(evaluation, resolved, METRICS), selected };
}
