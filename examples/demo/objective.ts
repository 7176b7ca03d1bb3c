// What is maximised, by its gradient with respect to the log-probs and entropies of the tokens. The old policy and everything that
// comes from the rewards is constant; the log-probs move with the inner steps.
import { type BackendOption, clippedObjective, type FloatArray, listwisePolicyLoss } from "../../lib";
import type { Rollouts } from "./sampler";

/** A batch after the policy that sampled it has looked at it again. */
export interface Judged extends Rollouts {
  readonly rewards: Float64Array;
  /** Log-probs of the tokens before the update, nats. */
  readonly oldLogProbs: Float32Array;
  /** Entropy of the policy at each token before the update, nats. */
  readonly entropies: Float32Array;
}

export interface Gradients {
  readonly gradLogProbs: FloatArray;
  readonly gradEntropies?: FloatArray;
}

/** Log-probs of the tokens now → the gradient of the objective. */
export type Objective = (logProbs: Float32Array) => Gradients;

/** Ratios are clipped to 1 ± this. */
export const CLIP = 0.2;

/**
 * The mean over responses of the mean over their tokens of the clipped term + entropyWeight * entropy, for advantages
 * [rows * tokens].
 */
export function clippedTerms(
  { shape, mask, lengths, oldLogProbs }: Judged,
  advantages: FloatArray,
  entropyWeight: number,
  backend: BackendOption,
): Objective {
  const [rows, width] = shape;
  const rowWeights = Float64Array.from(lengths, (length) => 1 / (rows * length));
  const gradEntropies = Float32Array.from(mask, (kept, i) => kept * entropyWeight * rowWeights[Math.floor(i / width)]!);
  const options = { level: "token", clipLow: CLIP, clipHigh: CLIP, rowWeights, shape, mask, ...backend } as const;
  return (logProbs) => {
    const { gradLogProbs } = clippedObjective(logProbs, oldLogProbs, advantages, options);
    return entropyWeight === 0 ? { gradLogProbs } : { gradLogProbs, gradEntropies };
  };
}

/** Minus the cross entropy between weights, one per response, and the policy over the responses to each prompt. */
export function imitation({ shape, mask, groups }: Judged, weights: FloatArray, backend: BackendOption): Objective {
  return (logProbs) => {
    const { gradLogProbs } = listwisePolicyLoss(logProbs, weights, { shape, mask, groups, ...backend });
    return { gradLogProbs: gradLogProbs.map((gradient) => 0 - gradient) };
  };
}
