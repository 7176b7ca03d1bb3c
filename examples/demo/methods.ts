// The five methods: how the rewards of a batch become an objective. Four make one advantage per token of them, one makes weights.
import {
  type BackendOption,
  egpoAdvantage,
  empgAdvantage,
  type FloatArray,
  grpoAdvantage,
  listwiseWeights,
  maxentTemperature,
  moments,
  rewardDistribution,
} from "../../lib";
import type { Experience } from "../../lib/experience";
import { clippedTerms, imitation, type Judged, type Objective, type Where } from "./objective";
import { ANSWER, ANSWER_END, STEP, STEP_END } from "./task";

export interface Method {
  readonly name: MethodName;
  readonly title: string;
  /** One advantage per response token, where the method makes advantages: a step of the maker. */
  readonly advantages?: Advantages;
  readonly objective: (batch: Judged, where: Where) => Objective;
}

export const METHOD_NAMES = ["grpo", "grpo-entropy", "empg", "egpo", "maxent"] as const;
export type MethodName = (typeof METHOD_NAMES)[number];

/** GRPO: the reward against the mean of its group, in standard deviations; the same at every token of a response. */
function relativeToGroup(
  { rewards, groups, offsets, mask }: Experience,
  { collective: _, ...backend }: Where,
): FloatArray {
  return grpoAdvantage({ rewards, groups, offsets, mask }, backend).advantages; // a prompt lies on one rank
}

/**
 * EMPG: steps (and the answer) in which the policy was sure get larger updates. Delimiters have alternatives. The extremes and the mean
 * of the batch are those of all ranks.
 */
function relativeToSteps(experience: Experience, { collective, ...backend }: Where): FloatArray {
  const { offsets, tokenIds: tokens, entropies, mask } = experience;
  return empgAdvantage(
    { offsets, tokens, entropies: entropies!, mask, advantages: relativeToGroup(experience, backend) },
    {
      start: [[STEP], [ANSWER]],
      end: [[STEP_END], [ANSWER_END]],
      scope: "mask",
      ...backend,
      ...(collective && { collective }),
    },
  ).advantages;
}

/** EGPO: responses whose answer was given with more certainty than the group's get larger updates. */
function relativeToAnswers(
  { rewards, groups, offsets, tokenIds: tokens, entropies, mask }: Experience,
  { collective: _, ...backend }: Where,
): FloatArray {
  return egpoAdvantage(
    { rewards, groups, offsets, tokens, entropies: entropies!, mask },
    { mode: "answer", thinkEnd: ANSWER, ...backend },
  ).advantages;
}

/** Of the distribution by rewards, and of the weights: entropy and reference coefficient. */
const MAXENT = { rewardTemperature: 0.25, tau: 0.5, beta: 0.5 } as const;

/**
 * MaxEnt: weights between the distribution of the rewards and the policy that sampled, kept spread by the entropy coefficient. The
 * policy imitates them within each group.
 */
function weightsOfResponses({ rewards, groups, shape, mask, oldLogProbs }: Judged, backend: BackendOption): FloatArray {
  const { rewardTemperature, tau, beta } = MAXENT;
  const targets = rewardDistribution(rewards, { groups, temperature: rewardTemperature, ...backend });
  const referenceLogProbs = moments(oldLogProbs, { shape, mask, over: "row", ...backend }).means;
  return listwiseWeights(targets, {
    groups,
    temperature: maxentTemperature(tau, beta),
    beta,
    referenceLogProbs,
    ...backend,
  });
}

type Advantages = (experience: Experience, where: Where) => FloatArray;

/** The clipped objective with the maker's advantages; `entropyWeight` of the mean entropy, per nat. */
function clipped(name: MethodName, title: string, advantages: Advantages, entropyWeight = 0): Method {
  return { name, title, advantages, objective: (batch, where) => clippedTerms(batch, entropyWeight, where) };
}

export const METHODS: Readonly<Record<MethodName, Method>> = {
  grpo: clipped("grpo", "GRPO", relativeToGroup),
  "grpo-entropy": clipped("grpo-entropy", "GRPO + entropy term", relativeToGroup, 0.03),
  empg: clipped("empg", "EMPG", relativeToSteps),
  egpo: clipped("egpo", "EGPO", relativeToAnswers),
  maxent: {
    name: "maxent",
    title: "MaxEnt weights",
    objective: (batch, { collective, ...backend }) =>
      imitation(batch, weightsOfResponses(batch, backend), { ...backend, ...(collective && { collective }) }),
  },
};
