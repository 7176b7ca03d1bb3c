// Generalized advantages of a critic, whitened over the batch.
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { gae } from "../ops/scan";
import { type PresetOption, resolvePreset } from "../presets";
import {
  needTokenBatch,
  roundedTo,
  type TokenRewardBatch,
  type WhitenedScanConventions,
  whitenTokens,
} from "./token-rewards";

export type { TokenRewardBatch, WhitenedScanConventions, Whitening } from "./token-rewards";

export interface GaeBatch extends TokenRewardBatch {
  /** The critic's V, per token. */
  readonly values: FloatArray;
  /** One value per row for the state behind its last step. Default: 0. */
  readonly bootstrap?: FloatArray;
}

export interface GaeAdvantageOptions
  extends WhitenedScanConventions, PresetOption<"gaeAdvantage">, BackendOption, CollectiveOption {
  /** Discount of one step, in [0, 1]. */
  readonly gamma: number;
  /** Bias/variance knob, in [0, 1]: 1 is Monte-Carlo, 0 is one-step TD. A number, or one per row. */
  readonly lambda: number | FloatArray;
}

/** Per token. */
export interface GaeAdvantageResult {
  /** Whitened over the kept tokens; 0 under the mask, but for `transformMasked`. */
  readonly advantages: FloatArray;
  /** What the critic learns: raw advantage + value. */
  readonly returns: FloatArray;
  /** Before whitening. */
  readonly rawAdvantages: FloatArray;
}

/**
 * Generalized advantage estimation with whitening, as PPO takes it: `gae`, then (A − mean) / sqrt(var + 1e-8) over the kept
 * tokens of the batch, ddof 1. Returns are those before whitening.
 *
 * @returns in the widest float type of the inputs; computed in float64, rounded once
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman et al. 2016, High-Dimensional Continuous Control Using Generalized Advantage Estimation, equation 16
 */
export function gaeAdvantage(batch: GaeBatch, options: GaeAdvantageOptions): GaeAdvantageResult {
  const op = "gaeAdvantage";
  const { maskMode, whitening, transformMasked = false } = resolvePreset(op, options.preset, options);
  const checked = needTokenBatch(op, batch, [batch.values, batch.bootstrap], options);
  const { bootstrap } = batch;
  const raw = gae(checked.rewards, checked.tokens("values", batch.values), {
    ...checked.where,
    gamma: options.gamma,
    lambda: options.lambda,
    transformMasked,
    maskMode,
    bootstrap,
  });
  return {
    advantages: roundedTo(checked.dtype, whitenTokens(raw.advantages, checked, whitening, transformMasked)),
    returns: roundedTo(checked.dtype, raw.returns),
    rawAdvantages: roundedTo(checked.dtype, raw.advantages),
  };
}
