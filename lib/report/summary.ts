// What `summarize` answers: plain data, the same for the page, the terminal and `--json`. Units: entropies, log-probs and
// divergences in nats; lengths in tokens; shares from 0 to 1; rewards and advantages in their own.

/** The finite values of a sample. */
export interface Distribution {
  readonly count: number;
  readonly mean: number;
  /** ddof 1; 0 for one value. */
  readonly std: number;
  readonly min: number;
  readonly max: number;
  /** Quantiles 0.05, 0.5, 0.95, linear between order statistics. */
  readonly p5: number;
  readonly median: number;
  readonly p95: number;
  readonly histogram: Histogram;
}

/** counts[i] values lie in [edges[i], edges[i + 1]), the last bin includes its end. Edges are the same for every step of a report. */
export interface Histogram {
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

export const MEASURES = ["reward", "length", "entropy", "advantage", "ratio"] as const;
/** What has a distribution: reward and length of rollouts; entropy, advantage and ratio of tokens. */
export type Measure = (typeof MEASURES)[number];

export interface GroupSummary {
  /** The label of the rollouts. */
  readonly group: string;
  /** What it is called: the first words of its prompt, from where the prompts of the step differ; its label without a prompt. */
  readonly name: string;
  /** Indices into the rollouts of the step. */
  readonly rollouts: readonly number[];
  readonly rewardMean: number | null;
  /** ddof 1; 0 for a group of one. */
  readonly rewardStd: number | null;
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  /** Two rewards or more, all the same: advantages relative to the group are 0. */
  readonly equalRewards: boolean;
  readonly lengthMean: number | null;
  readonly entropyMean: number | null;
  /** Share of rollouts that were cut. null: no rollout says how it ended. */
  readonly truncated: number | null;
  /** Share of kept tokens that were clipped. */
  readonly clipped: number | null;
}

/** The sampler's log-probs against the trainer's, over kept tokens that have both. */
export interface SamplerGap {
  readonly tokens: number;
  /** Mean of log p_sampler − log p_trainer: an estimate of KL(sampler ‖ trainer), nats. */
  readonly kl: number;
  readonly meanAbsolute: number;
  readonly maxAbsolute: number;
}

/** Who computed log-probs: fields `samplerLogProbs`, `recomputedLogProbs`, `oldLogProbs`, `referenceLogProbs`. */
export type LogProbSource = "sampler" | "recomputed" | "old" | "reference";

/** Log-probs of kept tokens. */
export interface LogProbSummary {
  readonly tokens: number;
  /** −mean over finite log-probs, nats a token; null where none is finite. */
  readonly nll: number | null;
  /** The smallest finite one. */
  readonly least: number | null;
  /** NaN and ±∞. */
  readonly nonFinite: number;
  /** Above 1e-6, as no log-prob is. */
  readonly positive: number;
}

/** One reward function over the rollouts on which it did not abstain. */
export interface RewardFunction {
  readonly count: number;
  readonly mean: number;
  /** ddof 1; 0 for one value. */
  readonly std: number;
  readonly min: number;
  readonly max: number;
}

export const WARNING_CODES = [
  "equal-rewards",
  "single-rollout-groups",
  "length-reward-correlation",
  "entropy-collapse",
  "sampler-gap",
  "truncated",
  "clipped",
  "non-finite",
  "positive-log-probs",
] as const;
export type WarningCode = (typeof WARNING_CODES)[number];

export interface Warning {
  readonly code: WarningCode;
  /** "serious": the step teaches nothing or its numbers are wrong. */
  readonly severity: "serious" | "notable";
  /** A sentence: "37 % of groups have equal rewards: no gradient". */
  readonly message: string;
  /** What was measured, and the limit that it passed. */
  readonly value: number;
  readonly limit: number;
}

export interface StepSummary {
  readonly label: string;
  /** Training step, or the place in the report. */
  readonly step: number;
  readonly rollouts: number;
  readonly tokens: number;
  /** Tokens that the mask keeps. */
  readonly keptTokens: number;
  readonly spans: number;
  /** null: there is no finite number of the kind. */
  readonly distributions: Readonly<Record<Measure, Distribution | null>>;
  /** Values of each kind that are NaN or infinite. They enter nothing else. */
  readonly nonFinite: Readonly<Record<Measure, number>>;
  /** By first appearance. */
  readonly groups: readonly GroupSummary[];
  /** Share of the groups of two or more rollouts whose rewards are equal. null: there is none with rewards. */
  readonly equalRewardGroups: number | null;
  /** Pearson's r of length and reward over rollouts. null: fewer than three, or one of them constant. */
  readonly lengthRewardCorrelation: number | null;
  readonly truncated: number | null;
  readonly clipped: number | null;
  readonly samplerGap: SamplerGap | null;
  /** By who computed them; a source that no rollout has is absent. */
  readonly logProbs: Readonly<Partial<Record<LogProbSource, LogProbSummary>>>;
  /** By name; empty where rollouts have one reward only. */
  readonly rewardFunctions: Readonly<Record<string, RewardFunction>>;
  /** Mean of log p_trainer − log p_reference over kept tokens, nats. */
  readonly referenceKl: number | null;
  /** k → pass@k, the mean over groups of k rollouts or more; for k = 1, 2, 4, … Empty where no rollout has a reward. */
  readonly passAtK: Readonly<Record<string, number>>;
  /** Mean over spans of the factor that entropy modulation gave them. null: there is none. */
  readonly spanScale: number | null;
  readonly warnings: readonly Warning[];
}

export interface Summary {
  readonly steps: readonly StepSummary[];
}
