// The loss of imitation: log-probs of given tokens, negated and aggregated.
import type { FloatArray } from "../core/dtype";
import { affine } from "../ops/reduce";
import { type AggregatedLoss, type AggregationOptions, evaluateAggregate } from "./aggregation";

/**
 * Supervised loss −Σ_b w_b·Σ_t m_bt·logProbs_bt with the weights of `aggregationWeights`. What lies under the mask is not read.
 *
 * @param logProbs log-probs of the target tokens, nats; [n] as `shape` or `offsets` say
 * @returns the loss, the weights, and the gradient with respect to `logProbs`: minus the weights
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function negativeLogLikelihood(logProbs: FloatArray, options: AggregationOptions): AggregatedLoss {
  const op = "negativeLogLikelihood";
  const { loss, rowWeights, gradients } = evaluateAggregate(op, "logProbs", logProbs, options);
  const { mask, backend } = options;
  const negated = affine(gradients, {
    shape: [1, gradients.length],
    scale: -1,
    out: { mapped: gradients },
    mask, // 0 under it, not -0
    backend,
  });
  return { loss: 0 - loss, rowWeights, gradients: negated };
}
