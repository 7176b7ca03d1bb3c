// Statistics per group of items, and rows spread over their tokens. docs/ops/group.md has the formulas side by side.
export type { GroupCenter, GroupScale, GroupSingleton, NanPolicy } from "../../backend/contract/group";
export type { GroupLabels, GroupLayout } from "../../core/groups";
export { groupBroadcast } from "./broadcast";
export type { GroupBroadcastOptions } from "./broadcast";
export { groupNormalize } from "./normalize";
export type { GroupConventions, GroupNormalizeOptions, GroupNormalizeResult } from "./normalize";
export { groupPlace } from "./place";
export type { GroupPlaceOptions, GroupPlaceTerms } from "./place";
export { groupLogSumExp, groupSoftmax } from "./softmax";
export type { GroupLogSumExpOptions, GroupLogSumExpResult, GroupSoftmaxOptions } from "./softmax";
export { groupColumns } from "./columns";
export type { GroupColumnsOptions, GroupColumnsResult } from "./columns";
export { groupWeigh } from "./weigh";
export type { GroupWeighOptions, WeighForm } from "./weigh";
export { groupTop2 } from "./top2";
export type { GroupTop2Options, GroupTop2Result } from "./top2";
