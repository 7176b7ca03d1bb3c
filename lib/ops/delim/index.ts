// Spans of tokens between delimiters: finding them, their means, their mask. docs/ops/delim.md
export type { Alternative, Delimiter } from "./delimiter";
export { findSpans, findSpansAsync } from "./find-spans";
export { DeviceSpans } from "./device-spans";
export type { DeviceFindSpansOptions, FindSpansOptions, IncludeEnd, Spans, Unterminated } from "./find-spans";
export { countNgrams } from "./ngrams";
export type { CountNgramsOptions, Ngrams } from "./ngrams";
export { segments } from "./segments";
export type { Segments, SegmentsOptions } from "./segments";
export { spanMask, spanMeans } from "./span-values";
export type { DeviceSpanList, SpanList, SpanMaskOptions, SpanMeansOptions } from "./span-values";
export { delimiterVariants } from "./variants";
export type { DelimiterVariant, DelimiterVariantsOptions, Encode } from "./variants";
