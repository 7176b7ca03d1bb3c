// The group ops as backends take them: native/include/surprisal/group.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** Words of the public options; their positions are the numbers of the native interface. */
export const GROUP_CENTERS = ["none", "mean", "leaveOneOut", "runnerUp"] as const;
export type GroupCenter = (typeof GROUP_CENTERS)[number];
export const GROUP_SCALES = ["none", "std"] as const;
export type GroupScale = (typeof GROUP_SCALES)[number];
export const GROUP_SINGLETONS = ["zero", "raw", "standard"] as const;
export type GroupSingleton = (typeof GROUP_SINGLETONS)[number];
export const NAN_POLICIES = ["propagate", "abstain"] as const;
export type NanPolicy = (typeof NAN_POLICIES)[number];

/** How `groupWeigh` makes weights. */
export const WEIGH_FORMS = ["power", "extremes"] as const;

/** A system's choices, as numbers. */
export interface GroupConventionArgs {
  readonly ddof: number;
  readonly epsilon: number;
  readonly varianceFloor: number;
  readonly center: number;
  readonly scale: number;
  readonly singleton: number;
  readonly nanPolicy: number;
}

export interface GroupArgs {
  readonly dtype: DTypeCode;
  readonly values: FloatArray;
  readonly members: Int32Array | null;
  readonly offsets: Int32Array;
  readonly n: number;
  readonly G: number;
}

export interface GroupNormalizeArgs extends GroupArgs, GroupConventionArgs {
  readonly normalized: FloatArray | null;
  readonly mean: FloatArray | null;
  readonly std: FloatArray | null;
  readonly count: Int32Array | null;
  readonly weights: FloatArray | null;
  readonly gain: number;
}

export interface GroupSoftmaxArgs extends GroupArgs {
  readonly temperature: number;
  readonly weights: FloatArray | null;
  readonly lse: FloatArray | null;
  readonly softMean: FloatArray | null;
  readonly floor: number;
}

export interface GroupTiltArgs extends GroupArgs {
  readonly logFactors: FloatArray | null;
  readonly counts: FloatArray | null;
  readonly temperature: number;
  readonly coefficient: number;
  readonly least: number;
  readonly weights: FloatArray;
}

export interface GroupEntropyArgs extends GroupArgs {
  readonly normalized: number;
  readonly least: number;
  readonly entropy: FloatArray | null;
  readonly evenness: FloatArray | null;
}

export interface GroupColumnsArgs {
  readonly dtype: DTypeCode;
  readonly values: FloatArray;
  readonly weights: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly members: Int32Array | null;
  readonly groupOffsets: Int32Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly G: number;
  readonly epsilon: number;
  readonly zeroTail: number;
  readonly baselines: FloatArray | null;
  readonly centred: FloatArray | null;
}

export interface GroupWeighArgs extends GroupArgs {
  readonly form: number;
  readonly power: number;
  readonly atMax: number;
  readonly atMin: number;
  readonly between: number;
  readonly floor: number;
  readonly weights: FloatArray;
}

export interface GroupTop2Args extends GroupArgs {
  readonly best: Int32Array;
  readonly second: Int32Array;
  readonly bestValue: FloatArray | null;
  readonly secondValue: FloatArray | null;
}

export interface GroupBroadcastArgs {
  readonly dtype: DTypeCode;
  readonly row: FloatArray;
  readonly factor: FloatArray | null;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly out: FloatArray;
}

export interface GroupPlaceArgs {
  readonly dtype: DTypeCode;
  readonly row: FloatArray | null;
  readonly tokens: FloatArray | null;
  readonly values: FloatArray | null;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly scale: number;
  readonly low: number;
  readonly high: number;
  readonly transformMasked: number;
  readonly out: FloatArray;
}

export interface GroupOps {
  groupNormalize(args: GroupNormalizeArgs): void;
  groupSoftmax(args: GroupSoftmaxArgs): void;
  groupTop2(args: GroupTop2Args): void;
  groupBroadcast(args: GroupBroadcastArgs): void;
  groupPlace(args: GroupPlaceArgs): void;
  groupColumns(args: GroupColumnsArgs): void;
  groupWeigh(args: GroupWeighArgs): void;
  groupTilt(args: GroupTiltArgs): void;
  groupEntropy(args: GroupEntropyArgs): void;
}
