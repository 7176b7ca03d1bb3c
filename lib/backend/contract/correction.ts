// Generated from native/include/surprisal/correction.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** srp_mismatch_statistic: a word's place is its number. */
export const MISMATCH_STATISTICS = ["k1", "k2", "k3", "ratio", "distance", "current", "old", "total"] as const;
export type MismatchStatistic = (typeof MISMATCH_STATISTICS)[number];

/** srp_outside_rule: a word's place is its number. */
export const OUTSIDE_RULES = ["clamp", "zero"] as const;
export type OutsideRule = (typeof OUTSIDE_RULES)[number];

/** srp_correction_measure_args. */
export interface CorrectionMeasureArgs {
  /** float32 or float64: of logProbs, oldLogProbs. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly logProbs: FloatArray;
  /** [n]. */
  readonly oldLogProbs: FloatArray;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** srp_mismatch_statistic. */
  readonly statistic: number;
  /** > 0, infinity = off. */
  readonly logClamp: number;
  /** low <= high, infinities = off. */
  readonly low: number;
  /** low <= high, infinities = off. */
  readonly high: number;
  /** [B, SRP_MOMENTS] or null. */
  readonly moments: Float64Array | null;
  /** [B, SRP_MOMENTS] or null. */
  readonly bounded: Float64Array | null;
  /** [B] or null. */
  readonly differences: Float64Array | null;
  /** [B] or null. */
  readonly above: Int32Array | null;
  /** [B] or null. */
  readonly below: Int32Array | null;
}

/** srp_correction_bound_args. */
export interface CorrectionBoundArgs {
  /** float32 or float64: of logProbs, oldLogProbs, weights. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly logProbs: FloatArray;
  /** [n]. */
  readonly oldLogProbs: FloatArray;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [B] or null = 1. */
  readonly rowFactors: Float64Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** srp_mismatch_statistic. */
  readonly statistic: number;
  /** srp_outside_rule. */
  readonly outside: number;
  readonly logClamp: number;
  readonly low: number;
  readonly high: number;
  /** the weight under the mask. */
  readonly maskedWeight: number;
  /** [n] or null. */
  readonly weights: FloatArray | null;
  /** [n] or null, may be the memory of mask. */
  readonly kept: Uint8Array | null;
  /** [B] or null. */
  readonly keptCounts: Int32Array | null;
}

export interface CorrectionOps {
  correctionMeasure(args: CorrectionMeasureArgs): void;
  correctionBound(args: CorrectionBoundArgs): void;
}
