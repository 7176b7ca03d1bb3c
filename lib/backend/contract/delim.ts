// Generated from native/include/surprisal/delim.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** In `alternatives`, where a span was not opened by a start alternative, or not closed by an end alternative. */
export const ROW_STARTS_OPEN = -1;
export const HEAD_SPAN = -2;
export const UNTERMINATED = -1;

/** srp_include_end: a word's place is its number. */
export const INCLUDE_ENDS = ["all", "first", "none"] as const;
export type IncludeEnd = (typeof INCLUDE_ENDS)[number];

/** srp_delim_spans_args. */
export interface DelimSpansArgs {
  /** int32 or int64: of tokens. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly tokens: Int32Array | BigInt64Array;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [B] or null: valid tokens of a padded row, 0..T; padded only. */
  readonly lengths: Int32Array | null;
  /** [startSize]. */
  readonly startIds: Int32Array;
  /** [startCount + 1]. */
  readonly startOffsets: Int32Array;
  /** [endSize]. */
  readonly endIds: Int32Array;
  /** [endCount + 1]. */
  readonly endOffsets: Int32Array;
  /** [headSize] or null with headCount 0. */
  readonly headIds: Int32Array | null;
  /** [headCount + 1] or null with headCount 0. */
  readonly headOffsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** alternatives; start and end need one at least. */
  readonly startCount: number;
  /** alternatives; start and end need one at least. */
  readonly endCount: number;
  /** alternatives; start and end need one at least. */
  readonly headCount: number;
  /** ids of all alternatives together. */
  readonly startSize: number;
  /** ids of all alternatives together. */
  readonly endSize: number;
  /** ids of all alternatives together. */
  readonly headSize: number;
  readonly capacity: number;
  /** 0 or 1. */
  readonly overlapping: number;
  /** srp_include_end. */
  readonly includeEnd: number;
  /** 0 or 1. */
  readonly unterminatedKeep: number;
  /** 0 or 1. */
  readonly startsOpen: number;
  /** [capacity, 3]. */
  readonly spans: Int32Array;
  /** [capacity, 2] or null. */
  readonly alternatives: Int32Array | null;
  /** [1]. */
  readonly count: BigInt64Array;
}

/** srp_delim_means_args. */
export interface DelimMeansArgs {
  /** float32 or float64: of values. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [S, 3]. */
  readonly spans: Int32Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly S: number;
  /** [S]. */
  readonly means: Float64Array;
  /** [1] or null = S: how many of the spans there are. */
  readonly count: BigInt64Array | null;
}

/** srp_delim_mask_args. */
export interface DelimMaskArgs {
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [S, 3]. */
  readonly spans: Int32Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly S: number;
  /** [n]. */
  readonly mask: Uint8Array;
  /** [1] or null = S: how many of the spans there are. */
  readonly count: BigInt64Array | null;
}

/** srp_delim_ngrams_args. */
export interface DelimNgramsArgs {
  /** [n]. */
  readonly tokens: Int32Array;
  /** [n] or null = all kept. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** >= 1. */
  readonly length: number;
  /** [B, 2]: n-grams, different ones. */
  readonly counts: Int32Array;
}

export interface DelimOps {
  delimSpans(args: DelimSpansArgs): void;
  delimMeans(args: DelimMeansArgs): void;
  delimMask(args: DelimMaskArgs): void;
  delimNgrams(args: DelimNgramsArgs): void;
}
