// The four methods: how the rewards of a batch become one advantage per token, and whether entropy is in the objective.
import { type BackendOption, egpoAdvantage, empgAdvantage, type FloatArray, groupAdvantage } from "../../lib";
import type { Rollouts } from "./sampler";
import { ANSWER, ANSWER_END, STEP, STEP_END } from "./task";

/** A batch after the policy that sampled it has looked at it again. */
export interface Judged extends Rollouts {
  readonly rewards: Float64Array;
  /** Log-probs of the tokens before the update, nats. */
  readonly oldLogProbs: Float32Array;
  /** Entropy of the policy at each token before the update, nats. */
  readonly entropies: Float32Array;
}

export interface Method {
  readonly name: MethodName;
  readonly title: string;
  /** Weight of the mean entropy in the objective, per nat. */
  readonly entropyWeight: number;
  /** Advantages [rows * tokens]. */
  readonly advantages: (batch: Judged, backend: BackendOption) => FloatArray;
}

export const METHOD_NAMES = ["grpo", "grpo-entropy", "empg", "egpo"] as const;
export type MethodName = (typeof METHOD_NAMES)[number];

/** GRPO: the reward against the mean of its group, in standard deviations; the same at every token of a response. */
function relativeToGroup({ rewards, groups, shape, mask }: Judged, backend: BackendOption): FloatArray {
  return groupAdvantage(rewards, { groups, shape, mask, ...backend }).tokenAdvantages;
}

/** EMPG: steps (and the answer) in which the policy was sure get larger updates. Delimiters have alternatives. */
function relativeToSteps(batch: Judged, backend: BackendOption): FloatArray {
  const { shape, tokens, entropies, mask, lengths } = batch;
  return empgAdvantage(
    { shape, tokens, entropies, mask, lengths, advantages: relativeToGroup(batch, backend) },
    { start: [[STEP], [ANSWER]], end: [[STEP_END], [ANSWER_END]], scope: "mask", ...backend },
  ).advantages;
}

/** EGPO: right responses whose answer was given with more certainty than the group's get larger updates. */
function relativeToAnswers(batch: Judged, backend: BackendOption): FloatArray {
  const { rewards, groups, shape, tokens, entropies, mask } = batch;
  return egpoAdvantage(
    { rewards, groups, shape, tokens, entropies, mask },
    { mode: "answer", thinkEnd: ANSWER, ...backend },
  ).advantages;
}

export const METHODS: Readonly<Record<MethodName, Method>> = {
  grpo: { name: "grpo", title: "GRPO", entropyWeight: 0, advantages: relativeToGroup },
  "grpo-entropy": { name: "grpo-entropy", title: "GRPO + entropy term", entropyWeight: 0.03, advantages: relativeToGroup },
  empg: { name: "empg", title: "EMPG", entropyWeight: 0, advantages: relativeToSteps },
  egpo: { name: "egpo", title: "EGPO", entropyWeight: 0, advantages: relativeToAnswers },
};
