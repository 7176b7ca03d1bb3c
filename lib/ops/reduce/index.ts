// Statistics of masked numbers and what is done with them. docs/ops/reduce.md has the formulas side by side.
export type { ReduceScope } from "../../backend/contract/reduce";
export type { WhitenCenter, WhitenScale } from "./whiten";
export { affine } from "./affine";
export type { AffineOptions } from "./affine";
export { DeviceMoments, mergeMoments, Moments, moments } from "./moments";
export type { MergeMomentsOptions, MomentsOptions, ReduceLayout } from "./moments";
export { whiten, whitenAsync } from "./whiten";
export type { DeviceWhitenOptions, WhitenConventions, WhitenOptions } from "./whiten";
export { clamp } from "./clamp";
export type { ClampOptions, ClampResult, DeviceClampResult } from "./clamp";
export { gammaWeights } from "./gamma-weights";
export type { GammaShape, GammaWeightsOptions, GammaWeightsResult } from "./gamma-weights";
export { endValues } from "./end-values";
export type { EndValuesOptions } from "./end-values";
export { countKept } from "./count-kept";
export type { CountKeptOptions } from "./count-kept";
