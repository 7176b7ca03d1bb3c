// GSPO, as a problem statement with worked examples: population std and no epsilon.
import type { Preset } from "./preset";

export const gspo = {
  groupAdvantage: { center: "mean", scale: "std", ddof: 0, epsilon: 0, varianceFloor: 0, singleton: "zero", nan: "propagate" },
} as const satisfies Preset;
