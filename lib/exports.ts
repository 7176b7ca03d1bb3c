// The public surface, nothing else.
export { backendInfo, configure } from "./backend/select";
export type { BackendInfo, BackendOption, Configuration } from "./backend/select";
export type { BackendStatus } from "./backend/probe";
export type { BackendChoice, BackendName, BackendPreference } from "./backend/backend";
export { SurprisalError } from "./core/errors";
export type { ErrorCode, ErrorDetails } from "./core/errors";
export type { TokenIds } from "./core/arrays";
export { fromHalfBits, toHalfBits } from "./core/half";
export type { HalfDType } from "./core/half";
export type { DType, FloatArray } from "./core/dtype";
export type { RowLayout } from "./core/row-layout";
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
export { answerThinkingMask } from "./advantage/answer-thinking-mask";
export type {
  AnswerThinkingConventions,
  AnswerThinkingMaskOptions,
  AnswerThinkingMode,
  ThinkTag,
} from "./advantage/answer-thinking-mask";
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
export * from "./loss/combine-losses";
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
export * from "./advantage/group-filter";
export * from "./advantage/lambda-of-length";
export * from "./advantage/normalize-levels";
export * from "./advantage/proximal-log-probs";
export { shapeGroupRewards } from "./advantage/group-shaping";
export type {
  GroupShapingConventions,
  MaskedShapedRewards,
  ShapedRewards,
  ShapeGroupRewardsOptions,
} from "./advantage/group-shaping";
export * from "./control/entropy-coefficient";
export * from "./control/kl-controller";
export * from "./control/role-baselines";
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
export type { RewardClip } from "./advantage/reward-clip";
export * from "./advantage/compute";
export type { PipelineEstimator } from "./advantage/pipeline-estimators";
export type { RewardedBatch, RowAdvantages } from "./advantage/rewarded-batch";
export type { SequenceWeightConventions } from "./advantage/sequence-weighting";
export type { RewardColumns } from "./advantage/weighted-rewards";
export * from "./advantage/estimators";
export * from "./advantage/resampling-weights";
export type { BaselineConventions, OutcomeAdvantageResult, OutcomeBatch, OutcomeOptions } from "./advantage/outcome";
export * from "./ops/loss";
export * from "./ops/divergence";
export * from "./loss/distillation";
export { supportDistillation } from "./loss/support-distillation";
export type {
  SupportDistillationOptions,
  SupportDistillationResult,
  SupportDistillationTerms,
} from "./loss/support-distillation";
export * from "./loss/top-k-distillation";
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
