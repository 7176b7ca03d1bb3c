// Advantages and returns of one batch of tokens from rewards per token, by the name of an estimator.
import type { BackendOption } from "../backend/select";
import { optionalMask } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { widestFloat } from "../core/float-arrays";
import { needNumber, needWord } from "../core/option-checks";
import { layoutOfRows, needRows, type RowLayout, type Rows } from "../core/row-layout";
import { whiten } from "../ops/reduce";
import type { MaskMode } from "../ops/scan";
import { type PresetOption, resolvePreset } from "../presets";
import { clipped } from "./clip-fraction";
import type { CpgdAdvantageOptions } from "./cpgd-advantage";
import { needStage, type PipelineEstimator } from "./pipeline-estimators";
import type { PipelineStage, StageResult } from "./pipeline-stages";

export interface EstimateConventions {
  /** What a masked token is to the scan, see `gae`. Default `"skip"`. */
  readonly maskMode?: MaskMode;
  /**
   * Masked tokens get what the scan (with `maskMode: "steps"` without reading them), the whitening, the clip and the
   * normalisation have there, instead of 0. Default false.
   */
  readonly transformMasked?: boolean;
  /** Estimators for which γ counts as 1, whatever is given. Default: none. */
  readonly undiscounted?: readonly PipelineEstimator[];
  /** Estimators that `whiten` leaves alone. Default: none. */
  readonly neverWhitened?: readonly PipelineEstimator[];
  /** Added to the std by `whiten`, >= 0. Default 1e-8. */
  readonly whitenEpsilon?: number;
  /** The clip fraction is the share of the `"kept"` tokens, or of `"all"` positions. Default `"kept"`. */
  readonly clipFractionOver?: "kept" | "all";
}

/** Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface EstimateBatch extends RowLayout {
  /** Rewards per token. `"cpgd"` does not look at them. */
  readonly tokenRewards?: FloatArray;
  /** The critic's V; needed by `"gae"`. */
  readonly values?: FloatArray;
  /** The rewards of the rows, neither shaped nor placed on tokens; needed by `"cpgd"`. */
  readonly rewards?: FloatArray;
  /** 1 = the policy's token, 0 = never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface EstimateOptions extends EstimateConventions, BackendOption, CollectiveOption {
  readonly estimator: PipelineEstimator;
  /** Discount per token, in [0, 1]. Default 1. */
  readonly gamma?: number;
  /** As in `gae`, in [0, 1]. Default 1. */
  readonly lambda?: number;
  /** Advantages of the kept tokens of this batch to mean 0 and std 1 (ddof 1). Default false. */
  readonly whiten?: boolean;
  /** Clips the advantages to ±this, > 0, after whitening. Default: not clipped. */
  readonly advantageClip?: number;
  /** Of `"cpgd"`. Default `"std"`. */
  readonly weighting?: CpgdAdvantageOptions["weighting"];
}

export interface EstimateAdvantagesOptions extends EstimateOptions, PresetOption<"estimateAdvantages"> {}

/** Per token; 0 under the mask. */
export interface EstimateResult {
  readonly advantages: FloatArray;
  /** Neither whitened nor clipped. */
  readonly returns: FloatArray;
  /** What the clip changed of the tokens here, measured before it; 0 where nothing is clipped. */
  readonly clipFraction: number;
}

/** Advantages and returns in float64, before whitening. */
function estimateStage(
  op: string,
  stage: PipelineStage,
  batch: EstimateBatch,
  rows: Rows,
  mask: Uint8Array | null,
  options: EstimateOptions,
): StageResult {
  const { estimator, lambda, maskMode, weighting, backend, collective } = options;
  const given = needNumber(op, "gamma", options.gamma ?? 1, { min: 0, max: 1 });
  const { tokenRewards, values, rewards } = batch;
  return stage.estimate(
    op,
    { rows, tokenRewards, values, rewards },
    {
      where: { ...layoutOfRows(rows), mask: mask ?? undefined, backend, collective },
      gamma: options.undiscounted?.includes(estimator) ? 1 : given,
      lambda,
      maskMode,
      transformMasked: options.transformMasked === true,
      weighting,
    },
  );
}

/** As estimateAdvantages, in the name of the public function `op`; float64 results. */
export function estimate(op: string, batch: EstimateBatch, options: EstimateOptions): EstimateResult {
  const stage = needStage(op, options.estimator);
  const rows = needRows(op, batch);
  const mask = optionalMask(op, "mask", batch.mask, rows.n, rows.meaning);
  const limit = needNumber(op, "advantageClip", options.advantageClip ?? Infinity, {
    min: 0,
    above: true,
    infinite: true,
  });
  const everywhere = needWord(op, "clipFractionOver", options.clipFractionOver ?? "kept", ["kept", "all"]) === 1;
  const epsilon = needNumber(op, "whitenEpsilon", options.whitenEpsilon ?? 1e-8, { min: 0 });
  const { advantages, returns } = estimateStage(op, stage, batch, rows, mask, options);

  const whitening = options.whiten === true && !options.neverWhitened?.includes(options.estimator);
  const { backend } = options;
  const transformMasked = options.transformMasked === true;
  const where = { ...layoutOfRows(rows), mask: mask ?? undefined, backend };
  const whitened = whitening
    ? whiten(advantages, { ...where, over: "all", epsilon, transformMasked, collective: options.collective })
    : advantages;
  if (limit === Infinity) return { advantages: whitened, returns, clipFraction: 0 };
  const counted = everywhere || !mask ? { mask: undefined } : { transformMasked };
  const result = clipped(whitened, { ...where, low: -limit, high: limit, ...counted });
  return { advantages: result.values, returns, clipFraction: result.fraction };
}

/**
 * Advantages of one batch from rewards per token:
 *
 *     gae                                                        generalized advantages of rewards and values
 *     reinforcePlusPlus, reinforcePlusPlusBaseline, rloo, grpo   advantages = discounted returns of the rewards
 *     cpgd                                                       `cpgdAdvantage` of the rows' rewards
 *
 * then, as options say, whitened over the kept tokens: (A − mean) / (std + ε), and clipped. Returns are neither. In float64;
 * 0 under the mask, where nothing is read. A batch with one kept token whitens to 0.
 *
 * @param batch token rewards as `klShapedReward` makes them; `shape` or `offsets` say where tokens lie
 * @param options presets `"lightrft"` and `"openrlhf"` have γ = 1 for some estimators, whatever is given
 * @returns in the widest float type of the inputs
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function estimateAdvantages(batch: EstimateBatch, options: EstimateAdvantagesOptions): EstimateResult {
  const op = "estimateAdvantages";
  const result = estimate(op, batch, resolvePreset(op, options.preset, options));
  const read = needStage(op, options.estimator).reads.map((name) => batch[name]);
  if (widestFloat(...read) === "float64") return result;
  return { ...result, advantages: Float32Array.from(result.advantages), returns: Float32Array.from(result.returns) };
}
