// The policy losses: one table, which policyLoss, policyLossFromLogits, the command line and the docs read. A new loss is a file
// with its function, and an import, an export and an entry here. The function of "x" is xLoss. What others are made of by composition
// is in compositions.ts, and has its page in docs/recipes.md.
import type { OptionKind, OptionKinds, Readings } from "../../core/option-kinds";
import { type AggregationName, AGGREGATIONS } from "../../presets/aggregations";
import { bypassLoss } from "./bypass-loss";
import CISPO, { cispoLoss } from "./cispo-loss";
import { clipCovLoss } from "./clip-cov-loss";
import { dppoKlLoss, dppoTvLoss, flowRlLoss, realLoss, segmentRatioLoss, toprLoss } from "./compositions";
import CPGD, { cpgdLoss } from "./cpgd-loss";
import { dppoLoss } from "./dppo-loss";
import { droLoss } from "./dro-loss";
import { gmpoLoss } from "./gmpo-loss";
import { gspoLoss, gspoTokenLoss } from "./gspo-loss";
import { klCovLoss } from "./kl-cov-loss";
import { luspoLoss } from "./luspo-loss";
import { optimalValueLoss } from "./optimal-value-loss";
import PPO, { ppoLoss } from "./ppo-loss";
import REINFORCE, { reinforceLoss } from "./reinforce-loss";
import { rlooLoss } from "./rloo-loss";
import SAPO, { sapoLoss } from "./sapo-loss";
import { vespoLoss } from "./vespo-loss";
import type { PolicyLossResult } from "./policy-loss-result";

export * from "./bypass-loss";
export * from "./cispo-loss";
export * from "./clip-cov-loss";
export * from "./cpgd-loss";
export * from "./dppo-loss";
export * from "./dro-loss";
export * from "./gmpo-loss";
export * from "./gspo-loss";
export * from "./kl-cov-loss";
export * from "./luspo-loss";
export * from "./optimal-value-loss";
export * from "./ppo-loss";
export * from "./reinforce-loss";
export * from "./rloo-loss";
export * from "./sapo-loss";
export { trustRegionMask } from "./trust-region";
export type { TrustRegion, TrustRegionOptions } from "./trust-region";
export * from "./vespo-loss";

interface LossFacts<Batch, Options> {
  /** What it computes, in a few words. */
  readonly about: string;
  /** The page of docs/loss. */
  readonly page: string;
  /** Advantages are one per row. */
  readonly ofRows?: boolean;
  /** The arrays of its batch. */
  readonly reads: Readings<Batch>;
  readonly options: OptionKinds<Options>;
}

type Compute = (batch: never, options: never) => PolicyLossResult;

/** An entry of the table, held to the types of its function. */
function lossEntry<F extends Compute>(
  compute: F,
  facts: LossFacts<Parameters<F>[0], NonNullable<Parameters<F>[1]>>,
): { readonly compute: F } & LossFacts<Parameters<F>[0], NonNullable<Parameters<F>[1]>> {
  return { compute, ...facts };
}

const frameworks = Object.fromEntries(Object.keys(AGGREGATIONS).map((name) => [name, true])) as Readonly<
  Record<AggregationName, true>
>;

const modes = {
  tokenMean: true,
  rowMean: true,
  rowSum: true,
  fixedLength: true,
  tokenSum: true,
  ...frameworks,
} as const;

const every = {
  aggregation: modes,
  entropyAggregation: modes,
  metricNames: { verl: true, trl: true, trlPpo: true, openrlhf: true, pufferlib: true, skyrl: true },
  klClamps: "json",
  klImportanceCorrected: "flag",
  tokens: "number",
  rows: "number",
  length: "number",
  workers: "number",
  accumulation: "number",
  stepsPerGeneration: "number",
  emptyRows: { skip: true, count: true },
  kl: "json",
  entropyBonus: "json",
} as const satisfies Readonly<Record<string, OptionKind>>;

const clip = { clip: "number", clipLow: "number", clipHigh: "number" } as const;
const level = { ratioLevel: { token: true, sequence: true } } as const;
const ppo = { ...clip, dualClip: "number", logClamp: "number", ratioCap: "number" } as const;
const rowRatio = { ...clip, ratioCap: "number", maxLogRatio: "number" } as const;

const region = {
  low: "json",
  high: "json",
  sides: { advantage: true, advantageOrLow: true, both: true },
  surrogate: { weight: true, ratio: true },
  ratioCap: "number",
  logClamp: "number",
  proximity: "number",
} as const;
const RECIPES = "../recipes";

const reads = {
  logProbs: "need",
  oldLogProbs: "take",
  advantages: "need",
  referenceLogProbs: "take",
  samplerLogProbs: "take",
  entropies: "take",
  rolloutWeights: "take",
  mask: "take",
  termMask: "take",
  rowMask: "take",
} as const;

const LOSSES = {
  ppo: {
    ...lossEntry(ppoLoss, {
      about: "the clipped surrogate: PPO, GRPO, DAPO, dual clip",
      page: "ppo",
      reads,
      options: { ...every, ...ppo },
    }),
    tokenMap: PPO,
  },
  gspo: lossEntry(gspoLoss, {
    about: "one clipped ratio a row",
    page: "gspo",
    reads,
    options: { ...every, ...rowRatio, ratioTo: { old: true, sampler: true } },
  }),
  gspoToken: lossEntry(gspoTokenLoss, {
    about: "gspo with advantages per token",
    page: "gspo",
    reads,
    options: { ...every, ...rowRatio },
  }),
  gmpo: lossEntry(gmpoLoss, {
    about: "the clipped geometric mean of a row",
    page: "gmpo",
    reads,
    options: { ...every, ...clip, countEpsilon: "number" },
  }),
  cispo: {
    ...lossEntry(cispoLoss, {
      about: "clipped importance weights on log-probs",
      page: "cispo",
      reads,
      options: { ...every, ...level, clipLow: "number", clipHigh: "number", logClamp: "number" },
    }),
    tokenMap: CISPO,
  },
  sapo: {
    ...lossEntry(sapoLoss, {
      about: "a sigmoid in place of clipping",
      page: "sapo",
      reads,
      options: {
        ...every,
        ...level,
        temperaturePositive: "number",
        temperatureNegative: "number",
        logClamp: "number",
      },
    }),
    tokenMap: SAPO,
  },
  vespo: lossEntry(vespoLoss, {
    about: "a smooth weight of the row's ratio",
    page: "vespo",
    reads,
    options: {
      ...every,
      shapePositive: "number",
      ratePositive: "number",
      shapeNegative: "number",
      rateNegative: "number",
      rolloutWeightsOver: { kept: true, all: true },
    },
  }),
  luspo: lossEntry(luspoLoss, {
    about: "gspo with rows weighed by their length",
    page: "luspo",
    reads,
    options: { ...every, ...rowRatio, ratioTo: { old: true, sampler: true } },
  }),
  rloo: lossEntry(rlooLoss, {
    about: "one clipped ratio a row, advantages per row",
    page: "rloo",
    ofRows: true,
    reads: { ...reads, oldSequenceLogProbs: "take" },
    options: { ...every, ...clip },
  }),
  reinforce: {
    ...lossEntry(reinforceLoss, {
      about: "the plain policy gradient: REINFORCE, GPG",
      page: "reinforce",
      reads,
      options: every,
    }),
    tokenMap: REINFORCE,
  },
  clipCov: lossEntry(clipCovLoss, {
    about: "ppo without the tokens of high covariance",
    page: "clip-cov",
    reads,
    options: { ...every, ...clip, share: "number", between: "json", seed: "number" },
  }),
  klCov: lossEntry(klCovLoss, {
    about: "a KL penalty at the tokens of high covariance",
    page: "kl-cov",
    reads,
    options: { ...every, share: "number", coefficient: "number" },
  }),
  cpgd: {
    ...lossEntry(cpgdLoss, {
      about: "the log-prob itself clipped",
      page: "cpgd",
      reads,
      options: { ...every, ...clip },
    }),
    tokenMap: CPGD,
  },
  optimalValue: lossEntry(optimalValueLoss, {
    about: "regression on advantages of A*-PO",
    page: "optimal-value",
    ofRows: true,
    reads: { ...reads, oldSequenceLogProbs: "take" },
    options: { ...every, beta: "number" },
  }),
  dppo: lossEntry(dppoLoss, {
    about: "the policy gradient inside of a trust region on probabilities",
    page: "dppo",
    reads,
    options: { ...every, ...region, measure: { ratio: true, probability: true, binaryKl: true } },
  }),
  dppoTv: lossEntry(dppoTvLoss, {
    about: "dppo with a bound on how far a probability moves",
    page: RECIPES,
    reads,
    options: { ...every, ...region },
  }),
  dppoKl: lossEntry(dppoKlLoss, {
    about: "dppo with a bound on the KL of a token",
    page: RECIPES,
    reads,
    options: { ...every, ...region },
  }),
  dro: lossEntry(droLoss, {
    about: "the policy gradient with a quadratic pull to the old policy",
    page: "dro",
    reads,
    options: { ...every, beta: "number" },
  }),
  kimi: lossEntry(droLoss, {
    about: "dro, by the name of Kimi k1.5, whose τ is beta",
    page: RECIPES,
    reads,
    options: { ...every, beta: "number" },
  }),
  topr: lossEntry(toprLoss, {
    about: "good rows as they are, the others with ratios of at most 1: TOPR",
    page: RECIPES,
    reads: { ...reads, rewards: "take" },
    options: { ...every, positiveWeight: "number", negativeWeight: "number" },
  }),
  segmentRatio: lossEntry(segmentRatioLoss, {
    about: "one clipped ratio a run of kept tokens, as for turns",
    page: RECIPES,
    reads,
    options: { ...every, ...clip },
  }),
  flowRl: lossEntry(flowRlLoss, {
    about: "the flow of rewards: a regression of log-probs on rewards, with a learnt log Z",
    page: RECIPES,
    ofRows: true,
    reads: { ...reads, referenceLogProbs: "need", logZ: "take" },
    options: { ...every, beta: "number", clip: "number" },
  }),
  real: lossEntry(realLoss, {
    about: "rewards as labels: a classification of rows by their ratio",
    page: RECIPES,
    ofRows: true,
    reads: { ...reads, groups: "take" },
    options: { ...every, tau: "number" },
  }),
  bypass: lossEntry(bypassLoss, {
    about: "ppo or reinforce straight from the sampler",
    page: "bypass",
    reads: {
      logProbs: "need",
      advantages: "need",
      referenceLogProbs: "take",
      samplerLogProbs: "need",
      entropies: "take",
      mask: "take",
      termMask: "take",
      rowMask: "take",
    },
    options: {
      ...every,
      ...ppo,
      objective: { clip: true, reinforce: true },
      correction: "json",
      correctionConventions: "json",
    },
  }),
} as const;

// Not by name: the main entry passes on what is exported by name, the functions, and not the table.
export default LOSSES;

/** A loss of `policyLoss`. */
export type PolicyLossName = keyof typeof LOSSES;
