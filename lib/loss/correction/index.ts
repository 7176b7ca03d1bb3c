// Corrections for rollouts of another policy than the one that learns: weights, rejection, diagnostics.
// docs/loss/correction.md has the formulas.
export type { ImportanceRatioName } from "../../presets/importance-ratios";
export { importanceRatio } from "./importance-ratio";
export type { ImportanceRatioConventions, ImportanceRatioOptions, ImportanceRatioResult } from "./importance-ratio";
export type { CorrectionMetrics, RolloutConventions, RolloutOptions } from "./mismatch";
export { mismatchMetrics } from "./mismatch-metrics";
export type { MismatchMetricsOptions, MismatchMetricsResult } from "./mismatch-metrics";
export { finiteMask } from "./finite-mask";
export type { FiniteMaskOptions, FiniteMaskResult } from "./finite-mask";
export { offPolicyMask } from "./off-policy-mask";
export type { OffPolicyMaskOptions, OffPolicyMaskResult } from "./off-policy-mask";
export { secondMomentMask } from "./second-moment-mask";
export type { SecondMomentMaskOptions } from "./second-moment-mask";
export type { RejectionOption, RejectionThreshold } from "./rejection-rules";
export { rolloutCorrection } from "./rollout-correction";
export type { CorrectionRules, RolloutCorrectionOptions, RolloutCorrectionResult } from "./rollout-correction";
export { rolloutRejectionMask } from "./rollout-rejection-mask";
export type { RejectionRules, RolloutRejectionMaskOptions, RolloutRejectionMaskResult } from "./rollout-rejection-mask";
export { rolloutWeights } from "./rollout-weights";
export type { RolloutWeightsOptions, RolloutWeightsResult, WeightRule } from "./rollout-weights";
