// The limits above which a number gets a warning. They are conventions; each is an option.

export interface WarningLimits {
  /** Share of groups with equal rewards. Default 0.2; from 0.8 on it is serious. */
  readonly equalRewards?: number;
  /** |r| of length and reward. Default 0.5, from eight rollouts on. */
  readonly lengthRewardCorrelation?: number;
  /** Mean entropy, nats: below it the policy hardly explores. Default 0.05. */
  readonly entropy?: number;
  /** Mean entropy as a share of the first step's. Default 0.2. */
  readonly entropyShare?: number;
  /** Mean |log p_sampler − log p_trainer|, nats. Default 0.05. */
  readonly samplerGap?: number;
  /** Share of rollouts that were cut. Default 0.2. */
  readonly truncated?: number;
  /** Share of kept tokens that were clipped. Default 0.3. */
  readonly clipped?: number;
}

export const DEFAULT_LIMITS: Required<WarningLimits> = {
  equalRewards: 0.2,
  lengthRewardCorrelation: 0.5,
  entropy: 0.05,
  entropyShare: 0.2,
  samplerGap: 0.05,
  truncated: 0.2,
  clipped: 0.3,
};

/** From this share of groups with equal rewards on, little is left to learn from. */
export const SERIOUS_EQUAL_REWARDS = 0.8;

/** Fewer rollouts say nothing about a correlation. */
export const LEAST_FOR_CORRELATION = 8;
