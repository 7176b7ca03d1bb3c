// How well two sets of log-probs of the same tokens agree: those of the trainer and those of the engine that sampled.
import type { BackendOption } from "../../backend/select";
import { needFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { layoutOfRows, needRows, type RowLayout } from "../../core/row-layout";
import { measureMismatch, type MismatchStatistic } from "../../ops/correction";
import { mergeMoments } from "../../ops/reduce";
import type { MetricRecord } from "./metric-record";

export interface ProbabilityAgreementOptions extends RowLayout, BackendOption {
  /** 1 = compare this token. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface ProbabilityAgreementResult {
  /** Tokens compared. */
  readonly count: number;
  /** Of |p − q|: max, mean, std (ddof 1, NaN for one token). 0 without tokens. */
  readonly maxDifference: number;
  readonly meanDifference: number;
  readonly stdDifference: number;
  /** Pearson correlation of p and q; NaN where one of them does not vary. */
  readonly correlation: number;
  /** The same for a dashboard: `training/rollout_probs_diff_max`, … */
  readonly metrics: MetricRecord;
}

/**
 * Compares the probabilities p = exp(logProbs) and q = exp(samplerLogProbs) of the kept tokens: |p − q|, and how p and q
 * correlate. Two engines with the same weights differ in the third digit; more says that weights or kernels differ.
 *
 * @param logProbs of the trainer, nats; as `shape` or `offsets` say
 * @param samplerLogProbs of the engine that sampled, the same tokens
 * @returns numbers, in float64; |p − q| is formed from the difference of the log-probs, so that close ones do not cancel
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function probabilityAgreement(
  logProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: ProbabilityAgreementOptions,
): ProbabilityAgreementResult {
  const op = "probabilityAgreement";
  const rows = needRows(op, options);
  const { n, meaning } = rows;
  const trainer = needFloats(op, "logProbs", logProbs, n, meaning);
  const sampler = needFloats(op, "samplerLogProbs", samplerLogProbs, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const { backend } = options;
  const where = { backend };
  const layout = { ...layoutOfRows(rows), mask: mask ?? undefined, ...where };
  const over = (statistic: MismatchStatistic): Figures => {
    const all = mergeMoments(measureMismatch(trainer, sampler, { ...layout, statistic }).moments, where);
    return { count: all.counts[0]!, mean: all.means[0]!, m2: all.m2s[0]!, max: all.maxs[0]! };
  };

  const difference = over("distance");
  const { count } = difference;
  const result = {
    count,
    maxDifference: count === 0 ? 0 : difference.max,
    meanDifference: difference.mean,
    stdDifference: count === 0 ? 0 : Math.sqrt(difference.m2 / (count - 1)),
    correlation: correlation(over("current").m2, over("old").m2, over("total").m2),
  };
  return {
    ...result,
    metrics: {
      "training/rollout_probs_diff_valid": count === 0 ? 0 : 1,
      "training/rollout_probs_diff_max": result.maxDifference,
      "training/rollout_probs_diff_mean": result.meanDifference,
      "training/rollout_probs_diff_std": result.stdDifference,
      "training/rollout_actor_probs_pearson_corr": result.correlation,
    },
  };
}

interface Figures {
  readonly count: number;
  readonly mean: number;
  readonly m2: number;
  readonly max: number;
}

/** From the M2 of p, of q and of p + q, which is M2(p) + M2(q) + 2 Σ (p − mean p)(q − mean q). */
function correlation(p: number, q: number, total: number): number {
  if (p === 0 || q === 0) return NaN;
  return (total - (p + q)) / 2 / (Math.sqrt(p) * Math.sqrt(q));
}
