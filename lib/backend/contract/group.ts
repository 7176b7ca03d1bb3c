// Generated from native/include/surprisal/group.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** srp_group_center: a word's place is its number. */
export const GROUP_CENTERS = ["none", "mean", "leaveOneOut", "runnerUp"] as const;
export type GroupCenter = (typeof GROUP_CENTERS)[number];

/** srp_weigh_form: a word's place is its number. */
export const WEIGH_FORMS = ["power", "extremes"] as const;
export type WeighForm = (typeof WEIGH_FORMS)[number];

/** srp_group_scale: a word's place is its number. */
export const GROUP_SCALES = ["none", "std", "others", "mean", "signedMean"] as const;
export type GroupScale = (typeof GROUP_SCALES)[number];

/** srp_group_singleton: a word's place is its number. */
export const GROUP_SINGLETONS = ["zero", "raw", "standard"] as const;
export type GroupSingleton = (typeof GROUP_SINGLETONS)[number];

/** srp_nan_policy: a word's place is its number. */
export const NAN_POLICIES = ["propagate", "abstain"] as const;
export type NanPolicy = (typeof NAN_POLICIES)[number];

/** srp_group_normalize_args. */
export interface GroupNormalizeArgs {
  /** float32 or float64: of every float array here. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = identity. */
  readonly members: Int32Array | null;
  /** [G + 1]. */
  readonly offsets: Int32Array;
  readonly n: number;
  readonly G: number;
  /** >= 0. */
  readonly ddof: number;
  /** >= 0, added to the std. */
  readonly epsilon: number;
  /** >= 0. */
  readonly varianceFloor: number;
  /** srp_group_center. */
  readonly center: number;
  /** srp_group_scale. */
  readonly scale: number;
  /** srp_group_singleton. */
  readonly singleton: number;
  /** srp_nan_policy. */
  readonly nanPolicy: number;
  /** [n] or null. */
  readonly normalized: FloatArray | null;
  /** [G] or null. */
  readonly means: FloatArray | null;
  /** [G] or null. */
  readonly stds: FloatArray | null;
  /** [G] or null: items that entered the statistics (all of them under SRP_NAN_PROPAGATE). */
  readonly counts: Int32Array | null;
  /** [n] or null = 1; >= 0. */
  readonly weights: FloatArray | null;
  /** >= 0; 1 = as it is. */
  readonly gain: number;
  /** [n] or null: of each item, see above. */
  readonly centers: FloatArray | null;
  /** [n] or null: of each item, see above. */
  readonly spreads: FloatArray | null;
}

/** srp_group_softmax_args. */
export interface GroupSoftmaxArgs {
  /** float32 or float64: of values, weights, logSumExps, softMeans. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = identity. */
  readonly members: Int32Array | null;
  /** [G + 1]. */
  readonly offsets: Int32Array;
  readonly n: number;
  readonly G: number;
  /** >= 0. */
  readonly temperature: number;
  /** [n] or null. */
  readonly weights: FloatArray | null;
  /** [G] or null; of an empty group -infinity and NaN. */
  readonly logSumExps: FloatArray | null;
  /** [G] or null; of an empty group -infinity and NaN. */
  readonly softMeans: FloatArray | null;
  /** >= 0, of the weights; not of logSumExps and softMeans. */
  readonly floor: number;
}

/** srp_group_tilt_args. */
export interface GroupTiltArgs {
  /** float32 or float64: of values, logFactors, counts, weights. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = 0: l. */
  readonly logFactors: FloatArray | null;
  /** [n] or null = 1. */
  readonly counts: FloatArray | null;
  /** [n] or null = identity. */
  readonly members: Int32Array | null;
  /** [G + 1]. */
  readonly offsets: Int32Array;
  readonly n: number;
  readonly G: number;
  /** >= 0. */
  readonly temperature: number;
  /** >= 0. */
  readonly coefficient: number;
  /** >= 0. */
  readonly least: number;
  /** [n]. */
  readonly weights: FloatArray;
}

/** srp_group_entropy_args. */
export interface GroupEntropyArgs {
  /** float32 or float64: of values, entropies, evennesses. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = identity. */
  readonly members: Int32Array | null;
  /** [G + 1]. */
  readonly offsets: Int32Array;
  readonly n: number;
  readonly G: number;
  /** 0 or 1. */
  readonly normalize: number;
  /** >= 0. */
  readonly least: number;
  /** [G] or null, not both. */
  readonly entropies: FloatArray | null;
  /** [G] or null, not both. */
  readonly evennesses: FloatArray | null;
}

/** srp_group_top2_args. */
export interface GroupTop2Args {
  /** float32 or float64: of values, bestValues, secondValues. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = identity. */
  readonly members: Int32Array | null;
  /** [G + 1]. */
  readonly offsets: Int32Array;
  readonly n: number;
  readonly G: number;
  /** [G]: item indices, -1 where there is none. */
  readonly best: Int32Array;
  /** [G]: item indices, -1 where there is none. */
  readonly second: Int32Array;
  /** [G] or null. */
  readonly bestValues: FloatArray | null;
  /** [G] or null. */
  readonly secondValues: FloatArray | null;
}

/** srp_group_columns_args. */
export interface GroupColumnsArgs {
  /** float32 or float64: of values, weights, baselines, centred. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n]. */
  readonly weights: FloatArray;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [B] or null = identity: rows. */
  readonly members: Int32Array | null;
  /** [G + 1]. */
  readonly groupOffsets: Int32Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly G: number;
  /** >= 0. */
  readonly epsilon: number;
  /** 0 or 1. */
  readonly zeroTail: number;
  /** [n] or null, not both. */
  readonly baselines: FloatArray | null;
  /** [n] or null, not both. */
  readonly centred: FloatArray | null;
}

/** srp_group_weigh_args. */
export interface GroupWeighArgs {
  /** float32 or float64: of values, weights. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = identity. */
  readonly members: Int32Array | null;
  /** [G + 1]. */
  readonly offsets: Int32Array;
  readonly n: number;
  readonly G: number;
  /** srp_weigh_form. */
  readonly form: number;
  /** >= 0. */
  readonly power: number;
  /** finite. */
  readonly atMax: number;
  /** finite. */
  readonly atMin: number;
  /** finite. */
  readonly between: number;
  /** finite. */
  readonly floor: number;
  /** [n]. */
  readonly weights: FloatArray;
}

/** srp_group_broadcast_args. */
export interface GroupBroadcastArgs {
  /** float32 or float64: of row, rowFactors, tokens. */
  readonly dtype: DTypeCode;
  /** [B]. */
  readonly row: FloatArray;
  /** [B] or null = 1. */
  readonly rowFactors: FloatArray | null;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** [n]. */
  readonly tokens: FloatArray;
}

/** srp_group_place_args. */
export interface GroupPlaceArgs {
  /** float32 or float64: of row, tokens, values, placed. */
  readonly dtype: DTypeCode;
  /** [B] or null = 0. */
  readonly row: FloatArray | null;
  /** [n] or null = 0. */
  readonly tokens: FloatArray | null;
  /** [n] or null = 0. */
  readonly values: FloatArray | null;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** finite. */
  readonly scale: number;
  /** of row; -infinity, infinity = no clip. */
  readonly low: number;
  /** of row; -infinity, infinity = no clip. */
  readonly high: number;
  readonly transformMasked: number;
  /** [n]. */
  readonly placed: FloatArray;
}

export interface GroupOps {
  groupNormalize(args: GroupNormalizeArgs): void;
  groupSoftmax(args: GroupSoftmaxArgs): void;
  groupTilt(args: GroupTiltArgs): void;
  groupEntropy(args: GroupEntropyArgs): void;
  groupTop2(args: GroupTop2Args): void;
  groupColumns(args: GroupColumnsArgs): void;
  groupWeigh(args: GroupWeighArgs): void;
  groupBroadcast(args: GroupBroadcastArgs): void;
  groupPlace(args: GroupPlaceArgs): void;
}
