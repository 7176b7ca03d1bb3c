// MaxEnt-GRPO: rewards, target distributions, listwise weights and their statistics. docs/advantage/maxent.md has the formulas.
export { completionTruncated } from "./completion-truncated";
export type { CompletionRecord } from "./completion-truncated";
export { listwiseWeights, uniformListwiseWeights } from "./listwise-weights";
export type { ListwiseWeightSettings, ListwiseWeightsOptions, UniformWeightsOptions } from "./listwise-weights";
export type { PromptLayout, PromptSizes } from "./prompts";
export { splitReferenceLogProbs, splitReferenceTokenCounts } from "./reference-statistics";
export type {
  ReferenceStatistics,
  SplitNumbers,
  SplitReferenceLogProbsOptions,
  SplitReferenceTokenCountsOptions,
} from "./reference-statistics";
export { rewardDistribution } from "./reward-distribution";
export type { RewardDistributionOptions } from "./reward-distribution";
export * from "./reward-moments";
export * from "./reward-statistics";
export { rewardTotals } from "./reward-totals";
export type { RewardTotals, RewardTotalsOptions } from "./reward-totals";
export { semanticEntropyScales } from "./semantic-entropy";
export type {
  ClusterIds,
  SemanticBatch,
  SemanticEntropyOptions,
  SemanticEntropyScales,
  SemanticEntropySettings,
} from "./semantic-entropy";
export { maxentSettings } from "./settings";
export type { MaxentConfiguration, MaxentSettings } from "./settings";
export { maxentTemperature } from "./temperature";
export type { MaxentTemperatureMode } from "./temperature";
export { weightEntropies } from "./weight-entropy";
export type { WeightEntropies, WeightEntropyOptions } from "./weight-entropy";
export * from "./weight-logging-view";
export * from "./weight-statistics";
