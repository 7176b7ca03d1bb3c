// Generated from native/include/surprisal/modulate.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** srp_scope: a word's place is its number. */
export const SCOPES = ["all", "mask", "segments"] as const;
export type Scope = (typeof SCOPES)[number];

/** srp_weight_form: a word's place is its number. */
export const WEIGHT_FORMS = ["ratio", "zscore"] as const;
export type WeightForm = (typeof WEIGHT_FORMS)[number];

/** srp_non_finite_rows: a word's place is its number. */
export const NON_FINITE_ROWS = ["propagate", "isolate", "group"] as const;
export type NonFiniteRows = (typeof NON_FINITE_ROWS)[number];

/** srp_modulate_steps_args. */
export interface ModulateStepsArgs {
  /** [S] nats. */
  readonly entropies: Float64Array;
  readonly S: number;
  /** k, kFuture finite; epsilon >= 0. */
  readonly k: number;
  /** k, kFuture finite; epsilon >= 0. */
  readonly kFuture: number;
  /** k, kFuture finite; epsilon >= 0. */
  readonly epsilon: number;
  /** [S] or null. */
  readonly entropyNorms: Float64Array | null;
  /** [S] or null. */
  readonly scales: Float64Array | null;
  /** [S] or null. */
  readonly clarities: Float64Array | null;
  /** [1] or null = S: how many of the steps there are. */
  readonly count: BigInt64Array | null;
  /** 1: a NaN or infinite H is SRP_NOT_FINITE. */
  readonly finite: number;
}

/** srp_modulate_spans_args. */
export interface ModulateSpansArgs {
  /** float32 or float64: of advantages, modulated. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly advantages: FloatArray;
  /** [n] or null; needed by SRP_SCOPE_MASK only. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [S, 3]: row, begin, finish. */
  readonly spans: Int32Array;
  /** [S]. */
  readonly scales: Float64Array;
  /** [S]. */
  readonly clarities: Float64Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly S: number;
  readonly zeta: number;
  /** srp_scope. */
  readonly scope: number;
  /** [n], may be the memory of advantages. */
  readonly modulated: FloatArray;
  /** [1]. */
  readonly mean: Float64Array;
  /** [1] or null = S: how many of the spans there are. */
  readonly count: BigInt64Array | null;
}

/** srp_modulate_rows_args. */
export interface ModulateRowsArgs {
  /** float32 or float64: of values. */
  readonly dtype: DTypeCode;
  /** [n] per-token entropy or negative log-likelihood, nats. */
  readonly values: FloatArray;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B] or null = all positive. */
  readonly positive: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [B] or null = identity. */
  readonly members: Int32Array | null;
  /** [G + 1]. */
  readonly groupOffsets: Int32Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly G: number;
  /** srp_weight_form. */
  readonly form: number;
  /** 1: values are log-probs. */
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
  /** srp_non_finite_rows. */
  readonly nonFinite: number;
  readonly singletonOne: number;
  readonly singletonZeroMean: number;
  readonly zeroOne: number;
  /** [B] or null. */
  readonly sequenceEntropies: Float64Array | null;
  /** [B] or null. */
  readonly groupMeanEntropies: Float64Array | null;
  /** [B] or null. */
  readonly entropyRatios: Float64Array | null;
  /** [B] or null. */
  readonly weights: Float64Array | null;
  /** [B] or null. */
  readonly lengths: Int32Array | null;
  /** [B] or null. */
  readonly valid: Uint8Array | null;
}

export interface ModulateOps {
  modulateSteps(args: ModulateStepsArgs): void;
  modulateSpans(args: ModulateSpansArgs): void;
  modulateRows(args: ModulateRowsArgs): void;
}
