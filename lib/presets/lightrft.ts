// LightRFT. Group advantages: group_norm of its simple maker; the calculator has epsilon 1e-9, rloo
// { center: "leaveOneOut", scale: "none" }, reinforce_baseline { scale: "none" }. A group of one is NaN upstream, 0 here.
import type { Preset } from "./preset";

export const lightrft = {
  groupAdvantage: { center: "mean", scale: "std", ddof: 1, epsilon: 1e-8, varianceFloor: 0, singleton: "zero" },
} as const satisfies Preset;
