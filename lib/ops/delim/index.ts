// Spans of tokens between delimiters: finding them, their means, their mask. docs/ops/delim.md
export type { Alternative, Delimiter } from "./delimiter";
export { findSpans } from "./find-spans";
export type { FindSpansOptions, IncludeEnd, Spans, Unterminated } from "./find-spans";
export { countNgrams } from "./ngrams";
export type { CountNgramsOptions, Ngrams } from "./ngrams";
export { spanMask, spanMeans } from "./span-values";
export type { SpanList, SpanMaskOptions, SpanMeansOptions } from "./span-values";
export { delimiterVariants } from "./variants";
export type { DelimiterVariant, DelimiterVariantsOptions, Encode } from "./variants";
