// The estimators: one table, which computeAdvantages, advantagePipeline, the command line and the docs read. A new estimator is a
// file with its function, and an import, an export and an entry here. The function of "x" is xAdvantage. What others are made of by
// composition is in compositions.ts, and has its page in docs/recipes.md.
import {
  fipoAdvantage,
  lambdaGrpoAdvantage,
  maxRlAdvantage,
  opdAdvantage,
  raeAdvantage,
  treePoAdvantage,
} from "./compositions";
import { cpgdAdvantage } from "./cpgd-advantage";
import { edgeGrpoAdvantage } from "./edge-grpo-advantage";
import { egpoAdvantage } from "./egpo-advantage";
import { empgAdvantage } from "./empg-advantage";
import { estimator } from "./estimator";
import { gaeAdvantage } from "./gae-advantage";
import { gpgAdvantage } from "./gpg-advantage";
import { grpoAdvantage } from "./grpo-advantage";
import { iwOpdAdvantage } from "./iw-opd-advantage";
import { maxentAdvantage } from "./maxent-advantage";
import { miniLlmAdvantage } from "./minillm-advantage";
import { multiRewardAdvantage } from "./multi-reward-advantage";
import { opoAdvantage } from "./opo-advantage";
import { optimalTokenBaselineAdvantage } from "./optimal-token-baseline-advantage";
import { optimalValueAdvantage } from "./optimal-value-advantage";
import { passAtKAdvantage } from "./pass-at-k-advantage";
import { cpgdStage, gaeStage, returnsStage } from "./pipeline-stages";
import { ppoAdvantage } from "./ppo-advantage";
import { puffAdvantage } from "./puff-advantage";
import { reinforcePlusPlusAdvantage, reinforcePlusPlusBaselineAdvantage } from "./reinforce-plus-plus-advantage";
import { turnGaeAdvantage, turnReturnsAdvantage } from "./turn-advantage";
import { remaxAdvantage } from "./remax-advantage";
import { rlooAdvantage } from "./rloo-advantage";
import { rlooWithKlAdvantage } from "./rloo-with-kl-advantage";

export * from "./cpgd-advantage";
export * from "./edge-grpo-advantage";
export * from "./egpo-advantage";
export * from "./empg-advantage";
export * from "./gae-advantage";
export * from "./gpg-advantage";
export * from "./grpo-advantage";
export * from "./iw-opd-advantage";
export * from "./maxent-advantage";
export * from "./minillm-advantage";
export * from "./multi-reward-advantage";
export * from "./opo-advantage";
export * from "./optimal-token-baseline-advantage";
export * from "./optimal-value-advantage";
export * from "./pass-at-k-advantage";
export * from "./ppo-advantage";
export * from "./puff-advantage";
export * from "./reinforce-plus-plus-advantage";
export * from "./remax-advantage";
export * from "./rloo-advantage";
export * from "./rloo-with-kl-advantage";
export * from "./turn-advantage";

const maskMode = { skip: true, steps: true, cut: true } as const;
const nan = { propagate: true, abstain: true } as const;
const singleton = { zero: true, raw: true, standard: true } as const;
const scale = { std: true, others: true, mean: true, signedMean: true, none: true } as const;
const scoreOver = { all: true, kept: true } as const;
const sequenceWeights = {
  grpoAdvantage: "json",
  scoreOver,
  lambdaMin: "number",
  lambdaMax: "number",
  epsilon: "number",
  emptyRows: { exclude: true, zero: true },
  nonFinite: { isolate: true, group: true, propagate: true },
  singletonWeight: { one: true, own: true, standard: true },
  zeroEntropy: { one: true, formula: true },
} as const;

const outcomeReads = {
  rewards: "take",
  tokenRewards: "take",
  mask: "take",
  groups: "need",
  sessions: "leave",
  outputs: "leave",
} as const;
const tokenReads = { tokenRewards: "need", mask: "take" } as const;
/** Rewards of rows, else of their tokens. */
const scored = ["rewards", "tokenRewards"] as const;
/** What most estimators of one advantage a row have in common. */
const outcome = { answers: "row", reads: outcomeReads, oneOf: [scored] } as const;

const RECIPES = "../recipes";

const ESTIMATORS = {
  gae: {
    ...estimator(gaeAdvantage, {
      about: "generalized advantages of a critic, whitened",
      page: "gae",
      answers: "token",
      reads: { ...tokenReads, values: "need", bootstrap: "take" },
      options: { gamma: "number", lambda: "json", maskMode, transformMasked: "flag", whitening: "json" },
    }),
    pipeline: gaeStage,
  },
  grpo: {
    ...estimator(grpoAdvantage, {
      about: "scores centred and scaled within their group: GRPO, Dr. GRPO",
      page: "grpo",
      ...outcome,
      options: {
        center: { mean: true, leaveOneOut: true, runnerUp: true, none: true },
        scale,
        ddof: "number",
        epsilon: "number",
        varianceFloor: "number",
        singleton,
        nan,
        scoreOver,
      },
    }),
    pipeline: returnsStage({ center: "mean", scale: "std", ddof: 1 }, false),
  },
  passAtK: estimator(passAtKAdvantage, {
    about: "the lead of the best of a group over the second best",
    page: "outcome",
    ...outcome,
    options: { scale, epsilon: "number", nan, scoreOver },
  }),
  rloo: {
    ...estimator(rlooAdvantage, {
      about: "scores less the mean of the others",
      page: "outcome",
      ...outcome,
      options: { singleton, nan, scoreOver },
    }),
    pipeline: returnsStage({ center: "leaveOneOut", scale: "none" }, false),
  },
  rlooWithKl: estimator(rlooWithKlAdvantage, {
    about: "rloo of several reward functions, with a KL penalty",
    page: "multi-reward",
    answers: "row",
    reads: { rewards: "named", groups: "need", mask: "take", oldLogProbs: "take", referenceLogProbs: "take" },
    options: { weights: "json", rewardClip: "json", beta: "number", normalize: "flag", epsilon: "number" },
  }),
  turnGae: estimator(turnGaeAdvantage, {
    about: "generalized advantages turn by turn: a turn is one step",
    page: "turns",
    answers: "token",
    reads: { ...tokenReads, values: "need", bootstrap: "take", turns: "leave" },
    options: { gamma: "number", lambda: "json", transformMasked: "flag" },
  }),
  turnReturns: estimator(turnReturnsAdvantage, {
    about: "discounted returns turn by turn",
    page: "turns",
    answers: "token",
    reads: { ...tokenReads, turns: "leave" },
    options: { gamma: "number", reward: { sum: true, last: true } },
  }),
  reinforcePlusPlus: {
    ...estimator(reinforcePlusPlusAdvantage, {
      about: "discounted returns, whitened",
      page: "gae",
      answers: "token",
      reads: tokenReads,
      options: { gamma: "number", maskMode, transformMasked: "flag", whitening: "json" },
    }),
    pipeline: returnsStage(null, true),
  },
  reinforcePlusPlusBaseline: {
    ...estimator(reinforcePlusPlusBaselineAdvantage, {
      about: "scores less the mean of their group, whitened over tokens",
      page: "outcome",
      ...outcome,
      answers: "token",
      options: { singleton, nan, whitening: "json", scoreOver },
    }),
    pipeline: returnsStage({ center: "mean", scale: "none" }, true),
  },
  remax: estimator(remaxAdvantage, {
    about: "returns less the reward of a greedy rollout",
    page: "gae",
    answers: "token",
    reads: { ...tokenReads, baselines: "need" },
    options: {},
  }),
  opo: estimator(opoAdvantage, {
    about: "scores less a baseline that counts rollouts by their length",
    page: "outcome",
    ...outcome,
    answers: "token",
    options: { singleton, nan, scoreOver },
  }),
  gpg: estimator(gpgAdvantage, {
    about: "centred scores, stretched by the share of rollouts that have one",
    page: "outcome",
    ...outcome,
    options: { normalizer: "number", singleton, nan, scoreOver },
  }),
  optimalTokenBaseline: estimator(optimalTokenBaselineAdvantage, {
    about: "returns less the baseline of least variance, token by token",
    page: "optimal-token-baseline",
    answers: "token",
    reads: { ...tokenReads, groups: "need", logProbs: "need", sumSquares: "need", importanceWeights: "take" },
    options: { columns: { position: true, kept: true }, zeroTail: "flag", epsilon: "number" },
  }),
  multiReward: estimator(multiRewardAdvantage, {
    about: "several reward functions, some of which abstain",
    page: "multi-reward",
    answers: "row",
    reads: { rewards: "named", groups: "need", mask: "take" },
    options: {
      weights: "json",
      aggregation: { sumThenNormalize: true, normalizeThenSum: true },
      scale: { group: true, batch: true, none: true },
      epsilon: "number",
      functionConventions: "json",
      normalizeOver: { rows: true, tokens: true },
      finalEpsilon: "number",
    },
  }),
  ppo: estimator(ppoAdvantage, {
    about: "rewards with a KL penalty, advantages and returns of a critic",
    page: "ppo",
    answers: "token",
    reads: {
      scores: "need",
      logProbs: "need",
      referenceLogProbs: "need",
      values: "need",
      mask: "take",
      tokens: "take",
    },
    options: {
      gamma: "number",
      lambda: "number",
      klCoefficient: "number",
      klEstimator: { k1: true, k2: true, k3: true },
      whitenRewards: "flag",
      missingEndPenalty: "number",
      endToken: "number",
      scoreAt: { last: true, after: true },
      maskMode,
      varianceEpsilon: "number",
    },
  }),
  optimalValue: estimator(optimalValueAdvantage, {
    about: "rewards less the optimal value of their prompt",
    page: "optimal-value",
    answers: "row",
    reads: { rewards: "need", groups: "need", mask: "take" },
    options: { beta: "number" },
  }),
  maxent: estimator(maxentAdvantage, {
    about: "weights between the rewards and a reference policy, less the even ones: MaxEnt-GRPO",
    page: "maxent",
    answers: "row",
    reads: { ...outcomeReads, referenceLogProbs: "take" },
    oneOf: [scored],
    options: {
      tau: "number",
      beta: "number",
      mode: { "tau+beta": true, tau: true, one: true },
      temperature: "number",
      distribution: "json",
      lengthNormalize: "flag",
      uniformFallback: "flag",
      scoreOver,
    },
  }),
  miniLlm: estimator(miniLlmAdvantage, {
    about: "a teacher's verdict on the rest of the response",
    page: "distillation",
    answers: "token",
    reads: { studentLogProbs: "need", teacherLogProbs: "need", mask: "take" },
    options: {
      gamma: "number",
      lengthNormalization: "flag",
      maskMode: { skip: true, steps: true },
      maskedWeight: "number",
    },
  }),
  iwOpd: estimator(iwOpdAdvantage, {
    about: "a teacher's verdict on each token, early disagreement first",
    page: "distillation",
    answers: "token",
    reads: { teacherLogProbs: "need", samplerLogProbs: "need", mask: "take" },
    options: { gamma: "number", epsilon: "number" },
  }),
  puff: estimator(puffAdvantage, {
    about: "generalized advantages with truncated importance weights",
    page: "puff",
    answers: "token",
    reads: { tokenRewards: "need", values: "need", dones: "need", importanceWeights: "take" },
    options: {
      gamma: "number",
      lambda: "number",
      rhoClip: "number",
      cClip: "number",
      delta: { corrected: true, reward: true },
    },
  }),
  cpgd: {
    ...estimator(cpgdAdvantage, {
      about: "scores relative to all rows of the batch",
      page: "cpgd",
      answers: "row",
      reads: { rewards: "take", tokenRewards: "take", mask: "take" },
      oneOf: [scored],
      options: { weighting: { std: true, clipFilter: true, none: true }, epsilon: "number", nan, clip: "number" },
    }),
    pipeline: cpgdStage,
  },
  edgeGrpo: estimator(edgeGrpoAdvantage, {
    about: "group advantages weighed by the entropy of a response in its group",
    page: "edge-grpo",
    answers: "token",
    reads: { ...outcomeReads, entropies: "need" },
    oneOf: [scored],
    options: {
      ...sequenceWeights,
      weightMode: { ratio: true, zscore: true },
      beta: "number",
      zClip: "number",
      varianceFloor: "number",
    },
  }),
  egpo: estimator(egpoAdvantage, {
    about: "group advantages weighed by how sure the answer was",
    page: "egpo",
    answers: "token",
    reads: {
      ...outcomeReads,
      entropies: "take",
      oldLogProbs: "take",
      tokens: "take",
      promptLength: "leave",
      entropyMask: "take",
    },
    oneOf: [scored, ["entropies", "oldLogProbs"]],
    options: {
      ...sequenceWeights,
      negativeWeightMode: { original: true, clamp: true, lockOne: true },
      metricsDdof: "number",
      mode: { answer: true, thinking: true, joint: true },
      thinkStart: "json",
      thinkEnd: "json",
      unclosedThinking: { empty: true, all: true },
      maskedTags: { skip: true, read: true },
    },
    delimiters: ({ mode }) => ({ need: [], take: mode === "joint" ? [] : ["thinkStart", "thinkEnd"] }),
  }),
  empg: estimator(empgAdvantage, {
    about: "advantages modulated by the entropy of the steps",
    page: "empg",
    answers: "token",
    reads: {
      tokens: "need",
      entropies: "need",
      advantages: "asked",
      rowAdvantages: "asked",
      rewards: "take",
      groups: "take",
      mask: "take",
      lengths: "leave",
    },
    oneOf: [["advantages", "rowAdvantages", "rewards"]],
    options: {
      grpoAdvantage: "json",
      start: "json",
      end: "json",
      head: "json",
      overlapping: "flag",
      includeEnd: { all: true, first: true, none: true },
      unterminated: { drop: true, keep: true },
      startsOpen: "flag",
      k: "number",
      kFuture: "number",
      epsilon: "number",
      nonFinite: { throw: true, propagate: true },
      zeta: "number",
      scope: { mask: true, segments: true, all: true },
    },
    delimiters: () => ({ need: ["start", "end"], take: ["head"] }),
  }),
  maxRl: estimator(maxRlAdvantage, {
    about: "centred scores over the mean of their group: MaxRL",
    page: RECIPES,
    ...outcome,
    options: { scale: { mean: true, signedMean: true }, epsilon: "number", singleton, nan, scoreOver },
  }),
  lambdaGrpo: estimator(lambdaGrpoAdvantage, {
    about: "grpo with a learnt preference for the length of responses: λ-GRPO",
    page: RECIPES,
    ...outcome,
    options: { lambda: "number", lengthScale: "number", epsilon: "number", scoreOver },
  }),
  treePo: estimator(treePoAdvantage, {
    about: "scores less the mean of each subtree that a response lies in: TreePO",
    page: RECIPES,
    answers: "row",
    reads: { ...outcomeReads, branches: "leave" },
    oneOf: [scored],
    options: { scoreOver },
  }),
  fipo: estimator(fipoAdvantage, {
    about: "grpo weighed by how the policy moved on later tokens: FIPO",
    page: RECIPES,
    answers: "token",
    reads: { ...outcomeReads, logProbs: "need", oldLogProbs: "need" },
    oneOf: [scored],
    options: { gamma: "number", clip: "number", scoreOver },
  }),
  rae: estimator(raeAdvantage, {
    about: "rewards less a running baseline of their role: RAE of SPIRAL",
    page: RECIPES,
    answers: "row",
    reads: { rewards: "need", roles: "need", state: "leave", tokenRewards: "leave", mask: "take", groups: "leave" },
    options: { decay: "number" },
  }),
  opd: estimator(opdAdvantage, {
    about: "a teacher's log-probs less the student's: on-policy distillation",
    page: RECIPES,
    answers: "token",
    reads: { teacherLogProbs: "need", studentLogProbs: "need", advantages: "asked", mask: "take" },
    options: { coefficient: "number" },
  }),
} as const;

// Not by name: the main entry passes on what is exported by name, the functions, and not the table.
export default ESTIMATORS;

/** An estimator of `computeAdvantages`. */
export type AdvantageName = keyof typeof ESTIMATORS;
