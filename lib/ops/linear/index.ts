export { linearLogprob, linearLogprobAsync } from "./forward";
export type {
  DeviceLinearLogprobOptions,
  LinearLogprobOptions,
  LinearLogprobResult,
  LinearLogprobState,
} from "./forward";
export { linearLogprobBackward, linearLogprobBackwardAsync } from "./backward";
export type {
  DeviceLinearLogprobBackwardOptions,
  LinearLogprobBackwardOptions,
  LinearLogprobGradients,
  LinearPart,
} from "./backward";
export type { LinearSums } from "../../backend/contract/linear";
export type { DeviceHeadTensor, HeadDType, HeadTensor, HeadView, HeadViewOf, LinearHeadOptions } from "./head";
export { keptLinearLogprob, keptLinearLogprobBackward } from "./kept";
export type { KeptLinearLogprobBackwardOptions, KeptLinearLogprobOptions, KeptLinearLogprobResult } from "./kept";
export { linearLogprobBackwardTogether, linearLogprobTogether } from "./together";
export type {
  HeadPlace,
  LinearLogprobBackwardTogetherOptions,
  LinearLogprobTogetherOptions,
  LinearLogprobTogetherResult,
} from "./together";
