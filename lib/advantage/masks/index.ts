// Which tokens and rows take part. docs/advantage/masks.md has them side by side.
export { endOfSequenceMask } from "./end-of-sequence-mask";
export type { EndOfSequenceMaskOptions } from "./end-of-sequence-mask";
export type { EndIds } from "./first-end";
export { highEntropyMask } from "./high-entropy-mask";
export type { HighEntropyConventions, HighEntropyMaskOptions } from "./high-entropy-mask";
export { offPolicyRowMask } from "./off-policy-row-mask";
export type { OffPolicyRowMaskOptions, OffPolicyRowMaskResult } from "./off-policy-row-mask";
export { truncateAfter } from "./truncate-after";
export type { TruncateAfterOptions, TruncateAfterResult } from "./truncate-after";
export { truncatedCompletionMask } from "./truncated-completion-mask";
export type { TruncatedCompletionMaskOptions, TruncatedCompletionMaskResult } from "./truncated-completion-mask";
