// VESPO: REINFORCE with a gamma-shaped weight of the whole sequence's ratio.
import { needNumber } from "../../core/options";
import { type PresetOption, resolvePreset } from "../../presets";
import type { PolicyBatch } from "./batch";
import { evaluatePolicy, type PolicyLossResult, policyResult } from "./evaluate";
import type { PolicyLossOptions } from "./options";

export interface VespoLossOptions extends PolicyLossOptions, PresetOption<"vespoLoss"> {
  /** k of rows with A >= 0: how fast the weight rises below ratio 1. >= 0. Default 2. */
  readonly shapePositive?: number;
  /** λ of rows with A >= 0: how fast it falls above. > 0, at least 1e-4 is used. Default 3. */
  readonly ratePositive?: number;
  /** k of rows with A < 0. Default 3. */
  readonly shapeNegative?: number;
  /** λ of rows with A < 0. Default 2. */
  readonly rateNegative?: number;
}

const METRICS = { verl: { "actor/ppo_kl": "-logRatio" }, trl: "weight" } as const;

/**
 * VESPO's policy loss and its gradient, per token, with a constant weight φ a row:
 *
 *     ln w = Σ over the row of ℓ − o (each within ±20) + ln of the rollout weights, within [ln 1e-8, 20]
 *     φ = exp(λ + k·ln w − λ·w),  0 where not finite;   l = −φ·A·ℓ;   d l / d ℓ = −φ·A
 *
 * Rollout weights enter w and nothing else.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Shen et al. 2026, VESPO: Variational Sequence-Level Soft Policy Optimization
 */
export function vespoLoss(batch: PolicyBatch, options: VespoLossOptions = {}): PolicyLossResult {
  const op = "vespoLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const shape = { min: 0 } as const;
  const rate = { min: 0, above: true } as const;
  const evaluation = evaluatePolicy(op, batch, resolved, {
    skeleton: "row",
    form: {
      form: "gamma",
      logClamp: 20,
      shapePositive: needNumber(op, "shapePositive", resolved.shapePositive ?? 2, shape),
      ratePositive: needNumber(op, "ratePositive", resolved.ratePositive ?? 3, rate),
      shapeNegative: needNumber(op, "shapeNegative", resolved.shapeNegative ?? 3, shape),
      rateNegative: needNumber(op, "rateNegative", resolved.rateNegative ?? 2, rate),
    },
  });
  return policyResult(evaluation, resolved, METRICS);
}
