// Policy losses: value, metrics and gradient. docs/loss/policy.md has them side by side.
export type { ClipRange } from "./clip-range";
export * from "./losses";
export type { PolicyBatch, WholeRowsBatch } from "./policy-batch";
export * from "./policy-loss";
export * from "./policy-loss-from-logits";
export type {
  EntropyBonus,
  KlClamps,
  KlTerm,
  MetricNames,
  PolicyLossConventions,
  PolicyLossOptions,
} from "./policy-loss-options";
export type { PolicyLossResult } from "./policy-loss-result";
