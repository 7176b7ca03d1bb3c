// verl of 2026-08 (1dda039b). Group advantages: GRPO. Dr. GRPO is the same with { scale: "none" }; the vectorised forms have
// varianceFloor = epsilon (GRPO) and singleton "zero" (RLOO). A row alone in its group keeps its score almost everywhere.
const policy = {
  aggregation: "verl/token-mean",
  metricNames: "verl",
  klClamps: { k3: { logClamp: 20, valueClamp: 10 } },
} as const;
const rollout = { emptyRows: "count", epsilon: 1e-8, logClamp: 20 } as const;

/** What was so in January 2026, too, but for how losses are added up. */
export const verlBase = {
  grpoAdvantage: {
    center: "mean",
    scale: "std",
    ddof: 1,
    epsilon: 1e-6,
    varianceFloor: 0,
    singleton: "raw",
    nan: "propagate",
  },
  gaeAdvantage: { maskMode: "skip", transformMasked: true, whitening: { ddof: 1, varianceEpsilon: 1e-8 } },
  reinforcePlusPlusAdvantage: { maskMode: "skip", whitening: { ddof: 1, varianceEpsilon: 1e-8 } },
  reinforcePlusPlusBaselineAdvantage: { singleton: "raw", whitening: { ddof: 1, varianceEpsilon: 1e-8 } },
  rlooAdvantage: { singleton: "raw" },
  opoAdvantage: { singleton: "raw" },
  gpgAdvantage: { singleton: "raw" },
  passAtKAdvantage: { scale: "std", epsilon: 1e-6 },
  optimalTokenBaselineAdvantage: { epsilon: 1e-8 },
  klShapedReward: { over: "all", negativeCoefficient: "keep" },
  overlongPenalty: { beyond: "grow" },
  ppoLoss: { ...policy, dualClip: 3, logClamp: 20 },
  // The ratio of a row is exp(min(mean, 10)); one mean a row, whatever the trainer's aggregation.
  gspoTokenLoss: { ...policy, aggregation: "verl/seq-mean-token-mean", maxLogRatio: 10 },
  gmpoLoss: { ...policy, countEpsilon: 1e-8, emptyRows: "count" },
  cispoLoss: { ...policy, logClamp: 20 },
  sapoLoss: { ...policy, aggregation: "verl/seq-mean-token-mean", logClamp: 20 },
  reinforceLoss: policy,
  clipCovLoss: policy,
  klCovLoss: policy,
  klPenalty: { klClamps: policy.klClamps },
  valueLoss: { aggregation: "verl/token-mean" },
  rolloutWeights: rollout,
  rolloutRejectionMask: rollout,
  mismatchMetrics: rollout,
  rolloutCorrection: rollout,
  whitenAdvantages: { ddof: 1, varianceEpsilon: 1e-8, countEpsilon: 1e-8, transformMasked: true },
  bypassLoss: { ...policy, dualClip: 3, logClamp: 20, correctionConventions: rollout },
} as const;

export const verl = {
  ...verlBase,
  dppoLoss: { ...policy, ratioCap: 3, logClamp: 20, sides: "advantageOrLow" },
  droLoss: policy,
} as const;
