// The policy between sampler and learner, where its log-probs were not kept.
import { needFloats, needInt32 } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { allocateFloat, widestFloat } from "../core/float-arrays";
import { needNumber, needWord } from "../core/option-checks";

const METHODS = ["logLinear", "linear"] as const;

export interface ProximalLogProbsOptions {
  /** The version of the policy that sampled each token; one below 0 is not known. */
  readonly versions: Int32Array;
  /** The version of the policy that learns. */
  readonly currentVersion: number;
  /** Between the log-probs, or the logarithm between the probabilities (for comparison). Default `"logLinear"`. */
  readonly method?: (typeof METHODS)[number];
}

/**
 * Log-probs of the policy one version before the current one, from those of the sampler and of the learner:
 *
 *     α = clip((current − 1 − v) / (current − v), 0, 1);   0 where v is not known or not older
 *     "logLinear"   o = u + α·(ℓ − u)
 *     "linear"      o = ln((1 − α)·e^u + α·e^ℓ + 1e-10)
 *
 * A constant for the gradient: the old log-probs of a policy loss.
 *
 * @param logProbs ℓ: under the policy that learns, nats
 * @param samplerLogProbs u: of the sampler, the same tokens
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _BUFFER, naming the argument
 * @see AReaL, areal/trainer/ppo/actor.py (compute_prox_logp_approximations)
 */
export function proximalLogProbs(
  logProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: ProximalLogProbsOptions,
): FloatArray {
  const op = "proximalLogProbs";
  const n = (logProbs as FloatArray | undefined)?.length ?? 0;
  const learner = needFloats(op, "logProbs", logProbs, n, "its own length");
  const sampler = needFloats(op, "samplerLogProbs", samplerLogProbs, n, "as many as logProbs");
  const versions = needInt32(op, "versions", options.versions, n, "as many as logProbs");
  const current = needNumber(op, "currentVersion", options.currentVersion, { integer: true });
  const linear = needWord(op, "method", options.method ?? "logLinear", METHODS) === 1;
  const proximal = allocateFloat(widestFloat(learner, sampler), n);
  for (let i = 0; i < n; ++i) {
    const v = versions[i]!;
    const [l, u] = [learner[i]!, sampler[i]!];
    const share = v < 0 || v >= current ? 0 : Math.min(Math.max((current - 1 - v) / (current - v), 0), 1);
    proximal[i] = linear ? Math.log((1 - share) * Math.exp(u) + share * Math.exp(l) + 1e-10) : u + share * (l - u);
  }
  return proximal;
}
