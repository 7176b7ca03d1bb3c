// Generated from native/include/surprisal/select.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** srp_covariance_mode: a word's place is its number. */
export const COVARIANCE_MODES = ["range", "top"] as const;
export type CovarianceMode = (typeof COVARIANCE_MODES)[number];

/** srp_select_quantile_args. */
export interface SelectQuantileArgs {
  /** float32 or float64: of values. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** SRP_OVER_ROW or SRP_OVER_ALL. */
  readonly over: number;
  /** 0..1. */
  readonly q: number;
  /** [over == SRP_OVER_ALL ? 1 : B] or null, not both. */
  readonly thresholds: Float64Array | null;
  /** [n] or null. */
  readonly selected: Uint8Array | null;
}

/** srp_select_top_args. */
export interface SelectTopArgs {
  /** float32 or float64: of values. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** SRP_OVER_ROW or SRP_OVER_ALL. */
  readonly over: number;
  /** 0..1, or NaN: use k. */
  readonly share: number;
  /** >= 0. */
  readonly k: number;
  /** >= 0. */
  readonly least: number;
  /** [n]. */
  readonly selected: Uint8Array;
  /** [over == SRP_OVER_ALL ? 1 : B] or null: how many were selected. */
  readonly counts: Int32Array | null;
}

/** srp_select_covariance_args. */
export interface SelectCovarianceArgs {
  /** float32 or float64: of advantages and logProbs. */
  readonly dtype: DTypeCode;
  /** [advantagesPerToken ? n : B]. */
  readonly advantages: FloatArray;
  /** [n] log-probs. */
  readonly logProbs: FloatArray;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [n] or null = none. */
  readonly excluded: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly advantagesPerToken: number;
  /** srp_covariance_mode. */
  readonly mode: number;
  /** >= 0. */
  readonly countEpsilon: number;
  /** RANGE: not NaN; low >= high selects nothing. */
  readonly low: number;
  /** RANGE: not NaN; low >= high selects nothing. */
  readonly high: number;
  /** TOP: 0..1, or NaN: use k. */
  readonly share: number;
  /** TOP: >= 0. */
  readonly k: number;
  /** TOP: >= 0. */
  readonly least: number;
  /** [n], may be the memory of excluded. */
  readonly selected: Uint8Array;
  /** [1] or null: how many were selected. */
  readonly counts: Int32Array | null;
}

export interface SelectOps {
  selectQuantile(args: SelectQuantileArgs): void;
  selectTop(args: SelectTopArgs): void;
  selectCovariance(args: SelectCovarianceArgs): void;
}
