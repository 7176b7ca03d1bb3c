// The correction ops as backends take them: native/include/surprisal/correction.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** srp_statistic: words of the public options; their positions are the numbers of the native interface. */
export const MISMATCH_STATISTICS = ["k1", "k2", "k3", "ratio", "distance", "current", "old", "total"] as const;
export type MismatchStatistic = (typeof MISMATCH_STATISTICS)[number];

/** srp_outside, likewise. */
export const OUTSIDE_RULES = ["clamp", "zero"] as const;
export type OutsideRule = (typeof OUTSIDE_RULES)[number];

/** The fields that both ops have. */
export interface CorrectionArgs {
  readonly dtype: DTypeCode;
  readonly current: FloatArray;
  readonly old: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly statistic: number;
  readonly logClamp: number;
  readonly low: number;
  readonly high: number;
}

export interface CorrectionMeasureArgs extends CorrectionArgs {
  readonly moments: Float64Array | null;
  readonly bounded: Float64Array | null;
  readonly differences: Float64Array | null;
  readonly above: Int32Array | null;
  readonly below: Int32Array | null;
}

export interface CorrectionBoundArgs extends CorrectionArgs {
  readonly rowFactor: Float64Array | null;
  readonly outside: number;
  readonly masked: number;
  readonly weights: FloatArray | null;
  readonly kept: Uint8Array | null;
  readonly keptCount: Int32Array | null;
}

export interface CorrectionOps {
  correctionMeasure(args: CorrectionMeasureArgs): void;
  correctionBound(args: CorrectionBoundArgs): void;
}
