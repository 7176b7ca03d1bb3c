// The reduce ops as backends take them: native/include/surprisal/reduce.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** Fields of a partial, in their order: SRP_MOMENT_COUNT and its like. */
export const MOMENT_FIELDS = ["count", "sum", "mean", "m2", "min", "max"] as const;
export const MOMENT_COUNT = MOMENT_FIELDS.length;

/** What the moments are of. Words of the public options; their positions are the numbers of the native interface. */
export const REDUCE_SCOPES = ["row", "group", "all"] as const;
export type ReduceScope = (typeof REDUCE_SCOPES)[number];
export const WHITEN_CENTERS = ["none", "mean"] as const;
export type WhitenCenter = (typeof WHITEN_CENTERS)[number];

/** The fields that every op on rows of numbers has. */
export interface ReduceRowArgs {
  readonly dtype: DTypeCode;
  readonly values: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
}

export interface ReduceMomentsArgs extends ReduceRowArgs {
  readonly nanPolicy: number;
  readonly partials: Float64Array;
}

export interface ReduceMergeArgs {
  readonly partials: Float64Array;
  readonly members: Int32Array | null;
  readonly offsets: Int32Array | null;
  readonly B: number;
  readonly G: number;
  readonly merged: Float64Array;
}

export interface ReduceWhitenArgs extends ReduceRowArgs {
  readonly unit: Int32Array | null;
  readonly moments: Float64Array;
  readonly units: number;
  readonly over: number;
  readonly center: number;
  readonly scale: number;
  readonly ddof: number;
  readonly countEpsilon: number;
  readonly epsilon: number;
  readonly varianceEpsilon: number;
  readonly varianceFloor: number;
  readonly keepMean: number;
  readonly nanPolicy: number;
  readonly transformMasked: number;
  readonly out: FloatArray;
}

export interface ReduceAffineArgs extends ReduceRowArgs {
  readonly center: Float64Array | null;
  readonly scale: Float64Array | null;
  readonly transformMasked: number;
  readonly out: FloatArray;
  /** 1 = none. */
  readonly divisor: number;
}

/** Fields of the counts of clamp, in their order: SRP_CLAMPED_KEPT and its like. */
export const CLAMP_COUNTS = ["kept", "outside"] as const;

export interface ReduceClampArgs extends ReduceRowArgs {
  readonly low: number;
  readonly high: number;
  readonly transformMasked: number;
  readonly out: FloatArray | null;
  /** [B, 2], or null. */
  readonly counts: Int32Array | null;
}

export interface ReduceGammaArgs extends ReduceRowArgs {
  readonly factor: FloatArray | null;
  readonly sign: FloatArray;
  readonly bound: number;
  readonly shapePositive: number;
  readonly ratePositive: number;
  readonly shapeNegative: number;
  readonly rateNegative: number;
  readonly weights: FloatArray | null;
  readonly logWeights: FloatArray | null;
  readonly allFactors: number;
}

export interface ReduceCountsArgs extends Omit<ReduceRowArgs, "dtype" | "values"> {
  readonly counts: Float64Array;
}

export interface ReduceOps {
  reduceMoments(args: ReduceMomentsArgs): void;
  reduceMerge(args: ReduceMergeArgs): void;
  reduceWhiten(args: ReduceWhitenArgs): void;
  reduceAffine(args: ReduceAffineArgs): void;
  reduceClamp(args: ReduceClampArgs): void;
  reduceGamma(args: ReduceGammaArgs): void;
  reduceCounts(args: ReduceCountsArgs): void;
}
