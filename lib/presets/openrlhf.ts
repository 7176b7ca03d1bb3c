// OpenRLHF of August 2026 (3c3be623). Group advantages: group_norm. rloo has { center: "leaveOneOut", scale: "none" }, reinforce_baseline and
// dr_grpo { scale: "none" }.
const estimate = {
  maskMode: "steps",
  transformMasked: true,
  undiscounted: ["rloo", "reinforcePlusPlusBaseline", "grpo"],
  neverWhitened: [],
  clipFractionOver: "all",
} as const;

const policy = {
  metricNames: "openrlhf",
  klClamps: { k1: { valueClamp: 10 }, k2: { valueClamp: 10 }, k3: { valueClamp: 10 } },
} as const;

export const openrlhf = {
  grpoAdvantage: { center: "mean", scale: "std", ddof: 1, epsilon: 1e-9, varianceFloor: 0 },
  shapeGroupRewards: { epsilon: 1e-9, dropGroups: "zeroOrOne" },
  estimateAdvantages: estimate,
  advantagePipeline: {
    ...estimate,
    epsilon: 1e-9,
    normalized: ["gae", "reinforcePlusPlus", "reinforcePlusPlusBaseline"],
    scale: "std",
    varianceFloor: 1e-8,
  },
  klShapedReward: { over: "all", negativeCoefficient: "zero" },
  overlongPenalty: { beyond: "cap" },
  ppoLoss: { ...policy, aggregation: "openrlhf/token", logClamp: 20 },
  gspoLoss: { ...policy, aggregation: "openrlhf/sample" },
  klPenalty: { klClamps: policy.klClamps },
  valueLoss: { aggregation: "openrlhf/token" },
  whitenAdvantages: { ddof: 0, varianceFloor: 1e-8, transformMasked: true },
} as const;
