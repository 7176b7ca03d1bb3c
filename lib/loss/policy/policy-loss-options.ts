// Options that every policy loss has: aggregation, KL term, entropy bonus, and the names of its metrics.
import type { BackendOption } from "../../backend/select";
import type { KlKind } from "../../ops/loss";
import type { AggregationCounts, AggregationMode } from "../aggregation";
import type { AggregationName } from "../../presets/aggregations";

/** A penalty for leaving the reference policy: + coefficient · Σ W·v(ℓ − q), aggregated as the policy term. */
export interface KlTerm {
  /** β >= 0, in loss per nat. */
  readonly coefficient: number;
  /** Estimator of the value: `"k1"` d, `"abs"` |d|, `"k2"` d²/2, `"k3"` e^(−d) − 1 + d, with d = ℓ − q. Default `"k3"`. */
  readonly kind?: KlKind;
  /** Estimator whose derivative is the gradient (straight-through). Default: `kind`. */
  readonly gradientKind?: KlKind;
  /** d is clamped to ±logClamp, without gradient outside. Default: Infinity, off. */
  readonly logClamp?: number;
  /** The value is clamped to ±valueClamp, without gradient outside. Default: Infinity, off. */
  readonly valueClamp?: number;
  /**
   * Multiply by a ratio, which carries gradient. True: the policy ratio, unbiased for rollouts of the old policy; `"sampler"`: exp(ℓ − u),
   * for those of the sampler; `"self"`: exp(ℓ − stop-gradient(ℓ)), which is 1 and adds the score-function part to the gradient. The last
   * two clamp the value after the product. Default: `klImportanceCorrected`.
   */
  readonly importanceCorrected?: boolean | "self" | "sampler";
}

/** A reward for keeping options open: − coefficient · Σ W·H. */
export interface EntropyBonus {
  /** In loss per nat. */
  readonly coefficient: number;
  /** 1 = a token whose entropy counts. Default: all kept ones. */
  readonly mask?: Uint8Array;
  /** How the entropies are averaged. Default: `entropyAggregation`. */
  readonly aggregation?: AggregationMode | AggregationName;
}

export const METRIC_NAMES = ["verl", "trl", "trlPpo", "openrlhf", "pufferlib", "skyrl"] as const;
/** How sources call what they log: `"trlPpo"` is the PPO trainer that TRL had before 1.13, `"trl"` its others. */
export type MetricNames = (typeof METRIC_NAMES)[number];

/** Where an estimator is cut off, and has no gradient. */
export type KlClamps = Readonly<Partial<Record<KlKind, Pick<KlTerm, "logClamp" | "valueClamp">>>>;

/** The choices in which frameworks differ for every policy loss: what a preset can hold. */
export interface PolicyLossConventions {
  /** How losses of tokens become the loss of the batch. Default `"tokenMean"`. */
  readonly aggregation?: AggregationMode | AggregationName;
  /** The names (and formulas) of `metrics`. Default `"verl"`. */
  readonly metricNames?: MetricNames;
  /** Whether a KL term that does not say `importanceCorrected` is. Default false. */
  readonly klImportanceCorrected?: boolean;
  /** How an entropy bonus that does not say its `aggregation` is averaged. Default: with the weights of the policy term. */
  readonly entropyAggregation?: AggregationMode | AggregationName;
  /** Clamps of the KL term by its `kind`, where it does not say its own. Default: none. */
  readonly klClamps?: KlClamps;
}

export interface PolicyLossOptions extends PolicyLossConventions, AggregationCounts, BackendOption {
  /** Whether rows without a kept token count as rows. Default: as the aggregation says, else `"skip"`. */
  readonly emptyRows?: "skip" | "count";
  /** KL penalty; needs `referenceLogProbs`. Default: none. */
  readonly kl?: KlTerm;
  /** Entropy bonus; needs `entropies`. Default: none. */
  readonly entropyBonus?: EntropyBonus;
}
