// Estimates of KL(policy ‖ reference) from the log-probs of sampled tokens, for rewards. No gradient.
import type { BackendOption } from "../backend/select";
import type { FloatArray } from "../core/dtype";
import { asFloat } from "../core/float-arrays";
import { needWord } from "../core/option-checks";
import { layoutOf, type RowLayout } from "../core/row-layout";
import { klEstimates } from "../ops/loss";

const ESTIMATORS = ["k1", "k2", "k3"] as const;

/**
 * With d = log p − log p_ref of the sampled token: `"k1"` d, unbiased; `"k2"` d²/2; `"k3"` exp(−d) − 1 + d, unbiased and
 * never negative.
 */
export type KlEstimator = (typeof ESTIMATORS)[number];

/** Per token, float64; 0 under the mask, which is not read. @see Schulman 2020, http://joschu.net/blog/kl-approx.html */
export function tokenKl(
  op: string,
  logProbs: FloatArray,
  referenceLogProbs: FloatArray,
  estimator: KlEstimator,
  options: RowLayout & BackendOption & { readonly mask: Uint8Array | null },
): FloatArray {
  needWord(op, "klEstimator", estimator, ESTIMATORS);
  return klEstimates(asFloat(logProbs, "float64"), asFloat(referenceLogProbs, "float64"), {
    ...layoutOf(options),
    mask: options.mask ?? undefined,
    backend: options.backend,
    kind: estimator,
  }).values;
}
