// OpenRLHF. Group advantages: group_norm. rloo has { center: "leaveOneOut", scale: "none" }, reinforce_baseline and
// dr_grpo { scale: "none" }.
import type { Preset } from "./preset";

export const openrlhf = {
  groupAdvantage: { center: "mean", scale: "std", ddof: 1, epsilon: 1e-9, varianceFloor: 0 },
} as const satisfies Preset;
