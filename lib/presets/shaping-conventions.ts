// The choices in which systems differ when they shape rewards: what a preset can hold for klShapedReward and overlongPenalty.

/** How a KL penalty enters the reward. */
export interface KlShapedRewardConventions {
  /**
   * Which tokens get `-klCoefficient·kl`: the `"kept"` ones (the others are 0, and their KL is not read), or `"all"` of them.
   * Default `"kept"`.
   */
  readonly over?: "kept" | "all";
  /** What a coefficient below 0 means: no penalty, or a bonus of that size. Default `"zero"`. */
  readonly negativeCoefficient?: "zero" | "keep";
}

/** How an overlong response is punished. */
export interface OverlongConventions {
  /** Beyond the maximal length the penalty stays at `"cap"`, −factor, or continues to `"grow"` by the same slope. Default `"cap"`. */
  readonly beyond?: "cap" | "grow";
}
