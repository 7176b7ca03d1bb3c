// The choices in which systems differ when they modulate advantages by entropy: options of empgAdvantage, egpoAdvantage and
// edgeGrpoAdvantage that a preset can hold.
import type { FindSpansOptions } from "../ops/delim";
import type { GroupConventions } from "../ops/group";
import type { ModulateSpansOptions, NonFiniteRows, StepWeightsOptions, WeightForm } from "../ops/modulate";

/** Which steps there are, what they weigh, and where their mean is subtracted. */
export interface EmpgConventions
  extends Pick<FindSpansOptions, "overlapping" | "includeEnd" | "unterminated" | "startsOpen">,
    Pick<StepWeightsOptions, "k" | "kFuture" | "epsilon" | "nonFinite">,
    Pick<ModulateSpansOptions, "zeta" | "scope"> {}

/** What weights per sequence have in common. */
export interface SequenceWeightConventions {
  /** How rewards become advantages before they are weighted. Given fields replace those of the preset one by one. */
  readonly groupAdvantage?: GroupConventions;
  /**
   * Which token rewards make a row's score: `"all"` positions, also those under the mask, or the `"kept"` ones. Without
   * meaning for rewards per row. Default `"all"`.
   */
  readonly scoreOver?: "all" | "kept";
  /** Smallest weight, >= 0. Default 0.5. */
  readonly lambdaMin?: number;
  /** Largest weight, >= 0, Infinity allowed; wins where lambdaMin exceeds it. Default 2. */
  readonly lambdaMax?: number;
  /** Keeps the quotient finite, nats, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** Rows without a token to measure: `"exclude"`d from the mean, ratio 1; or entropy `"zero"`. Default `"exclude"`. */
  readonly emptyRows?: "exclude" | "zero";
  /** Rows with a NaN or infinite entropy, see `sequenceWeights`. Default `"isolate"`. */
  readonly nonFinite?: NonFiniteRows;
  /** The ratio of a group with one row that counts, see `sequenceWeights`. Default `"one"`. */
  readonly singletonWeight?: "one" | "own" | "standard";
  /** A group whose mean entropy is 0: ratio `"one"`, or what the `"formula"` gives, 0. Default `"one"`. */
  readonly zeroEntropy?: "one" | "formula";
}

export interface EgpoConventions extends SequenceWeightConventions {
  /**
   * Bounds of the weight by the sign of the row. A row is positive when its reward, summed under the mask, is above 0:
   * - `"clamp"`: positive [1, lambdaMax], else [lambdaMin, 1]: no wrong answer is amplified, no right one attenuated.
   * - `"lockOne"`: positive [1, lambdaMax], else exactly 1.
   * - `"original"`: [lambdaMin, lambdaMax] for all.
   *
   * Default `"clamp"`.
   */
  readonly negativeWeightMode?: "original" | "clamp" | "lockOne";
  /** Degrees of freedom that the metric `egpo/weight/std` gives up; 1 makes it NaN for one row. Default 0. */
  readonly metricsDdof?: 0 | 1;
}

export interface EdgeGrpoConventions extends SequenceWeightConventions {
  /** Quotient μ/(P + ε), or 1 + β·z with the clipped z-score of P. Default `"ratio"`. */
  readonly weightMode?: WeightForm;
  /** Slope of the z-score. Default 1. */
  readonly beta?: number;
  /** The z-score is clipped to ±zClip, >= 0. Default 3. */
  readonly zClip?: number;
  /** Smallest variance of the entropies of a group (ddof 1). Default 0. */
  readonly varianceFloor?: number;
}
