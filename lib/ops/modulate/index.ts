// Entropy modulation: weights per step, their application over spans, weights per sequence. docs/ops/modulate.md.
export { modulateSpans, modulateSpansAsync } from "./modulate-spans";
export type { ModulatedSpans, ModulateSpansOptions, Scope } from "./modulate-spans";
export { sequenceWeights } from "./sequence-weights";
export type {
  NonFiniteRows,
  SequenceWeights,
  SequenceWeightsOptions,
  WeightBounds,
  WeightForm,
} from "./sequence-weights";
export { stepWeights } from "./step-weights";
export type { DeviceStepWeightsOptions, StepWeights, StepWeightsOptions } from "./step-weights";
