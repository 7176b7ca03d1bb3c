// Losses over rows of tokens and their gradients. docs/ops/loss.md has the forms side by side.
export type { LossFigure } from "../../backend/contract/loss";
export {
  clippedObjective,
  clippedObjectiveAsync,
  type ClippedFigures,
  type ClippedObjectiveOptions,
  type ClippedObjectiveResult,
  type ClippedOutput,
  type DeviceClippedObjectiveResult,
} from "./clipped-objective";
export {
  klEstimates,
  type DeviceKlEstimatesResult,
  type KlEstimatesOptions,
  type KlEstimatesResult,
  type KlKind,
} from "./kl-estimates";
export type {
  DeviceLossOptions,
  DeviceLossResult,
  LossArrays,
  LossFigures,
  LossKl,
  LossOptions,
  LossOutput,
  LossResult,
  LossSummary,
} from "./types";
export type { LossBand } from "./parameters";
export { type RowForm, rowLoss, rowLossAsync, type RowLossOptions } from "./row-loss";
export { type TokenForm, tokenLoss, tokenLossAsync, type TokenLossOptions } from "./token-loss";
export type { TokenLogitsOptions, TokenLogitsResult } from "./logit-gradient";
export * from "./token-loss-from-logits";
