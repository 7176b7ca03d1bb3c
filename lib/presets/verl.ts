// verl. Group advantages: GRPO. Its RLOO is the same with { center: "leaveOneOut", scale: "none" }, Dr. GRPO with
// { scale: "none" }; its vectorised forms have varianceFloor = epsilon (GRPO) and singleton "zero" (RLOO).
import type { Preset } from "./preset";

export const verl = {
  groupAdvantage: { center: "mean", scale: "std", ddof: 1, epsilon: 1e-6, varianceFloor: 0, singleton: "raw", nan: "propagate" },
} as const satisfies Preset;
