// MaxEnt-GRPO. Its unscaled form has { scale: "none" }.
import type { Preset } from "./preset";

export const maxent = {
  groupAdvantage: { center: "mean", scale: "std", ddof: 1, epsilon: 1e-4, varianceFloor: 0, singleton: "zero", nan: "propagate" },
} as const satisfies Preset;
