// The losses of policyLoss on a command line: their options as flags, held to the types of the losses.
import type { PolicyLossBatch, PolicyLossName, PolicyLossOptionsOf } from "../../loss/policy";
import { AGGREGATIONS } from "../../presets/aggregations";
import type { AggregationName } from "../../presets/aggregations";
import type { Reads } from "./arguments-of-rollouts";
import type { FunctionOptions, Kind, OptionTable } from "./option-kinds";

export interface LossEntry extends FunctionOptions {
  readonly reads: Readonly<Record<string, "need" | "take" | "leave">>;
  /** Advantages are one per rollout. */
  readonly ofRows?: boolean;
  /** The page of docs/loss. */
  readonly page: string;
}

/** Every option of a union of options. */
type AllOf<Union> = { readonly [Name in Union extends unknown ? keyof Union : never]: Union extends unknown ? (Name extends keyof Union ? Union[Name] : never) : never };

type Entries = {
  readonly [Name in PolicyLossName]: LossEntry & {
    readonly reads: Reads<PolicyLossBatch<Name>>;
    readonly options: OptionTable<AllOf<PolicyLossOptionsOf<Name>>, "permutation">;
  };
};

const frameworks = Object.fromEntries(Object.keys(AGGREGATIONS).map((name) => [name, true])) as Readonly<Record<AggregationName, true>>;

const every = {
  aggregation: { tokenMean: true, rowMean: true, rowSum: true, fixedLength: true, ...frameworks },
  metricNames: { verl: true, trl: true, trlPpo: true, openrlhf: true, pufferlib: true },
  klClamps: "json",
  tokens: "number",
  rows: "number",
  length: "number",
  workers: "number",
  accumulation: "number",
  emptyRows: { skip: true, count: true },
  kl: "json",
  entropyBonus: "json",
} as const satisfies Readonly<Record<string, Kind>>;

const clip = { clip: "number", clipLow: "number", clipHigh: "number" } as const;
const ppo = { ...clip, dualClip: "number", logClamp: "number", ratioCap: "number" } as const;
const rowRatio = { ...clip, ratioCap: "number", maxLogRatio: "number" } as const;

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

export const LOSSES: Entries = {
  ppo: { page: "ppo", presets: "ppoLoss", reads, options: { ...every, ...ppo } },
  gspo: { page: "gspo", presets: "gspoLoss", reads, options: { ...every, ...rowRatio, ratioTo: { old: true, sampler: true } } },
  gspoToken: { page: "gspo", presets: "gspoTokenLoss", reads, options: { ...every, ...rowRatio } },
  gmpo: { page: "gmpo", presets: "gmpoLoss", reads, options: { ...every, ...clip, countEpsilon: "number" } },
  cispo: { page: "cispo", presets: "cispoLoss", reads, options: { ...every, clipLow: "number", clipHigh: "number", logClamp: "number" } },
  sapo: {
    page: "sapo",
    presets: "sapoLoss",
    reads,
    options: { ...every, temperaturePositive: "number", temperatureNegative: "number", logClamp: "number" },
  },
  vespo: {
    page: "vespo",
    presets: "vespoLoss",
    reads,
    options: {
      ...every,
      shapePositive: "number",
      ratePositive: "number",
      shapeNegative: "number",
      rateNegative: "number",
      rolloutWeightsOver: { kept: true, all: true },
    },
  },
  luspo: { page: "luspo", presets: "luspoLoss", reads, options: { ...every, ...rowRatio, ratioTo: { old: true, sampler: true } } },
  rloo: { page: "rloo", presets: "rlooLoss", ofRows: true, reads: { ...reads, oldSequenceLogProbs: "take" }, options: { ...every, ...clip } },
  reinforce: { page: "reinforce", presets: "reinforceLoss", reads, options: every },
  clipCov: { page: "clip-cov", presets: "clipCovLoss", reads, options: { ...every, ...clip, share: "number", between: "json", seed: "number" } },
  klCov: { page: "kl-cov", presets: "klCovLoss", reads, options: { ...every, share: "number", coefficient: "number" } },
  cpgd: { page: "cpgd", presets: "cpgdLoss", reads, options: { ...every, ...clip } },
  optimalValue: { page: "optimal-value", ofRows: true, reads, options: { ...every, beta: "number" } },
  bypass: {
    page: "bypass",
    presets: "bypassLoss",
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
    options: { ...every, ...ppo, objective: { clip: true, reinforce: true }, correction: "json", correctionConventions: "json" },
  },
};
