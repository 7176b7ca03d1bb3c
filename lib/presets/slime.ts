// slime of August 2026 (624b824a).
const policy = { aggregation: "rowMean", emptyRows: "count" } as const;

export const slime = {
  ppoLoss: policy,
  gspoLoss: policy,
  cispoLoss: policy,
  klPenalty: {},
  valueLoss: policy,
} as const;
