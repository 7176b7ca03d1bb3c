// TRL of July 2026 (f2cd5771). Group advantages: GRPO with scale_rewards "group"; { scale: "none" } is its unscaled form, and RLOO has
// { center: "leaveOneOut", scale: "none" }. A reward function that abstains gives NaN.
// loss_type "dapo" is the default of its GRPO trainer; the others are an option, aggregation "trl/…".
// Of TRL 1.13. Its KL term is importance-corrected, but in GMPO and GSPO-token; its entropy bonus is the plain mean in every loss type.
const plain = { metricNames: "trl", aggregation: "trl/dapo", entropyAggregation: "trl/bnpo" } as const;
const policy = { ...plain, klImportanceCorrected: true } as const;

export const trl = {
  grpoAdvantage: {
    center: "mean",
    scale: "std",
    ddof: 1,
    epsilon: 1e-4,
    varianceFloor: 0,
    singleton: "zero",
    nan: "abstain",
  },
  multiRewardAdvantage: { aggregation: "sumThenNormalize", scale: "group", epsilon: 1e-4 },
  rlooWithKlAdvantage: { normalize: false, epsilon: 1e-4 },
  ppoAdvantage: { scoreAt: "after", maskMode: "steps", varianceEpsilon: 1e-8 },
  miniLlmAdvantage: { maskMode: "steps", maskedWeight: 1e-4 },
  overlongPenalty: { beyond: "cap" },
  highEntropyMask: { rule: "quantile", over: "all", outOfRange: "refuse" },
  ppoLoss: policy,
  gspoLoss: policy,
  gspoTokenLoss: plain,
  gmpoLoss: { ...plain, aggregation: "trl/grpo", emptyRows: "count" },
  cispoLoss: { ...policy, aggregation: "trl/cispo" },
  sapoLoss: { ...policy, aggregation: "trl/sapo" },
  vespoLoss: { ...policy, aggregation: "trl/vespo", rolloutWeightsOver: "all" },
  luspoLoss: { ...policy, aggregation: "trl/luspo", emptyRows: "count" },
  rlooLoss: { ...plain, aggregation: "trl/grpo", emptyRows: "count" },
  whitenAdvantages: { ddof: 1, varianceEpsilon: 1e-8, transformMasked: true },
} as const;
