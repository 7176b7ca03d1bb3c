// The choices in which systems differ between the reward of a row and the advantages of its tokens: what a preset can hold
// for shapeGroupRewards, estimateAdvantages and advantagePipeline.
import type { MaskMode } from "../ops/scan";

/**
 * - `"gae"`: generalized advantage estimation with a critic
 * - `"reinforce"`: discounted returns
 * - `"rloo"`, `"reinforceBaseline"`, `"groupNorm"`, `"drGrpo"`: discounted returns of rewards that were compared within
 *   their group
 * - `"cpgd"`: `cpgdAdvantage` of the rewards themselves
 */
export type PipelineEstimator = "gae" | "reinforce" | "rloo" | "reinforceBaseline" | "groupNorm" | "drGrpo" | "cpgd";

export interface GroupShapingConventions {
  /** Added to the std by `"groupNorm"`, >= 0. Default 1e-8. */
  readonly epsilon?: number;
  /**
   * Which groups `keptGroups` gives up, since they teach nothing: those of `"constant"` rewards, or those whose rewards are
   * all exactly 0 or all exactly 1 (`"zeroOrOne"`). Default `"constant"`.
   */
  readonly dropGroups?: "constant" | "zeroOrOne";
}

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

export interface PipelineConventions extends EstimateConventions {
  /** Of the group shaping, see `shapeGroupRewards`. Default 1e-8. */
  readonly epsilon?: number;
  /** Estimators whose advantages are normalised over all batches at the end. Default: gae, reinforce, reinforceBaseline. */
  readonly normalized?: readonly PipelineEstimator[];
  /** Divide by the std in that normalisation, or only subtract the mean. Default `"std"`. */
  readonly scale?: "std" | "none";
  /** The variance is not allowed below this in that normalisation, >= 0. Default 1e-8. */
  readonly varianceFloor?: number;
}
