// NeMo-RL of August 2026 (7ea279ab).
const held = { logClamp: 20, valueClamp: 10 } as const;
const policy = { aggregation: "tokenMean", klClamps: { k1: held, k2: held, k3: held } } as const;

export const nemoRl = {
  ppoLoss: policy,
  gspoLoss: policy,
  cispoLoss: policy,
  reinforceLoss: policy,
  klPenalty: { klClamps: policy.klClamps },
  valueLoss: { aggregation: "tokenMean" },
} as const;
