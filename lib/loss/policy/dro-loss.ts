// DRO, and the policy mirror descent of Kimi k1.5: the policy gradient with a quadratic pull back to the old policy.
import { needNumber } from "../../core/option-checks";
import { type PresetOption, resolvePreset } from "../../presets";
import { evaluatePolicy, policyResult } from "./evaluate-policy";
import { needPolicyBatch, type PolicyBatch } from "./policy-batch";
import { withProximity } from "./proximity";
import type { PolicyLossOptions } from "./policy-loss-options";
import type { PolicyLossResult } from "./policy-loss-result";

export interface DroLossOptions extends PolicyLossOptions, PresetOption<"droLoss"> {
  /** β > 0: how strong the pull is. No default. */
  readonly beta: number;
}

const METRICS = { verl: { "actor/ppo_kl": "-logRatio" }, trl: "none" } as const;

/**
 * DRO's policy loss and its gradient, per token: l = −A·ℓ + β/2·(ℓ − o)², d l / d ℓ = −A + β·(ℓ − o). `rolloutWeights` multiply both
 * terms. Kimi k1.5's loss is this one with β = τ.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Richemond et al. 2024, Offline Regularised Reinforcement Learning for Large Language Models Alignment; Kimi Team 2025, Kimi
 * k1.5, equation 3
 */
export function droLoss(batch: PolicyBatch, options: DroLossOptions): PolicyLossResult {
  const op = "droLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const beta = needNumber(op, "beta", resolved.beta, { min: 0, above: true });
  const checked = needPolicyBatch(op, batch);
  const plain = evaluatePolicy(op, checked, resolved, { skeleton: "token", form: { form: "linear" } });
  return policyResult(withProximity(op, plain, checked, beta, resolved), resolved, METRICS);
}
