// prime-rl of August 2026 (559b4477): a loss is a sum, divided outside by the count of all workers; the old policy is the sampler.
export const primeRl = {
  dppoLoss: { aggregation: "tokenSum", surrogate: "ratio", sides: "advantageOrLow" },
} as const;
