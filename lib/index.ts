// The public surface, nothing else.
export { backendInfo, configure } from "./backend/select";
export type { BackendInfo, BackendOption, Configuration } from "./backend/select";
export type { BackendStatus } from "./backend/probe";
export type { BackendChoice, BackendName } from "./backend/backend";
export { SurprisalError } from "./core/errors";
export type { ErrorCode, ErrorDetails } from "./core/errors";
export type { TokenIds } from "./core/arrays";
export { fromHalfBits, toHalfBits } from "./core/half";
export type { HalfDType } from "./core/half";
export type { DType, FloatArray } from "./core/dtype";
export type { RowLayout } from "./core/rows";
export * from "./ops/correction";
export * from "./ops/delim";
export * from "./ops/group";
export * from "./ops/logprob";
export * from "./ops/modulate";
export * from "./ops/ratio";
export * from "./ops/reduce";
export * from "./ops/scan";
export * from "./ops/select";
export * from "./ops/linear";
export * from "./advantage/edge-grpo-advantage";
export * from "./advantage/egpo-advantage";
export * from "./advantage/empg-advantage";
export * from "./advantage/group-advantage";
export { answerThinkingMask } from "./advantage/answer-thinking-mask";
export type { AnswerThinkingConventions, AnswerThinkingMaskOptions, AnswerThinkingMode, ThinkEnd } from "./advantage/answer-thinking-mask";
export * from "./advantage/masks";
export * from "./advantage/metrics";
export { aggregateLoss, aggregationWeights } from "./loss/aggregation";
export type {
  AggregatedLoss,
  AggregationConventions,
  AggregationCounts,
  AggregationMode,
  AggregationName,
  AggregationOptions,
} from "./loss/aggregation";
export * from "./loss/actor-critic-loss";
export { entropyBonus } from "./loss/entropy-bonus";
export type { EntropyBonusOptions, EntropyBonusResult } from "./loss/entropy-bonus";
export * from "./loss/kl-penalty";
export * from "./loss/correction";
export * from "./loss/negative-log-likelihood";
export * from "./loss/policy";
export * from "./loss/sequence-policy-objective";
export { valueLoss } from "./loss/value-loss";
export type { ValueBatch, ValueLossConventions, ValueLossOptions, ValueLossResult } from "./loss/value-loss";
export * from "./reward/shaping";
export type { PresetName, PresetNameFor, PresetOption } from "./presets";
export { clipFilterWeights } from "./advantage/clip-filter-weights";
export type { ClipFilterWeights, ClipFilterWeightsOptions } from "./advantage/clip-filter-weights";
export { clipFraction } from "./advantage/clip-fraction";
export type { ClipFractionOptions } from "./advantage/clip-fraction";
export * from "./advantage/cpgd-advantage";
export { shapeGroupRewards } from "./advantage/group-shaping";
export type {
  GroupShapingConventions,
  MaskedShapedRewards,
  PipelineEstimator,
  ShapedRewards,
  ShapeGroupRewardsOptions,
} from "./advantage/group-shaping";
export * from "./advantage/iw-opd-advantage";
export * from "./advantage/minillm-advantage";
export * from "./advantage/multi-reward-advantage";
export * from "./advantage/puff-advantage";
export * from "./advantage/rloo-advantage";
export * from "./control/entropy-coefficient";
export * from "./control/kl-controller";
export * from "./control/running-moments";
export * from "./advantage/advantage-pipeline";
export { estimateAdvantages } from "./advantage/estimate-advantages";
export type {
  EstimateAdvantagesOptions,
  EstimateBatch,
  EstimateConventions,
  EstimateOptions,
  EstimateResult,
} from "./advantage/estimate-advantages";
export * from "./advantage/optimal-value-advantage";
export * from "./advantage/ppo-advantage";
export type { RewardClip } from "./advantage/reward-clip";
export * from "./advantage/compute";
export * from "./advantage/gae-advantage";
export * from "./advantage/gpg-advantage";
export * from "./advantage/grpo-advantage";
export * from "./advantage/leave-one-out-advantage";
export * from "./advantage/opo-advantage";
export * from "./advantage/optimal-token-baseline-advantage";
export * from "./advantage/pass-at-k-advantage";
export * from "./advantage/reinforce-plus-plus-advantage";
export * from "./advantage/remax-advantage";
export * from "./advantage/resampling-weights";
export type { OutcomeAdvantageResult, OutcomeBatch, OutcomeOptions } from "./advantage/outcome";
export * from "./ops/loss";
export * from "./ops/divergence";
export * from "./loss/distillation";
export type { Collective, CollectiveArray, CollectiveOption, CollectiveReduction } from "./core/collective";
export * from "./control/broadcast-state";
export * from "./advantage/maxent";
export * from "./loss/listwise-policy-loss";
export * from "./advantage/whiten-advantages";
export * from "./advantage/draw-rows";
export * from "./control/maxent";
export * from "./control/persistence";
export type { ControllerKind, ControllerStates } from "./control/persistence-kinds";
export * from "./device";
