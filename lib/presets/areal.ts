// AReaL of August 2026 (cbff54d6): the old policy is the proximal one; losses divide by the live tokens before any rejection.
const ten = { valueClamp: 10 } as const;

export const areal = {
  ppoLoss: { aggregation: "tokenMean" },
  gspoLoss: { aggregation: "tokenMean" },
  cispoLoss: { aggregation: "tokenMean" },
  sapoLoss: { aggregation: "tokenMean", temperaturePositive: 1, temperatureNegative: 1.05 },
  klPenalty: { klClamps: { k1: ten, k2: ten, k3: ten } },
  valueLoss: { aggregation: "tokenMean" },
} as const;
