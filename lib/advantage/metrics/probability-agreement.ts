// How well two sets of log-probs of the same tokens agree: those of the trainer and those of the engine that sampled.
import { needFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needRows, type RowLayout } from "../../core/rows";
import type { MetricRecord } from "./metric-record";

export interface ProbabilityAgreementOptions extends RowLayout {
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
  const { n, meaning } = needRows(op, options);
  const trainer = needFloats(op, "logProbs", logProbs, n, meaning);
  const sampler = needFloats(op, "samplerLogProbs", samplerLogProbs, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);

  // One pass with running means (Welford 1962): the squares are about the mean, and do not cancel.
  let count = 0;
  let max = 0;
  const means = { difference: 0, p: 0, q: 0 };
  const squares = { difference: 0, p: 0, q: 0, pq: 0 };
  for (let i = 0; i < n; ++i) {
    if (mask && mask[i] === 0) continue;
    const p = Math.exp(trainer[i]!);
    const q = Math.exp(sampler[i]!);
    const difference = distance(trainer[i]!, sampler[i]!, Math.max(p, q));
    ++count;
    max = Math.max(max, difference); // NaN stays
    const dd = difference - means.difference;
    const dp = p - means.p;
    const dq = q - means.q;
    means.difference += dd / count;
    means.p += dp / count;
    means.q += dq / count;
    squares.difference += dd * (difference - means.difference);
    squares.p += dp * (p - means.p);
    squares.q += dq * (q - means.q);
    squares.pq += dp * (q - means.q);
  }

  const result = {
    count,
    maxDifference: max,
    meanDifference: means.difference,
    stdDifference: count === 0 ? 0 : Math.sqrt(squares.difference / (count - 1)),
    correlation: squares.pq / (Math.sqrt(squares.p) * Math.sqrt(squares.q)),
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

/** |exp(a) − exp(b)| from the larger of the two, with full precision where they are close. */
function distance(a: number, b: number, larger: number): number {
  if (a === b) return 0; // both may be −∞
  return larger * -Math.expm1(-Math.abs(a - b));
}
