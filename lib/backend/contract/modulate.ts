// The modulate ops as backends take them: native/include/surprisal/modulate.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** Words of the public options; their positions are the numbers of the native interface. */
export const SCOPES = ["all", "mask", "segments"] as const;
export type Scope = (typeof SCOPES)[number];

export const WEIGHT_FORMS = ["ratio", "zscore"] as const;
export type WeightForm = (typeof WEIGHT_FORMS)[number];

export const NON_FINITE = ["propagate", "isolate", "group"] as const;
export type NonFiniteRows = (typeof NON_FINITE)[number];

export interface ModulateStepsArgs {
  readonly entropy: Float64Array;
  readonly S: number;
  readonly k: number;
  readonly kF: number;
  readonly epsilon: number;
  readonly entropyNorm: Float64Array | null;
  readonly scale: Float64Array | null;
  readonly clarity: Float64Array | null;
  /** [1]: how many of the S steps there are; null = all. */
  readonly found: BigInt64Array | null;
  /** 1: a NaN or infinite entropy is an error. */
  readonly finite: number;
}

export interface ModulateSpansArgs {
  readonly dtype: DTypeCode;
  readonly advantages: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly spans: Int32Array;
  readonly scale: Float64Array;
  readonly clarity: Float64Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly S: number;
  readonly zeta: number;
  readonly scope: number;
  readonly out: FloatArray;
  readonly mean: Float64Array;
  /** [1]: how many of the S spans there are; null = all. */
  readonly found: BigInt64Array | null;
}

export interface ModulateRowsArgs {
  readonly dtype: DTypeCode;
  readonly entropy: FloatArray;
  readonly mask: Uint8Array | null;
  readonly positive: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly members: Int32Array | null;
  readonly groupOffsets: Int32Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly G: number;
  readonly form: number;
  readonly negate: number;
  readonly epsilon: number;
  readonly beta: number;
  readonly zClip: number;
  readonly varianceFloor: number;
  readonly lowPositive: number;
  readonly highPositive: number;
  readonly lowNegative: number;
  readonly highNegative: number;
  readonly emptyIsolate: number;
  readonly nonfinite: number;
  readonly singletonOne: number;
  readonly singletonZeroMean: number;
  readonly zeroOne: number;
  readonly sequenceEntropy: Float64Array | null;
  readonly groupMean: Float64Array | null;
  readonly ratio: Float64Array | null;
  readonly weight: Float64Array | null;
  readonly length: Int32Array | null;
  readonly valid: Uint8Array | null;
}

export interface ModulateOps {
  modulateSteps(args: ModulateStepsArgs): void;
  modulateSpans(args: ModulateSpansArgs): void;
  modulateRows(args: ModulateRowsArgs): void;
}
