// The objective, as its gradient with respect to the log-probs and entropies of the tokens. The old policy and everything computed
// from the rewards are constants; the log-probs change with the inner steps.
import {
  type BackendOption,
  clippedObjective,
  type CollectiveOption,
  type FloatArray,
  listwisePolicyLoss,
} from "../../lib";
import { type Experience, padExperience } from "../../lib/experience";
import { aroundHere, sumOfRanks } from "./ranks";
import { MAX_TOKENS, type Problem } from "./task";

/** Where a run computes: the backend, and the ranks that it is spread over. */
export type Where = BackendOption & CollectiveOption;

/** An experience in rows of equal length: the objective is a function of these rows. */
export interface Judged {
  readonly shape: readonly [rows: number, tokens: number];
  /** 1 = a token of the policy, 0 = behind the end of the response. */
  readonly mask: Uint8Array;
  /** Tokens of each response. */
  readonly lengths: Int32Array;
  /** Which prompt each row answers. */
  readonly groups: Int32Array;
  readonly rewards: FloatArray;
  /** One per token; undefined for a method that makes none. */
  readonly advantages: FloatArray | undefined;
  /** Log-probs of the tokens before the update, nats. */
  readonly oldLogProbs: FloatArray;
}

export function judgedOf(experience: Experience<Problem>): Judged {
  const { mask, responseShape, groups, rewards, advantages, oldLogProbs } = padExperience(experience, {
    responseWidth: MAX_TOKENS,
  });
  const lengths = Int32Array.from(groups, (_, row) => experience.offsets[row + 1]! - experience.offsets[row]!);
  return { shape: responseShape, mask, lengths, groups, rewards, advantages, oldLogProbs: oldLogProbs! };
}

interface Gradients {
  readonly gradLogProbs: FloatArray;
  readonly gradEntropies?: FloatArray;
}

/** Log-probs of the tokens now → the gradient of the objective. */
export type Objective = (logProbs: Float32Array) => Gradients;

/** Ratios are clipped to 1 ± this. */
export const CLIP = 0.2;

/** The mean over responses, those of all ranks, of the mean over their tokens of the clipped term + entropyWeight * entropy. */
export function clippedTerms(
  { shape, mask, lengths, oldLogProbs, advantages }: Judged,
  entropyWeight: number,
  { collective, ...backend }: Where,
): Objective {
  const [rows, width] = shape;
  const all = sumOfRanks(rows, collective);
  const rowWeights = Float64Array.from(lengths, (length) => 1 / (all * length));
  const gradEntropies = Float32Array.from(mask, (kept, i) => kept * entropyWeight * rowWeights[Math.floor(i / width)]!);
  const options = { level: "token", clipLow: CLIP, clipHigh: CLIP, rowWeights, shape, mask, ...backend } as const;
  return (logProbs) => {
    const { gradLogProbs } = clippedObjective(logProbs, oldLogProbs, advantages!, options);
    return entropyWeight === 0 ? { gradLogProbs } : { gradLogProbs, gradEntropies };
  };
}

/** Minus the cross entropy between weights, one per response, and the policy over the responses to each prompt. */
export function imitation({ shape, mask, groups }: Judged, weights: FloatArray, where: Where): Objective {
  // Prompts are numbered on each rank: a number is the same prompt on all of them where there is a collective.
  const own = groups.reduce((most, group) => Math.max(most, group + 1), 0);
  const [before] = aroundHere(own, where.collective);
  const labels = groups.map((group) => before + group);
  return (logProbs) => {
    const { gradLogProbs } = listwisePolicyLoss(logProbs, weights, { shape, mask, groups: labels, ...where });
    return { gradLogProbs: gradLogProbs.map((gradient) => 0 - gradient) };
  };
}
