// verl. Group advantages: GRPO. Dr. GRPO is the same with { scale: "none" }; the vectorised forms have
// varianceFloor = epsilon (GRPO) and singleton "zero" (RLOO). A row alone in its group keeps its score almost everywhere.
import type { Preset } from "./preset";

export const verl = {
  groupAdvantage: { center: "mean", scale: "std", ddof: 1, epsilon: 1e-6, varianceFloor: 0, singleton: "raw", nan: "propagate" },
  gaeAdvantage: { maskMode: "skip", whitening: { ddof: 1, varianceEpsilon: 1e-8 } },
  reinforcePlusPlusAdvantage: { maskMode: "cut", whitening: { ddof: 1, varianceEpsilon: 1e-8 } },
  reinforcePlusPlusBaselineAdvantage: { singleton: "raw", whitening: { ddof: 1, varianceEpsilon: 1e-8 } },
  leaveOneOutAdvantage: { singleton: "raw" },
  opoAdvantage: { singleton: "raw" },
  gpgAdvantage: { singleton: "raw" },
  passAtKAdvantage: { scale: "std", epsilon: 1e-6 },
  optimalTokenBaselineAdvantage: { epsilon: 1e-8 },
  klShapedReward: { over: "all", negativeCoefficient: "keep" },
  overlongPenalty: { beyond: "grow" },
} as const satisfies Preset;
