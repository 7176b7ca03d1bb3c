// The clipped surrogate of PPO with its variants: clip-higher, dual clip, two-sided clipping.
import type { FloatArray } from "../../core/dtype";
import { type PresetOption, resolvePreset } from "../../presets";
import { needPolicyBatch, type PolicyBatch } from "./policy-batch";
import { type ClipRange, needClipRange } from "./clip-range";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossConventions, PolicyLossOptions } from "./policy-loss-options";
import { evaluateTokenMap, type TokenMap } from "./token-map";

/** The choices in which frameworks differ. */
export interface PpoLossConventions extends PolicyLossConventions {
  /** Dual clip c > 1: for A < 0 a token's loss is at most −A·c. Default: Infinity, off. */
  readonly dualClip?: number;
  /** The log ratio is clamped to ±logClamp, without gradient outside. Default: Infinity, off. */
  readonly logClamp?: number;
}

/** What is clipped, and how. */
export type PpoClipping = PpoLossConventions &
  ClipRange & {
    /** Two-sided clipping: the unclipped term sees min(ratio, ratioCap), without gradient above it; an array as the widths. Default: Infinity, off. */
    readonly ratioCap?: number | FloatArray;
  };

export type PpoLossOptions = PpoClipping & PolicyLossOptions & PresetOption<"ppoLoss">;

const PPO: TokenMap<PpoLossOptions> = {
  resolve: (options) => resolvePreset("ppoLoss", options.preset, options),
  form: (op, options) => ({
    form: "clip",
    ...needClipRange(op, options),
    dualClip: options.dualClip ?? Infinity,
    ratioCap: options.ratioCap ?? Infinity,
    logClamp: options.logClamp ?? Infinity,
  }),
  metrics: {
    verl: { "actor/pg_clipfrac": "clipped", "actor/ppo_kl": "-clampedLogRatio", "actor/pg_clipfrac_lower": "limited" },
    trl: "tokens",
  },
};

/**
 * PPO's policy loss and its gradient, per token:
 *
 *     r = exp(ℓ − o),   l = max(−A·r, −A·clip(r, 1 − clipLow, 1 + clipHigh)),   loss = Σ W·l
 *     d l / d ℓ = −A·r where the unclipped term is the larger or equal one, else 0
 *
 * Unequal widths are DAPO's clip-higher. With the dual clip l is at most −A·dualClip for A < 0, without gradient there.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman et al. 2017, Proximal Policy Optimization Algorithms, equation 7; Yu et al. 2025, DAPO, equation 8
 * (clip-higher); Ye et al. 2020, Mastering Complex Control in MOBA Games with Deep Reinforcement Learning (dual clip)
 */
export function ppoLoss(batch: PolicyBatch, options: PpoLossOptions): PolicyLossResult {
  const op = "ppoLoss";
  return evaluateTokenMap(op, PPO, needPolicyBatch(op, batch), PPO.resolve(options));
}

export default PPO;
