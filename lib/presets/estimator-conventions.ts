// The choices in which systems differ when they estimate advantages: what a preset can hold for the estimators of token
// rewards and of outcome rewards.
import type { GroupConventions } from "../ops/group";
import type { WhitenConventions } from "../ops/reduce";
import type { MaskMode } from "../ops/scan";

/** How a batch of per-token numbers is whitened over its kept tokens; false = not at all. */
export type Whitening = false | Pick<WhitenConventions, "ddof" | "varianceEpsilon" | "varianceFloor" | "epsilon" | "keepMean">;

/** Scans of rewards that are whitened afterwards. */
export interface WhitenedScanConventions {
  /** What a masked token is to the scan. Default `"skip"`. */
  readonly maskMode?: MaskMode;
  /**
   * Masked tokens get what the scan has there, see `gae`, and advantages of `gaeAdvantage` are whitened there, too; their
   * numbers are read for that alone. Default false: 0.
   */
  readonly transformMasked?: boolean;
  /** Default: ddof 1, 1e-8 added to the variance. */
  readonly whitening?: Whitening;
}

/** Outcome rewards less a baseline of the group. */
export interface BaselineConventions {
  /** The advantage of a row alone in its group: 0, or its own score. Default `"zero"`. */
  readonly singleton?: NonNullable<GroupConventions["singleton"]>;
}

/** Outcome rewards less the group's mean, whitened over tokens. */
export interface WhitenedBaselineConventions extends BaselineConventions {
  /** Default: ddof 1, 1e-8 added to the variance. */
  readonly whitening?: Whitening;
}

/** Best of the group against the second best. */
export interface PassAtKConventions {
  /** Divide by the group's std + epsilon, or not. Default `"std"`. */
  readonly scale?: NonNullable<GroupConventions["scale"]>;
  /** Added to the std, >= 0. Default 1e-6. */
  readonly epsilon?: number;
}

/** Baselines that weigh each row by the norm of its gradient. */
export interface TokenBaselineConventions {
  /** Added to the summed weights of a column, >= 0. Default 1e-8. */
  readonly epsilon?: number;
}
