// Maximum-entropy weights of the completions of a prompt, as advantages (MaxEnt-GRPO).
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { floatDType } from "../core/float-arrays";
import { optionError } from "../core/errors";
import { needGroups } from "../core/groups";
import { needFlag, needNumber } from "../core/option-checks";
import { moments } from "../ops/reduce";
import { listwiseWeights } from "./maxent/listwise-weights";
import { rewardDistribution } from "./maxent/reward-distribution";
import { type MaxentTemperatureMode, maxentTemperature } from "./maxent/temperature";
import { weightLoggingView } from "./maxent/weight-logging-view";
import { weightStatistics, type WeightStatistics } from "./maxent/weight-statistics";
import { type OutcomeOptions, needScores } from "./outcome";
import { type RewardedBatch, type RowAdvantages, spreadRows } from "./rewarded-batch";
import { rowSums } from "./row-sums";

/** Rollouts with rewards; where beta is above 0 with the log-probs of the reference policy. */
export interface MaxentBatch extends RewardedBatch {
  /** Of the sampled tokens under the reference policy, nats; [n]. Needed where beta is above 0, else not read. */
  readonly referenceLogProbs?: FloatArray;
}

/** Numbers of `maxentSettings`, by the same names. */
export interface MaxentAdvantageOptions extends OutcomeOptions {
  /** Entropy coefficient, >= 0: large, and the weights are even. Default 1. */
  readonly tau?: number;
  /** Reference coefficient, >= 0. Default 0: no reference. */
  readonly beta?: number;
  /** How κ follows from tau and beta. Default `"tau+beta"`. */
  readonly mode?: MaxentTemperatureMode;
  /** κ itself, in place of the rule. >= 0. Default: by `mode`. */
  readonly temperature?: number;
  /** Of `rewardDistribution`. Default: temperature 1, floor 1e-6. */
  readonly distribution?: { readonly temperature?: number; readonly floor?: number };
  /** Mean log-probs of the reference per token; false: summed ones, which favour short responses. Default true. */
  readonly lengthNormalize?: boolean;
  /** Equal weights, so advantages 0, where a prompt has nothing to weigh by: a NaN in it. Default false: NaN. */
  readonly uniformFallback?: boolean;
}

export type MaxentMetrics = Readonly<Record<`maxent/${string}` | "controller_tau" | "controller_beta", number>>;

export interface MaxentAdvantageResult extends RowAdvantages {
  /** w, one per row; they sum to 1 in each group. For `listwisePolicyLoss`. */
  readonly weights: Float64Array;
  /** q, one per row. */
  readonly distribution: Float64Array;
  /** Scalars for logging, over the prompts of all workers; docs/advantage/maxent.md lists them. */
  readonly metrics: MaxentMetrics;
}

function metricsOf(
  statistics: WeightStatistics | null,
  { tau, beta, temperature }: Readonly<Record<"tau" | "beta" | "temperature", number>>,
  options: BackendOption & CollectiveOption,
): MaxentMetrics {
  const view = weightLoggingView(statistics ?? [], statistics ? options : { backend: options.backend });
  return {
    controller_tau: tau,
    controller_beta: beta,
    "maxent/temperature": temperature,
    "maxent/weight_entropy/mean": view.entropy,
    "maxent/weight_entropy/min": view.entropyMin,
    "maxent/weight_entropy/max": view.entropyMax,
    "maxent/weight_entropy/norm": view.entropyNorm,
    "maxent/advantage/mean": view.deviationMean,
    "maxent/advantage/std": view.deviationStd,
  };
}

/**
 * MaxEnt-GRPO: the weight that a response has among those to its prompt, in closed form, less the even one.
 *
 *     q = rewardDistribution(r),   w_i ∝ q_i^(1/κ) · π_ref,i^(beta/κ),   κ = tau + beta
 *     a_i = w_i − 1/n,   n responses to the prompt
 *
 * w maximises <w, ln q> + tau·H(w) − beta·KL(w ‖ π_ref): tau keeps the weights even, beta draws them to the reference policy. Equal
 * rewards without a reference give exact zeros, and so does a prompt with one response. Weights are constants for the gradient.
 *
 * @param batch rewards per row or per token, and groups (`"all"`: one)
 * @param options tau and beta in force, as the controllers (`updateMaxentTau`, `updateMaxentBeta`) have them
 * @returns per token in the type of the rewards, per row in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see maxent-grpo, its listwise weights
 */
export function maxentAdvantage(batch: MaxentBatch, options: MaxentAdvantageOptions = {}): MaxentAdvantageResult {
  const op = "maxentAdvantage";
  const { mode, distribution: { temperature: rewardTemperature, floor } = {} } = options;
  const tau = needNumber(op, "tau", options.tau ?? 1, { min: 0 });
  const beta = needNumber(op, "beta", options.beta ?? 0, { min: 0 });
  const rule = maxentTemperature(tau, beta, mode);
  const temperature = needNumber(op, "temperature", options.temperature ?? rule, { min: 0 });
  const perToken = needFlag(op, "lengthNormalize", options.lengthNormalize ?? true) === 1;
  const scored = needScores(op, batch, options);
  const { rows, layout, mask, grouping } = scored.batch;
  needGroups(op, grouping, rows.B);
  const together = { ...grouping, backend: options.backend, collective: options.collective };

  const referenceOf = (): Float64Array => {
    if (batch.referenceLogProbs === undefined)
      throw optionError(op, "referenceLogProbs", undefined, "one log-prob per token; or beta 0");
    const logProbs = needFloats(op, "referenceLogProbs", batch.referenceLogProbs, rows.n, rows.meaning);
    if (!perToken) return rowSums(op, logProbs, rows, mask, options.backend);
    const where = { ...layout, mask: mask ?? undefined, backend: options.backend };
    return moments(logProbs, { ...where, over: "row" }).means;
  };
  const q = rewardDistribution(scored.scores, { ...together, temperature: rewardTemperature, floor });
  const weights = listwiseWeights(q, {
    ...together,
    temperature,
    beta,
    referenceLogProbs: beta > 0 ? referenceOf() : undefined,
    uniformFallback: options.uniformFallback,
  });
  const statistics = weightStatistics(weights, together);
  const rowAdvantages = statistics?.deviations ?? new Float64Array(rows.B);
  const dtype = floatDType(scored.batch.rewards);
  return {
    advantages: spreadRows(op, { layout, mask }, rowAdvantages, dtype, { backend: options.backend }),
    rowAdvantages,
    weights: weights as Float64Array,
    distribution: q as Float64Array,
    metrics: metricsOf(statistics, { tau, beta, temperature }, options),
  };
}
