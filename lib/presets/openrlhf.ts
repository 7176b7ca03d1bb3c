// OpenRLHF. Group advantages: group_norm. rloo has { center: "leaveOneOut", scale: "none" }, reinforce_baseline and
// dr_grpo { scale: "none" }.
import type { Preset } from "./preset";

const estimate = {
  maskMode: "steps",
  undiscounted: ["rloo", "reinforceBaseline", "groupNorm", "drGrpo"],
  neverWhitened: [],
  clipFractionOver: "all",
} as const;

export const openrlhf = {
  groupAdvantage: { center: "mean", scale: "std", ddof: 1, epsilon: 1e-9, varianceFloor: 0 },
  shapeGroupRewards: { epsilon: 1e-9, dropGroups: "zeroOrOne" },
  estimateAdvantages: estimate,
  advantagePipeline: {
    ...estimate,
    epsilon: 1e-9,
    normalized: ["gae", "reinforce", "reinforceBaseline"],
    scale: "std",
    varianceFloor: 1e-8,
  },
  klShapedReward: { over: "all", negativeCoefficient: "zero" },
  overlongPenalty: { beyond: "cap" },
} as const satisfies Preset;
