// SAPO: a sigmoid gate around ratio 1 in place of clipping.
import { type PresetOption, resolvePreset } from "../../presets";
import type { PolicyBatch } from "./batch";
import { evaluatePolicy, type PolicyLossResult, policyResult } from "./evaluate";
import type { PolicyLossConventions, PolicyLossOptions } from "./options";

/** The choices in which frameworks differ. */
export interface SapoLossConventions extends PolicyLossConventions {
  /** The log ratio is clamped to ±logClamp, without gradient outside. Default: Infinity, off. */
  readonly logClamp?: number;
}

export interface SapoLossOptions extends SapoLossConventions, PolicyLossOptions, PresetOption<"sapoLoss"> {
  /** τ of tokens with A > 0: the larger, the narrower the gate. > 0. Default 1. */
  readonly temperaturePositive?: number;
  /** τ of tokens with A <= 0. > 0. Default 1.05. */
  readonly temperatureNegative?: number;
}

const METRICS = {
  verl: { "actor/pg_clipfrac": "none", "actor/ppo_kl": "-clampedLogRatio", "actor/pg_clipfrac_lower": "none" },
  trl: "none",
} as const;

/**
 * SAPO's policy loss and its gradient, per token, with r = exp(ℓ − o) and σ the logistic function:
 *
 *     f = (4/τ)·σ(τ(r − 1)),   l = −A·f,   d l / d ℓ = −4·A·σ(1 − σ)·r
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Gao et al. 2025, Soft Adaptive Policy Optimization
 */
export function sapoLoss(batch: PolicyBatch, options: SapoLossOptions = {}): PolicyLossResult {
  const op = "sapoLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const evaluation = evaluatePolicy(op, batch, resolved, {
    skeleton: "token",
    form: {
      form: "sigmoid",
      temperaturePositive: resolved.temperaturePositive ?? 1,
      temperatureNegative: resolved.temperatureNegative ?? 1.05,
      logClamp: resolved.logClamp ?? Infinity,
    },
  });
  return policyResult(evaluation, resolved, METRICS);
}
