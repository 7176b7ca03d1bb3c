// The choices in which systems differ when they turn rewards of whole rows into advantages: what a preset can hold for
// multiRewardAdvantage, rlooAdvantage, ppoAdvantage and miniLlmAdvantage.

import type { MaskMode } from "../ops/scan";

/** How the rewards of several functions become one advantage. */
export interface MultiRewardConventions {
  /**
   * `"sumThenNormalize"`: the weighted sum is normalised within its group. `"normalizeThenSum"`: each function's rewards are
   * normalised within the group first, then summed with weights, then normalised over the batch, so that no function
   * outweighs the others by its range. Default `"sumThenNormalize"`.
   */
  readonly aggregation?: "sumThenNormalize" | "normalizeThenSum";
  /** Whose std divides the centred sum: the group's, that of all rows, or nobody's. Not used by `"normalizeThenSum"`. Default `"group"`. */
  readonly scale?: "group" | "batch" | "none";
  /** Added to each std, >= 0. Default 1e-6. */
  readonly epsilon?: number;
}

/** Leave-one-out advantages of penalised rewards. */
export interface RlooConventions {
  /** Centres and scales the advantages over the batch at the end. Default false. */
  readonly normalize?: boolean;
  /** Added to the std of that normalisation, >= 0. Default 1e-6. */
  readonly epsilon?: number;
}

/** PPO's rewards, advantages and returns from scores and a critic. */
export interface PpoConventions {
  /**
   * Where the score of a row goes: to its `"last"` kept token, or to the position `"after"` it, where the end of the text has
   * a value of its own; to the last where the row has no position behind. Default `"last"`.
   */
  readonly scoreAt?: "last" | "after";
  /** What a masked token is to the scan, see `gae`. Default `"skip"`. */
  readonly maskMode?: MaskMode;
  /** Added to the variance when whitening, inside the root, >= 0. Default 1e-8. */
  readonly varianceEpsilon?: number;
}

/** Advantages of a student from a teacher's log-probs. */
export interface MiniLlmConventions {
  /** A masked token is no step (`"skip"`), or a step that raises the power of γ (`"steps"`). Default `"skip"`. */
  readonly maskMode?: "skip" | "steps";
  /** What a masked step counts in the length, >= 0. Needs `"steps"`. Default 0. */
  readonly maskedWeight?: number;
}
