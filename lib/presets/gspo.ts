// GSPO, as a problem statement with worked examples: population std and no epsilon.
export const gspo = {
  grpoAdvantage: {
    center: "mean",
    scale: "std",
    ddof: 0,
    epsilon: 0,
    varianceFloor: 0,
    singleton: "zero",
    nan: "propagate",
  },
} as const;
