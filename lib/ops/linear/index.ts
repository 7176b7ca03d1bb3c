export { linearLogprob } from "./forward";
export type { LinearLogprobOptions, LinearLogprobResult, LinearLogprobState } from "./forward";
export { linearLogprobBackward } from "./backward";
export type { LinearLogprobBackwardOptions, LinearLogprobGradients, LinearPart } from "./backward";
export type { HeadDType, HeadTensor, HeadView, LinearHeadOptions } from "./head";
