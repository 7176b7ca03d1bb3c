export { linearLogprob, linearLogprobAsync } from "./forward";
export type { LinearLogprobOptions, LinearLogprobResult, LinearLogprobState } from "./forward";
export { linearLogprobBackward, linearLogprobBackwardAsync } from "./backward";
export type { LinearLogprobBackwardOptions, LinearLogprobGradients, LinearPart } from "./backward";
export type { HeadDType, HeadTensor, HeadView, LinearHeadOptions } from "./head";
