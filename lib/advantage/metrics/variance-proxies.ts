// Proxies for signal and noise of a policy gradient, from the norm of the score function at each token.
import type { BackendOption } from "../../backend/select";
import { needFloats, optionalFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needNumber } from "../../core/option-checks";
import { layoutOf, needRows, type RowLayout } from "../../core/row-layout";
import { type Moments, moments } from "../../ops/reduce";
import { scoreNorms } from "../../ops/scan";
import { average } from "../scalar-metrics";
import type { MetricRecord } from "./metric-record";

/** Per-token arrays have [n] elements, as `shape` or `offsets` of the options say. */
export interface VarianceProxyBatch {
  /** Log-probs of the sampled tokens under the policy that trains, nats. */
  readonly oldLogProbs: FloatArray;
  /** Σp² of the distribution at each token. */
  readonly sumProbSquares: FloatArray;
  readonly advantages: FloatArray;
  /** Importance weights. Default: none. */
  readonly importanceWeights?: FloatArray;
}

export interface VarianceProxyOptions extends RowLayout, BackendOption {
  /** 1 = the policy's token. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Norm of the gradient of the whole batch, >= 0. Default: unknown, then proxies 1 and 3 are 0. */
  readonly gradNorm?: number;
}

export interface VarianceProxyResult {
  /** Proxy 1: gradNorm². */
  readonly signalStrength: number;
  /** Proxy 2: mean over rows of a²·max(Σ_t w, 0). */
  readonly totalPower: number;
  /** Proxy 3: max(0, (proxy 2 − proxy 1)/(B − 1)). */
  readonly pureNoise: number;
  /** Mean over rows of a², and of Σ_t w. */
  readonly meanSquaredAdvantage: number;
  readonly meanScoreNorm: number;
  /** The same for a dashboard: `variance_proxy/proxy1_signal_strength`, … */
  readonly metrics: MetricRecord;
}

/**
 * The squared norm of ∂log p/∂logits at a token is w = 1 − 2p + Σp²: what a row's gradient can weigh at most, without a
 * backward pass. With a_b the mean advantage of row b and W_b = Σ_t w over its kept tokens:
 *
 *     proxy 1 = gradNorm²          proxy 2 = mean_b a_b² max(W_b, 0)          proxy 3 = max(0, (proxy 2 − proxy 1) / (B − 1))
 *
 * With importance weights ι: w is multiplied by ι², and proxy 2 is mean_b ῑ_b² a_b² max(Σ_t w / max(ι², 1e-10), 0) with ῑ_b
 * the row's mean weight. A row without kept tokens has a = W = 0.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function varianceProxies(batch: VarianceProxyBatch, options: VarianceProxyOptions): VarianceProxyResult {
  const op = "varianceProxies";
  const { n, B, meaning } = needRows(op, options);
  const oldLogProbs = needFloats(op, "oldLogProbs", batch.oldLogProbs, n, meaning);
  const sumProbSquares = needFloats(op, "sumProbSquares", batch.sumProbSquares, n, meaning);
  const advantages = needFloats(op, "advantages", batch.advantages, n, meaning);
  const importance = optionalFloats(op, "importanceWeights", batch.importanceWeights, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const gradNorm = options.gradNorm === undefined ? null : needNumber(op, "gradNorm", options.gradNorm, { min: 0 });

  const tokens = { ...layoutOf(options), mask: mask ?? undefined, backend: options.backend };
  const byRow = (values: FloatArray): Moments => moments(values, { ...tokens, over: "row" });
  const scoreNormSums = (weights: FloatArray | null): Float64Array =>
    byRow(scoreNorms(oldLogProbs, sumProbSquares, { ...tokens, weights: weights ?? undefined }).norms).sums;
  const ofImportance = importance && byRow(importance);
  const meanImportances = ofImportance?.means;
  const norms = scoreNormSums(importance);
  const plainNorms = ofImportance ? scoreNormSums(fade(importance, ofImportance)) : norms;
  const squaredAdvantages = Array.from(byRow(advantages).means, (a) => a * a);
  const powers = squaredAdvantages.map(
    (a2, b) => (meanImportances ? meanImportances[b]! ** 2 : 1) * a2 * Math.max(plainNorms[b]!, 0),
  );

  const signalStrength = gradNorm === null ? 0 : gradNorm ** 2;
  const totalPower = average(powers);
  const result = {
    signalStrength,
    totalPower,
    pureNoise: gradNorm === null || B < 2 ? 0 : Math.max(0, (totalPower - signalStrength) / (B - 1)),
    meanSquaredAdvantage: average(squaredAdvantages),
    meanScoreNorm: average(Array.from(norms)),
  };
  return {
    ...result,
    metrics: {
      "variance_proxy/proxy1_signal_strength": result.signalStrength,
      "variance_proxy/proxy2_total_power": result.totalPower,
      "variance_proxy/proxy3_pure_noise": result.pureNoise,
      "variance_proxy/expected_a_squared": result.meanSquaredAdvantage,
      "variance_proxy/expected_w": result.meanScoreNorm,
    },
  };
}

const SMALLEST_SQUARE = 1e-10;

/**
 * Weights whose square times w is w·ι² / max(ι², 1e-10): 1, but for importance weights near 0. Null where all are 1.
 */
function fade(importance: FloatArray, ofRows: Moments): FloatArray | null {
  const smallest = Math.sqrt(SMALLEST_SQUARE);
  // A row without tokens has the minimum ∞. NaN compares false: such weights are kept and spread.
  if (ofRows.mins.every((least) => least >= smallest)) return null;
  return Float64Array.from(importance, (weight) => Math.min(1, Math.abs(weight) / smallest));
}
