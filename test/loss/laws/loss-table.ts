// Every loss in the variants whose laws differ; and for each law that does not apply the reason.
import {
  type AggregationMode,
  aggregateLoss,
  type KlEstimatorName,
  negativeLogLikelihood,
  type PolicyLossName,
} from "../../../lib";
import type { TokenCase } from "../../advantage/laws/token-batch";
import {
  actorCritic,
  aggregate,
  bonus,
  distillation,
  listwise,
  penalty,
  policy,
  type Run,
  sequence,
  value,
} from "./loss-runs";

/** What must hold, in the words of the tests. */
export const LAWS = {
  poison: "what lies under the mask changes no bit",
  zero: "gradients under the mask are exactly 0",
  padding: "more columns of padding change no bit",
  packing: "packed rows are the padded ones without their padding",
  order: "rows in another order have their gradients in that order, and the same loss and metrics",
  split: "the parts of a batch give the whole",
  flat: "without advantages there is no policy gradient",
  nothing: "nothing kept: loss 0, gradients 0, finite metrics",
} as const;
export type Law = keyof typeof LAWS;
export type Exemptions = Readonly<Partial<Record<Law, string>>>;

/**
 * How parts make the whole: each knows the `"counts"` of the whole, and losses and gradients are added; it needs none, `"sum"`;
 * or they are means over rows, or over prompts, and weigh as many as they have.
 */
type Split = "counts" | "sum" | "rows" | "prompts";

export interface Variant {
  readonly run: Run;
  readonly exempt?: Exemptions;
  /** Every row has a kept token. */
  readonly full?: true;
  /** R counts rows without a kept token. */
  readonly countsEmpty?: boolean;
  /** Batches in which the index breaks a tie, so that rows in another order have another loss. */
  readonly tied?: (given: TokenCase) => boolean;
}

export interface Loss {
  readonly variants: Readonly<Record<string, Variant>>;
  readonly exempt?: Exemptions;
  readonly split: Split;
}

const band = { clipLow: 0.2, clipHigh: 0.28 };
const everything = ["kl", "entropy", "weights", "terms", "rows"] as const;
const PENALISED = { flat: "the KL penalty and the entropy bonus have gradients without advantages" } as const;
const COUNTED = { nothing: "a row without tokens is a term of ratio 1, which is asked for" } as const;

/** A loss alone, and with all that can stand beside it. */
function plainAndFull(name: PolicyLossName, options: object, more: object = {}): Loss {
  return {
    split: "counts",
    variants: {
      alone: { run: policy(name, { options }) },
      "advantages per row, mean of rows": {
        run: policy(name, { options, advantagesPer: "row", aggregation: "rowMean" }),
      },
      "with everything": {
        run: policy(name, { options: { ...options, ...more }, aggregation: "rowSum", with: everything }),
        exempt: PENALISED,
      },
    },
  };
}

/** A loss of one term a row, whose own count of rows has to be the one of the KL term when a batch is split. */
function perRow(name: PolicyLossName, options: object, empty: Exemptions): Loss {
  const counted = { ...options, emptyRows: "count" };
  return {
    split: "counts",
    variants: {
      alone: { run: policy(name, { options }) },
      "with everything": {
        run: policy(name, { options: counted, aggregation: "rowMean", with: everything }),
        exempt: { ...PENALISED, ...empty },
        countsEmpty: true,
      },
    },
  };
}

/** A loss of whole rows: advantages per row, no weights and no terms of tokens. */
function wholeRows(name: PolicyLossName, options: object, exempt: Exemptions): Loss {
  return {
    split: "counts",
    exempt,
    variants: {
      alone: { run: policy(name, { options, advantagesPer: "row" }) },
      "with KL and entropy, without some rows": {
        run: policy(name, { options, advantagesPer: "row", aggregation: "rowMean", with: ["kl", "entropy", "rows"] }),
        exempt: PENALISED,
      },
    },
  };
}

const COVARIANCES = { split: "covariances are taken to the means of the whole batch" } as const;

const PULLED = { flat: "the pull to the old policy has a gradient without advantages" } as const;

/** All but bypassLoss, which is made of others: bypass-loss.test.ts. */
const POLICIES: Readonly<Record<Exclude<PolicyLossName, "bypass">, Loss>> = {
  ppo: plainAndFull(
    "ppo",
    { ...band, dualClip: 2, ratioCap: 2 },
    { logClamp: 0.7, kl: { coefficient: 0.3, importanceCorrected: true } },
  ),
  gspo: plainAndFull("gspo", band, { maxLogRatio: 0.3, kl: { coefficient: 0.3, importanceCorrected: true } }),
  gspoToken: plainAndFull("gspoToken", band, { maxLogRatio: 0.3 }),
  gmpo: perRow("gmpo", { clip: 0.4 }, COUNTED),
  cispo: plainAndFull("cispo", { clipHigh: 0.5 }, { clipLow: 0.2, logClamp: 0.7 }),
  sapo: plainAndFull("sapo", {}, { logClamp: 0.7 }),
  vespo: plainAndFull("vespo", {}),
  luspo: perRow("luspo", band, {}),
  rloo: wholeRows("rloo", band, {}),
  reinforce: plainAndFull("reinforce", {}),
  clipCov: {
    split: "counts",
    exempt: COVARIANCES,
    variants: {
      "a few of the candidates": {
        run: policy("clipCov", { options: { ...band, share: 0.3, between: [0.05, 2], seed: 5 } }),
        exempt: { order: "candidates are drawn by their place in the batch" },
      },
      "all candidates": {
        run: policy("clipCov", { options: { ...band, share: 1, between: [0.05, 2], seed: 5 }, aggregation: "rowMean" }),
      },
      "with everything": {
        run: policy("clipCov", { options: { ...band, share: 1, between: [0.05, 2], seed: 5 }, with: everything }),
        exempt: PENALISED,
      },
    },
  },
  klCov: {
    split: "counts",
    exempt: COVARIANCES,
    variants: {
      "without its penalty": { run: policy("klCov", { options: { share: 0.3, coefficient: 0 } }) },
      "with everything": {
        run: policy("klCov", { options: { share: 0.3, coefficient: 0.5 }, aggregation: "rowSum", with: everything }),
        exempt: PENALISED,
        // With means of two numbers both products are ((a − b) / 2)·((c − d) / 2).
        tied: ({ padded }) => padded.mask.reduce((sum, on) => sum + on, 0) === 2,
      },
    },
  },
  cpgd: plainAndFull("cpgd", band),
  optimalValue: wholeRows(
    "optimalValue",
    { beta: 0.3 },
    { flat: "a regression: advantage 0 is a target as any other" },
  ),
  dppo: {
    split: "counts",
    variants: {
      ...plainAndFull("dppo", { low: 0.05, high: 0.1 }, { proximity: 0.2, ratioCap: 1.5 }).variants,
      "KL, the ratio with its gradient": {
        run: policy("dppo", { options: { measure: "binaryKl", low: 0.02, high: 0.05, surrogate: "ratio" } }),
      },
      "a band of ratios on both sides": {
        run: policy("dppo", { options: { measure: "ratio", low: 0.2, high: 0.28, sides: "both", logClamp: 0.7 } }),
      },
    },
  },
  dppoTv: plainAndFull("dppoTv", { low: 0.05, high: 0.1 }, { proximity: 0.2, ratioCap: 1.5 }),
  dppoKl: plainAndFull("dppoKl", { low: 0.02, high: 0.05, surrogate: "ratio" }),
  dro: {
    ...plainAndFull("dro", { beta: 0.3 }),
    exempt: PULLED,
  },
  kimi: { ...plainAndFull("kimi", { beta: 0.3 }), exempt: PULLED },
  topr: plainAndFull("topr", { negativeWeight: 2 }),
  segmentRatio: plainAndFull("segmentRatio", band),
  flowRl: wholeRows("flowRl", { beta: 2 }, { flat: "a regression: advantage 0 is a target as any other" }),
  real: wholeRows(
    "real",
    { tau: 0.5 },
    {
      flat: "a classification: advantage 0 is a bad row",
      split: "rows of all parts stand in one logarithm",
    },
  ),
};

const MODES: readonly AggregationMode[] = ["tokenMean", "rowMean", "rowSum", "fixedLength"];
const perMode = (run: (mode: AggregationMode) => Run): Record<string, Variant> =>
  Object.fromEntries(MODES.map((mode) => [mode, { run: run(mode) }]));

const NO_ADVANTAGES = { flat: "has no advantages" } as const;
const ESTIMATORS: readonly KlEstimatorName[] = ["k1", "abs", "k2", "k3", "k1+", "abs+", "k3+"];

/** The losses that are no policy losses. */
const OTHERS: Readonly<Record<string, Loss>> = {
  valueLoss: {
    split: "counts",
    exempt: NO_ADVANTAGES,
    variants: {
      ...perMode((mode) => value(0.2, mode)),
      "not clipped": { run: value(undefined, "tokenMean") },
      "Huber's error": { run: value(0.2, "rowMean", 0.3) },
    },
  },
  actorCriticLoss: { split: "counts", variants: perMode(actorCritic) },
  klPenalty: {
    split: "sum",
    exempt: NO_ADVANTAGES,
    variants: {
      ...Object.fromEntries(ESTIMATORS.map((name) => [name, { run: penalty(name) }])),
      "k3, clamped": { run: penalty("k3", { logClamp: 0.8, valueClamp: 0.2 }) },
    },
  },
  entropyBonus: { split: "counts", exempt: NO_ADVANTAGES, variants: perMode(bonus) },
  aggregateLoss: {
    split: "counts",
    exempt: NO_ADVANTAGES,
    variants: perMode((mode) => aggregate(mode, aggregateLoss)),
  },
  negativeLogLikelihood: {
    split: "counts",
    exempt: NO_ADVANTAGES,
    variants: perMode((mode) => aggregate(mode, negativeLogLikelihood)),
  },
  sequencePolicyObjective: {
    split: "rows",
    exempt: { nothing: "a sequence without tokens is refused, or adds its advantage at ratio 1" },
    variants: { "groups of rewards": { run: sequence } },
  },
  listwisePolicyLoss: {
    split: "prompts",
    exempt: { nothing: "a completion without tokens is refused" },
    variants: {
      "mean log-probs": { run: listwise(true), full: true },
      "summed log-probs": { run: listwise(false), full: true },
    },
  },
  distillationLoss: {
    split: "sum",
    exempt: NO_ADVANTAGES,
    variants: {
      "forward KL": { run: distillation({ beta: 0, reduction: "sum" }) },
      "Jensen-Shannon": { run: distillation({ beta: 0.5, reduction: "sum" }) },
      "reverse KL, top 2": { run: distillation({ beta: 1, reduction: "sum", topK: 2 }) },
      "mean over tokens": {
        run: distillation({ beta: 0.3 }),
        exempt: { split: 'its mean takes no counts; reduction "sum" is for parts' },
      },
    },
  },
};

export const LOSSES: Readonly<Record<string, Loss>> = { ...POLICIES, ...OTHERS };
