// EGPO, first revision (f296a28), as it runs: one pair of bounds for all rows, an empty segment counts as entropy 0, a NaN spreads, tags
// under the mask count.
const grpoAdvantage = {
  center: "mean",
  scale: "std",
  ddof: 1,
  epsilon: 1e-6,
  varianceFloor: 0,
  singleton: "raw",
  nan: "propagate",
} as const;

export const egpoFirst = {
  grpoAdvantage,
  answerThinkingMask: { maskedTags: "read" },
  egpoAdvantage: {
    maskedTags: "read",
    grpoAdvantage,
    scoreOver: "all",
    lambdaMin: 0.5,
    lambdaMax: 2,
    epsilon: 1e-6,
    emptyRows: "zero",
    nonFinite: "propagate",
    singletonWeight: "own",
    zeroEntropy: "formula",
    negativeWeightMode: "original",
    metricsDdof: 1,
  },
  hybridReward: { answers: ["marker", "box"], normalize: false, contained: ["answer", "text"], code: "def" },
  placeRewards: { column: "attention" },
} as const;
