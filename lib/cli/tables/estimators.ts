// The estimators of computeAdvantages on a command line: what each reads of a rollout, and its options as flags. Both tables
// are held to the estimator's own types: an argument or an option that is missing here does not compile.
import type { AdvantageBatch, AdvantageName, AdvantageOptions } from "../../advantage/compute";
import type { ArgumentSource, Reads } from "./arguments-of-rollouts";
import type { FunctionOptions, OptionTable } from "./option-kinds";

/** What an estimator takes for a batch: an object of arrays, or the rewards alone with all else among the options. */
export interface EstimatorEntry extends FunctionOptions {
  readonly form: "batch" | "rewards" | "columns";
  readonly reads: Readonly<Record<string, "need" | "take" | "leave">>;
  /** `"row"`: one advantage per rollout; tokens need not be known. */
  readonly answers: "token" | "row";
  /** Rollouts of one prompt are compared with each other. */
  readonly grouped: boolean;
  /** Arguments that mean something else here than elsewhere. */
  readonly sources?: Readonly<Partial<Record<string, ArgumentSource>>>;
  /** The page of docs/advantage. */
  readonly page: string;
}

type ReadsOf<Name extends AdvantageName> = AdvantageBatch<Name> extends ArrayLike<unknown> | readonly ArrayLike<unknown>[]
  ? Readonly<Record<string, "need" | "take" | "leave">>
  : Reads<AdvantageBatch<Name>>;

type Entries = {
  readonly [Name in AdvantageName]: EstimatorEntry & {
    readonly reads: ReadsOf<Name>;
    readonly options: OptionTable<AdvantageOptions<Name>, "oldLogProbs" | "referenceLogProbs">;
  };
};

const maskMode = { skip: true, steps: true, cut: true } as const;
const singleton = { zero: true, raw: true, standard: true } as const;
const scoreOver = { all: true, kept: true } as const;
const group = { center: { mean: true, leaveOneOut: true, runnerUp: true, none: true }, scale: { std: true, none: true }, ddof: "number", epsilon: "number" } as const;
const sequenceWeights = {
  groupAdvantage: "json",
  scoreOver,
  lambdaMin: "number",
  lambdaMax: "number",
  epsilon: "number",
  emptyRows: { exclude: true, zero: true },
  nonFinite: { isolate: true, group: true, propagate: true },
  singletonWeight: { one: true, own: true, standard: true },
  zeroEntropy: { one: true, formula: true },
} as const;

const outcome = { rewards: "take", tokenLevelRewards: "take", mask: "take", groups: "need" } as const;
const tokenRewards = { tokenLevelRewards: "need", mask: "take" } as const;
const ofRewards = { form: "batch", answers: "row", grouped: true } as const;
const ofTokens = { form: "batch", answers: "token", grouped: false } as const;

export const ESTIMATORS: Entries = {
  gae: {
    ...ofTokens,
    page: "gae",
    presets: "gaeAdvantage",
    reads: { ...tokenRewards, values: "need", bootstrap: "take" },
    options: { gamma: "number", lambda: "number", maskMode, transformMasked: "flag", whitening: "json" },
  },
  grpo: {
    ...ofRewards,
    page: "outcome",
    presets: "groupAdvantage",
    reads: outcome,
    options: { ...group, varianceFloor: "number", singleton, nan: { propagate: true, abstain: true }, scoreOver },
  },
  grpoPassAtK: { ...ofRewards, page: "outcome", presets: "passAtKAdvantage", reads: outcome, options: { scale: group.scale, epsilon: "number", scoreOver } },
  rloo: { ...ofRewards, page: "outcome", presets: "leaveOneOutAdvantage", reads: outcome, options: { singleton, scoreOver } },
  reinforcePlusPlus: {
    ...ofTokens,
    page: "gae",
    presets: "reinforcePlusPlusAdvantage",
    reads: tokenRewards,
    options: { gamma: "number", maskMode, transformMasked: "flag", whitening: "json" },
  },
  reinforcePlusPlusBaseline: {
    ...ofTokens,
    grouped: true,
    page: "gae",
    presets: "reinforcePlusPlusBaselineAdvantage",
    reads: outcome,
    options: { singleton, whitening: "json", scoreOver },
  },
  remax: { ...ofTokens, page: "gae", reads: { ...tokenRewards, baselines: "need" }, options: {} },
  opo: { ...ofTokens, grouped: true, page: "outcome", presets: "opoAdvantage", reads: outcome, options: { singleton, scoreOver } },
  gpg: { ...ofRewards, page: "outcome", presets: "gpgAdvantage", reads: outcome, options: { normalizer: "number", singleton, scoreOver } },
  optimalTokenBaseline: {
    ...ofTokens,
    grouped: true,
    page: "optimal-token-baseline",
    presets: "optimalTokenBaselineAdvantage",
    reads: { ...tokenRewards, groups: "need", logProbs: "need", sumSquares: "need", importanceWeights: "take" },
    options: { columns: { position: true, kept: true }, zeroTail: "flag", epsilon: "number" },
  },
  multiReward: {
    form: "columns",
    answers: "row",
    grouped: true,
    page: "multi-reward",
    presets: "multiRewardAdvantage",
    reads: { groups: "need" },
    options: {
      weights: "json",
      aggregation: { sumThenNormalize: true, normalizeThenSum: true },
      scale: { group: true, batch: true, none: true },
      epsilon: "number",
    },
  },
  rlooWithKl: {
    form: "columns",
    answers: "row",
    grouped: true,
    page: "multi-reward",
    presets: "rlooAdvantage",
    reads: { groups: "need", mask: "take", oldLogProbs: "take", referenceLogProbs: "take" },
    options: { weights: "json", rewardClip: "json", beta: "number", normalize: "flag", epsilon: "number" },
  },
  ppo: {
    ...ofTokens,
    page: "ppo",
    presets: "ppoAdvantage",
    reads: { scores: "need", logProbs: "need", referenceLogProbs: "need", values: "need", mask: "take", tokens: "take" },
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
  },
  optimalValue: { form: "rewards", answers: "row", grouped: true, page: "optimal-value", reads: { groups: "need" }, options: { beta: "number" } },
  miniLlm: {
    ...ofTokens,
    page: "distillation",
    presets: "miniLlmAdvantage",
    reads: { studentLogProbs: "need", teacherLogProbs: "need", mask: "take" },
    options: { gamma: "number", lengthNormalization: "flag", maskMode: { skip: true, steps: true }, maskedWeight: "number" },
  },
  iwOpd: {
    ...ofTokens,
    page: "distillation",
    reads: { teacherLogProbs: "need", rolloutLogProbs: "need", mask: "take" },
    options: { gamma: "number", epsilon: "number" },
  },
  puff: {
    ...ofTokens,
    page: "puff",
    sources: { rewards: { per: "token", fields: ["token_rewards"] } },
    reads: { rewards: "need", values: "need", dones: "need", importance: "take" },
    options: { gamma: "number", lambda: "number", rhoClip: "number", cClip: "number", delta: { corrected: true, reward: true } },
  },
  cpgd: {
    form: "rewards",
    answers: "token",
    grouped: false,
    page: "cpgd",
    reads: { mask: "take" },
    options: { weighting: { std: true, clipFilter: true, none: true }, epsilon: "number", clip: "number", rewardLevel: { row: true, token: true } },
  },
  edgeGrpo: {
    ...ofTokens,
    grouped: true,
    page: "edge-grpo",
    presets: "edgeGrpoAdvantage",
    reads: { ...outcome, entropies: "need" },
    options: { ...sequenceWeights, weightMode: { ratio: true, zscore: true }, beta: "number", zClip: "number", varianceFloor: "number" },
  },
  egpo: {
    ...ofTokens,
    grouped: true,
    page: "egpo",
    presets: "egpoAdvantage",
    reads: { ...outcome, entropies: "take", oldLogProbs: "take", tokens: "take", promptLength: "leave", entropyMask: "take" },
    options: {
      ...sequenceWeights,
      negativeWeightMode: { original: true, clamp: true, lockOne: true },
      metricsDdof: "number",
      mode: { answer: true, thinking: true, joint: true },
      thinkEnd: "json",
      unclosedThinking: { empty: true, all: true },
    },
  },
  empg: {
    ...ofTokens,
    grouped: true,
    page: "empg",
    presets: "empgAdvantage",
    reads: { tokens: "need", entropies: "need", advantages: "take", rowAdvantages: "take", mask: "take", lengths: "leave" },
    options: {
      groupAdvantage: "json",
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
  },
};
