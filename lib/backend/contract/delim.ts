// The delim ops as backends take them: native/include/surprisal/delim.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** "all" | "first" | "none" of the public options, as numbers of the native interface. */
export const INCLUDE_END = ["all", "first", "none"] as const;
export type IncludeEnd = (typeof INCLUDE_END)[number];

/** In `which`, where a span was not opened by a start alternative or not closed by an end alternative. */
export const ROW_STARTS_OPEN = -1;
export const HEAD_SPAN = -2;
export const UNTERMINATED = -1;

export interface DelimSpansArgs {
  /** Of tokens: int32 or int64. */
  readonly dtype: DTypeCode;
  readonly tokens: Int32Array | BigInt64Array;
  readonly offsets: Int32Array | null;
  readonly lengths: Int32Array | null;
  readonly startIds: Int32Array;
  readonly startOffsets: Int32Array;
  readonly endIds: Int32Array;
  readonly endOffsets: Int32Array;
  readonly headIds: Int32Array | null;
  readonly headOffsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly startCount: number;
  readonly endCount: number;
  readonly headCount: number;
  readonly startSize: number;
  readonly endSize: number;
  readonly headSize: number;
  readonly capacity: number;
  readonly overlapping: number;
  readonly includeEnd: number;
  readonly unterminatedKeep: number;
  readonly startsOpen: number;
  readonly spans: Int32Array;
  readonly which: Int32Array | null;
  readonly count: BigInt64Array;
}

export interface DelimMeansArgs {
  readonly dtype: DTypeCode;
  readonly values: FloatArray;
  readonly offsets: Int32Array | null;
  readonly spans: Int32Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly S: number;
  readonly means: Float64Array;
  /** [1]: how many of the S spans there are; null = all. */
  readonly found: BigInt64Array | null;
}

export interface DelimMaskArgs {
  readonly offsets: Int32Array | null;
  readonly spans: Int32Array;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly S: number;
  readonly mask: Uint8Array;
  readonly found: BigInt64Array | null;
}

export interface DelimNgramsArgs {
  readonly tokens: Int32Array;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
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
