// SkyRL of August 2026 (a9564572). Every loss is a plain sum: the reduction is applied to the advantages beforehand.
const policy = {
  aggregation: "tokenSum",
  metricNames: "skyrl",
  klClamps: { k3: { logClamp: 20, valueClamp: 10 } },
} as const;

export const skyrl = {
  ppoLoss: { ...policy, logClamp: 20 },
  gspoTokenLoss: { ...policy, maxLogRatio: 10 },
  sapoLoss: { ...policy, logClamp: 20, temperaturePositive: 1, temperatureNegative: 1.05 },
  cispoLoss: { ...policy, clipLow: 1, logClamp: 20 },
  clipCovLoss: policy,
  klCovLoss: { ...policy, share: 0.2 },
  dppoLoss: { ...policy, surrogate: "ratio", logClamp: 20 },
  klPenalty: { klClamps: policy.klClamps },
  valueLoss: { aggregation: "rowMean", emptyRows: "count" },
} as const;
