// Scans along token rows: GAE, discounted returns, V-trace, tail and prefix sums. docs/ops/scan.md has the formulas side by side.
export type { DeltaForm, MaskMode } from "../../backend/contract/scan";
export { discountedReturns, discountedReturnsAsync, gae, gaeAsync } from "./gae";
export type { DiscountedReturnsOptions, GaeOptions, GaeResult } from "./gae";
export type { ScanOptions } from "./reverse-scan";
export { prefixSums, scoreNorms } from "./prefix";
export type { PrefixSumsOptions, ScoreNormsOptions, ScoreNormsResult } from "./prefix";
export { shareWeights } from "./shares";
export type { ShareWeightsOptions, ShareWeightsResult } from "./shares";
export { tailSums } from "./tail";
export type { TailSumsOptions } from "./tail";
export { vtrace } from "./vtrace";
export type { VtraceOptions, VtraceResult } from "./vtrace";
