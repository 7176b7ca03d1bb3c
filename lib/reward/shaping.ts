// Rewards shaped before they become advantages. docs/reward/shaping.md has the formulas.
export { klShapedReward } from "./kl-shaped-reward";
export type { KlShapedRewardConventions, KlShapedRewardOptions } from "./kl-shaped-reward";
export { lengthSharePenalty } from "./length-share-penalty";
export type { LengthShare, LengthSharePenaltyOptions } from "./length-share-penalty";
export { overlongPenalty } from "./overlong-penalty";
export type { OverlongConventions, OverlongPenaltyOptions, OverlongPenaltyResult } from "./overlong-penalty";
export { repetitionPenalty } from "./repetition-penalty";
export type { RepetitionPenaltyOptions, RepetitionPenaltyResult } from "./repetition-penalty";
export { stopProperlyPenalty } from "./stop-properly-penalty";
export type { StopProperlyPenaltyOptions, StopProperlyPenaltyResult } from "./stop-properly-penalty";
