// EGPO, later revision (4656be8), and the EDGE-GRPO variant that came with it, as they run: groups of one keep their raw reward and
// are compared with themselves, a NaN takes its whole group out, tags under the mask count.
const grpoAdvantage = {
  center: "mean",
  scale: "std",
  ddof: 1,
  epsilon: 1e-6,
  varianceFloor: 0,
  singleton: "raw",
  nan: "propagate",
} as const;

export const egpo = {
  grpoAdvantage,
  answerThinkingMask: { maskedTags: "read" },
  egpoAdvantage: {
    maskedTags: "read",
    grpoAdvantage,
    scoreOver: "all",
    lambdaMin: 0.5,
    lambdaMax: 2,
    epsilon: 1e-6,
    emptyRows: "exclude",
    nonFinite: "group",
    singletonWeight: "own",
    zeroEntropy: "formula",
    negativeWeightMode: "clamp",
    metricsDdof: 0,
  },
  edgeGrpoAdvantage: {
    grpoAdvantage: { ...grpoAdvantage, varianceFloor: 1e-6 },
    scoreOver: "all",
    lambdaMin: 0.5,
    lambdaMax: 2,
    epsilon: 1e-6,
    emptyRows: "zero",
    nonFinite: "propagate",
    singletonWeight: "standard",
    zeroEntropy: "formula",
    weightMode: "ratio",
    beta: 1,
    zClip: 3,
    varianceFloor: 1e-6,
  },
  hybridReward: { answers: ["box", "marker"], normalize: true, contained: ["answer", "truth"], code: "syntax" },
  placeRewards: { column: "unpadded" },
} as const;
