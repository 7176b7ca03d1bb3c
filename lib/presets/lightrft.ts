// LightRFT of March 2026 (49e62cb). Group advantages: group_norm of its simple maker; the calculator has epsilon 1e-9, rloo
// { center: "leaveOneOut", scale: "none" }, reinforce_baseline { scale: "none" }. A group of one is NaN upstream, 0 here.
const estimate = {
  maskMode: "steps",
  transformMasked: true,
  undiscounted: ["reinforcePlusPlusBaseline"],
  neverWhitened: ["grpo"],
  whitenEpsilon: 1e-8,
  clipFractionOver: "all",
} as const;

export const lightrft = {
  grpoAdvantage: { center: "mean", scale: "std", ddof: 1, epsilon: 1e-8, varianceFloor: 0, singleton: "zero" },
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
  overlongPenalty: { beyond: "grow" },
  highEntropyMask: { rule: "top", over: "row", least: 1, outOfRange: "keepAll" },
  ppoLoss: { aggregation: "lightrft/policy" },
  cpgdLoss: { aggregation: "lightrft/policy" },
  klPenalty: {},
  valueLoss: { aggregation: "lightrft/policy" },
  whitenAdvantages: { ddof: 0, varianceFloor: 1e-8, transformMasked: true },
} as const;
