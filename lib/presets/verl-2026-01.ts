// verl of 2026-01 (b178a3cd), where it differs from verl as it is now.
import { verlBase } from "./verl";

const policy = { aggregation: "verl-2026-01/token-mean" } as const;
const figures = { figures: "raw" } as const;
const rowMeans = { aggregation: "verl-2026-01/seq-mean-token-mean" } as const;

export const verlJanuary = {
  ...verlBase,
  ppoLoss: { ...verlBase.ppoLoss, ...policy },
  gspoTokenLoss: { ...verlBase.gspoTokenLoss, ...rowMeans },
  gmpoLoss: { ...verlBase.gmpoLoss, ...policy },
  cispoLoss: { ...verlBase.cispoLoss, ...policy },
  sapoLoss: { ...verlBase.sapoLoss, ...rowMeans },
  reinforceLoss: { ...verlBase.reinforceLoss, ...policy },
  clipCovLoss: { ...verlBase.clipCovLoss, ...policy },
  klCovLoss: { ...verlBase.klCovLoss, ...policy },
  valueLoss: policy,
  bypassLoss: {
    ...verlBase.bypassLoss,
    ...policy,
    correctionConventions: { ...verlBase.bypassLoss.correctionConventions, ...figures },
  },
  rolloutWeights: { ...verlBase.rolloutWeights, ...figures },
  rolloutCorrection: { ...verlBase.rolloutCorrection, ...figures },
  reinforcePlusPlusAdvantage: { ...verlBase.reinforcePlusPlusAdvantage, maskMode: "cut", transformMasked: true },
} as const;
