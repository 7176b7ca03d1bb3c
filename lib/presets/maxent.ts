// MaxEnt-GRPO of April 2026 (4f57dd45). The unscaled form of its group advantages has { scale: "none" }.
export const maxent = {
  grpoAdvantage: {
    center: "mean",
    scale: "std",
    ddof: 1,
    epsilon: 1e-4,
    varianceFloor: 0,
    singleton: "zero",
    nan: "propagate",
  },
  rewardTotals: { rounding: "float32" },
  splitReferenceLogProbs: { surplus: "ignore" },
  splitReferenceTokenCounts: { surplus: "ignore" },
  listwiseWeights: { unpaired: "empty" },
  semanticEntropyScales: { missingCounts: "sum" },
  rewardStatistics: { rounding: "float32", missingCounts: "sum" },
  updateMaxentMeta: { unknownMethod: "ignore" },
  saveControllers: { layout: "coefficients", unsetAverage: "tau", negative: "keep" },
  loadControllers: { unsetAverage: "tau" },
} as const;
