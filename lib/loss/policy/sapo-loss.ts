// SAPO: a sigmoid gate around ratio 1 in place of clipping.
import { type PresetOption, resolvePreset } from "../../presets";
import { needPolicyBatch, type PolicyBatch } from "./policy-batch";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossConventions, PolicyLossOptions } from "./policy-loss-options";
import type { RatioLevelOption } from "./row-ratio";
import { evaluateTokenMap, type TokenMap } from "./token-map";

/** The choices in which frameworks differ. */
export interface SapoLossConventions extends PolicyLossConventions {
  /** The log ratio is clamped to ±logClamp, without gradient outside. Default: Infinity, off. */
  readonly logClamp?: number;
}

export interface SapoLossOptions
  extends SapoLossConventions, PolicyLossOptions, RatioLevelOption, PresetOption<"sapoLoss"> {
  /** τ of tokens with A > 0: the larger, the narrower the gate. > 0. Default 1. */
  readonly temperaturePositive?: number;
  /** τ of tokens with A <= 0. > 0. Default 1.05. */
  readonly temperatureNegative?: number;
}

const SAPO: TokenMap<SapoLossOptions> = {
  resolve: (options) => resolvePreset("sapoLoss", options.preset, options),
  form: (_, options) => ({
    form: "sigmoid",
    temperaturePositive: options.temperaturePositive ?? 1,
    temperatureNegative: options.temperatureNegative ?? 1.05,
    logClamp: options.logClamp ?? Infinity,
  }),
  throughRatio: true,
  metrics: {
    verl: { "actor/pg_clipfrac": "none", "actor/ppo_kl": "-clampedLogRatio", "actor/pg_clipfrac_lower": "none" },
    trl: "none",
  },
};

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
  return evaluateTokenMap(op, SAPO, needPolicyBatch(op, batch), SAPO.resolve(options));
}

export default SAPO;
