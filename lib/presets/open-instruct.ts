// open-instruct of August 2026 (e6c3044a).
const policy = {
  aggregation: "tokenMean",
  klClamps: { k1: { logClamp: 40 }, k2: { logClamp: 40 }, k3: { logClamp: 40 } },
} as const;

export const openInstruct = {
  ppoLoss: policy,
  cispoLoss: policy,
  klPenalty: { klClamps: policy.klClamps },
} as const;
