// How frameworks name their ways to form and bound a ratio of the trainer's and the sampler's probabilities. Data only.
/** By framework and the name there. */
export const IMPORTANCE_RATIOS = {
  "trl/token_truncate": { level: "token", outside: "clamp", high: 3, maskedRatio: 1, unknownSampler: "one" },
  "trl/token_mask": { level: "token", outside: "zero", high: 3, maskedRatio: 1, unknownSampler: "one" },
  "trl/sequence_truncate": { level: "sequence", outside: "clamp", high: 3, unknownSampler: "one" },
  "trl/sequence_mask": { level: "sequence", outside: "zero", high: 3, unknownSampler: "one" },
  "openrlhf/tis": { level: "token", outside: "clamp" },
  "openrlhf/icepop": { level: "token", outside: "zero" },
  "openrlhf/seq-mask-tis": { level: "token", outside: "zero", boundsOf: "rowMean" },
} as const;

/** "framework/mode". */
export type ImportanceRatioName = keyof typeof IMPORTANCE_RATIOS;
