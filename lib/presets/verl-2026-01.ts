// verl of January 2026 (b178a3cd), where it differs from verl as it is now.
import { verl } from "./verl";

const policy = { aggregation: "verl-2026-01/token-mean" } as const;
const rowMeans = { aggregation: "verl-2026-01/seq-mean-token-mean" } as const;

// dppo and dro came later.
const { dppoLoss, droLoss, ...known } = verl;

export const verlJanuary = {
  ...known,
  ppoLoss: { ...verl.ppoLoss, ...policy },
  gspoTokenLoss: { ...verl.gspoTokenLoss, ...rowMeans },
  gmpoLoss: { ...verl.gmpoLoss, ...policy },
  cispoLoss: { ...verl.cispoLoss, ...policy },
  sapoLoss: { ...verl.sapoLoss, ...rowMeans },
  reinforceLoss: { ...verl.reinforceLoss, ...policy },
  clipCovLoss: { ...verl.clipCovLoss, ...policy },
  klCovLoss: { ...verl.klCovLoss, ...policy },
  valueLoss: policy,
  bypassLoss: { ...verl.bypassLoss, ...policy },
} as const;
