// EGPO, first revision (f296a28), as it runs: one pair of bounds for all rows, an empty segment counts as entropy 0, a NaN spreads, tags
// under the mask count.
import { egpo } from "./egpo";

export const egpoFirst = {
  grpoAdvantage: egpo.grpoAdvantage,
  answerThinkingMask: egpo.answerThinkingMask,
  egpoAdvantage: {
    ...egpo.egpoAdvantage,
    emptyRows: "zero",
    nonFinite: "propagate",
    negativeWeightMode: "original",
    metricsDdof: 1,
  },
  hybridReward: { answers: ["marker", "box"], normalize: false, contained: ["answer", "text"], code: "def" },
  placeRewards: { column: "attention" },
} as const;
