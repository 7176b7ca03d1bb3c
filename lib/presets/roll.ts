// ROLL of August 2026 (8eb27cc2).
const policy = { aggregation: "rowMean", emptyRows: "count", klClamps: { k3: { valueClamp: 10 } } } as const;

export const roll = {
  ppoLoss: policy,
  gspoLoss: policy,
  cispoLoss: { ...policy, clipLow: 0.1 },
  klPenalty: { klClamps: policy.klClamps },
} as const;
