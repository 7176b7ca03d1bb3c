// The choices in which MaxEnt-GRPO's code differs from its formulas: what a preset can hold for its rewards and weights.

export interface RewardTotalConventions {
  /** Products and partial sums are kept in float64, or rounded to float32 one by one; then totals are float32. Default `"float64"`. */
  readonly rounding?: "float64" | "float32";
}

export interface ReferenceConventions {
  /** Numbers behind those of the last group: refused, or ignored. Default `"refuse"`. */
  readonly surplus?: "refuse" | "ignore";
}

export interface ListwiseWeightConventions {
  /**
   * No targets beside log-probs, or no log-probs beside targets: refused as any other difference in length, or answered by no
   * weights. Default `"refuse"`.
   */
  readonly unpaired?: "refuse" | "empty";
}

export interface SemanticEntropyConventions {
  /**
   * Completions without a positive token count, where log-probs are to be divided by it: refused, or their summed log-prob
   * stands beside the means of the others. Default `"refuse"`.
   */
  readonly missingCounts?: "refuse" | "sum";
}

export interface RewardStatisticsConventions extends RewardTotalConventions, SemanticEntropyConventions {}
