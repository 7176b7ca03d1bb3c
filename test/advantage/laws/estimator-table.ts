// Every estimator of computeAdvantages, in the variants whose laws differ, as functions of one kind of batch; and for each law
// that does not apply the reason.
import type { AdvantageName, AdvantageOptions } from "../../../lib";
import {
  fipoByDefinition,
  lambdaGrpoByDefinition,
  maxRlByDefinition,
  opdByDefinition,
  raeByDefinition,
  treePoByDefinition,
} from "./compositions";
import {
  cpgd,
  edgeGrpo,
  egpo,
  empg,
  fipo,
  gae,
  iwOpd,
  lambdaGrpo,
  maxent,
  miniLlm,
  multiReward,
  opd,
  optimalTokenBaseline,
  optimalValue,
  type Outcome,
  outcome,
  ppo,
  puff,
  rae,
  reinforcePlusPlus,
  remax,
  rlooWithKl,
  type Results,
  type Run,
  treePo,
  turnGae,
  turnReturns,
} from "./estimator-runs";
import {
  batchScale,
  type Merge,
  mergedCpgd,
  mergedGpg,
  normalisedRloo,
  normalizeThenSum,
  rawPpo,
  whitened,
  whitenedBaseline,
} from "./merging";
import { turnGaeByDefinition, turnReturnsByDefinition } from "./turns";
import type { CaseForm, Spared, TokenBatch } from "./token-batch";

/** What must hold, in the words of the tests. */
export const LAWS = {
  poison: "what lies under the mask changes no bit",
  zero: "advantages under the mask are 0",
  padding: "more columns of padding change no bit",
  packing: "packed rows are the padded ones without their padding",
  order: "rows in another order give their results in that order",
  labels: "the names of the groups do not matter",
  constant: "rows that all come to the same give exact zeros",
  split: "the parts of a batch give the whole",
} as const;
export type Law = keyof typeof LAWS;
export type Exemptions = Readonly<Partial<Record<Law, string>>>;

export interface Variant {
  readonly run: Run;
  /** The results of `run` by definition, slow and literal; where no test beside has it. */
  readonly definition?: (batch: TokenBatch) => Results;
  /** The options of `run` with which constant rows are the same at each token, too; `run` itself by default. */
  readonly constant?: Run;
  /** Why a law does not apply to this variant. */
  readonly exempt?: Exemptions;
  /** What is read under the mask by definition, and why. */
  readonly reads?: readonly [what: Spared, why: string];
  /** Default `"ragged"`. */
  readonly form?: CaseForm;
  /** In place of the estimator's. */
  readonly split?: Split;
}

/** Parts are on their own where they are whole groups, or a statistic of the batch is merged from them. */
type Split = "alone" | Merge;

export interface Estimator {
  readonly per: "token" | "row";
  readonly split: Split;
  readonly exempt?: Exemptions;
  readonly variants: Readonly<Record<string, Variant>>;
}

const NO_GROUPS: Exemptions = { labels: "there are no groups" };
const NO_COMPARISON: Exemptions = { ...NO_GROUPS, constant: "nothing is compared with a group or a batch" };
const NO_TOKENS: Exemptions = {
  poison: "there are no tokens, one number a row",
  zero: "there are no tokens, one number a row",
  padding: "there are no tokens, one number a row",
  packing: "there are no tokens, one number a row",
};

const ALL_IDS = ["ids", "the closing tag is sought from the first kept token to the row's end"] as const;
const WHOLE_STEPS = ["holes", "a step goes from delimiter to delimiter, turns of the environment included"] as const;

/** The variants that all of them have. `preset`: the name and what else the call needs. */
function outcomes<Name extends Outcome>(
  name: Name,
  presets: Readonly<Record<string, AdvantageOptions<Name>>>,
): Readonly<Record<string, Variant>> {
  const call = (options: object, rewards: "row" | "token"): Run =>
    outcome(name, options as AdvantageOptions<Name>, rewards);
  return {
    "rewards per row": { run: call({}, "row") },
    'rewards per token, scoreOver "kept"': { run: call({ scoreOver: "kept" }, "token") },
    'rewards per token, scoreOver "all"': {
      run: call({ scoreOver: "all" }, "token"),
      exempt: { poison: "the score is the sum over all positions, also those under the mask" },
    },
    ...Object.fromEntries(Object.entries(presets).map(([title, options]) => [title, { run: call(options, "row") }])),
  };
}

export const ESTIMATORS: Readonly<Record<AdvantageName, Estimator>> = {
  gae: {
    per: "token",
    split: whitened(gae({ gamma: 0.9, lambda: 0.8 }), gae({ gamma: 0.9, lambda: 0.8 })),
    exempt: NO_GROUPS,
    variants: {
      defaults: { run: gae({ gamma: 0.9, lambda: 0.8 }), constant: gae({ gamma: 1, lambda: 1 }) },
      'maskMode "cut"': {
        run: gae({ gamma: 0.9, lambda: 0.8, maskMode: "cut" }),
        constant: gae({ gamma: 1, lambda: 1 }),
      },
      'preset "verl"': {
        run: gae({ gamma: 0.9, lambda: 0.8, preset: "verl" }),
        exempt: {
          poison: "masked tokens have the carried advantage, and a return with their own value",
          zero: "masked tokens have the carried advantage, whitened",
          constant: "padding has advantage 0 before the whitening, which moves it by the mean",
        },
      },
    },
  },
  grpo: {
    per: "token",
    split: "alone",
    variants: outcomes("grpo", {
      'preset "verl"': { preset: "verl" },
      'preset "trl"': { preset: "trl" },
      'preset "openrlhf"': { preset: "openrlhf" },
      "not scaled": { scale: "none" },
    }),
  },
  passAtK: {
    per: "token",
    split: "alone",
    variants: outcomes("passAtK", { 'preset "verl"': { preset: "verl" } }),
  },
  rloo: { per: "token", split: "alone", variants: outcomes("rloo", { 'preset "verl"': { preset: "verl" } }) },
  turnGae: {
    per: "token",
    split: "alone",
    exempt: NO_COMPARISON,
    variants: {
      defaults: { run: turnGae({ gamma: 0.9, lambda: 0.8 }), definition: turnGaeByDefinition },
      transformMasked: {
        run: turnGae({ gamma: 0.9, lambda: 0.8, transformMasked: true }),
        exempt: { poison: "the return of a masked token is its value" },
      },
    },
  },
  turnReturns: {
    per: "token",
    split: "alone",
    exempt: NO_COMPARISON,
    variants: {
      defaults: { run: turnReturns({ gamma: 0.9 }), definition: (batch) => turnReturnsByDefinition(batch, "sum") },
      'reward "last"': {
        run: turnReturns({ gamma: 0.9, reward: "last" }),
        definition: (batch) => turnReturnsByDefinition(batch, "last"),
      },
    },
  },
  reinforcePlusPlus: {
    per: "token",
    split: whitened(reinforcePlusPlus({ gamma: 0.9 }), reinforcePlusPlus({ gamma: 0.9 })),
    exempt: NO_GROUPS,
    variants: {
      defaults: { run: reinforcePlusPlus({ gamma: 0.9 }), constant: reinforcePlusPlus({}) },
      'preset "verl-2026-01"': {
        run: reinforcePlusPlus({ gamma: 0.9, preset: "verl-2026-01" }),
        exempt: {
          poison: "the return of a masked token begins with its own reward",
          constant: "a masked token cuts the return off: tokens before it have 0, those behind it the reward",
        },
      },
    },
  },
  reinforcePlusPlusBaseline: {
    per: "token",
    split: whitenedBaseline,
    variants: outcomes("reinforcePlusPlusBaseline", { 'preset "verl"': { preset: "verl" } }),
  },
  remax: {
    per: "token",
    split: "alone",
    exempt: { ...NO_GROUPS, zero: "a masked token has its return, without a baseline" },
    variants: {
      defaults: {
        run: remax,
        exempt: { constant: "masked tokens have their return; the next variant looks at the others" },
      },
      "kept tokens": {
        run: (batch, backend) => ({
          advantages: Array.from(remax(batch, backend)["advantages"]!, (a, i) => (batch.mask[i] !== 0 ? a : 0)),
        }),
      },
    },
  },
  opo: { per: "token", split: "alone", variants: outcomes("opo", { 'preset "verl"': { preset: "verl" } }) },
  gpg: { per: "token", split: mergedGpg, variants: outcomes("gpg", { 'preset "verl"': { preset: "verl" } }) },
  optimalTokenBaseline: {
    per: "token",
    split: "alone",
    variants: {
      defaults: { run: optimalTokenBaseline({}) },
      'columns "kept"': {
        run: optimalTokenBaseline({ columns: "kept" }),
        constant: optimalTokenBaseline({ columns: "kept", zeroTail: false }), // the tail of the longest row has baseline 0
      },
      'preset "verl"': { run: optimalTokenBaseline({ preset: "verl" }) },
    },
  },
  multiReward: {
    per: "row",
    split: "alone",
    exempt: NO_TOKENS,
    variants: {
      defaults: { run: multiReward({}) },
      'preset "trl"': { run: multiReward({ preset: "trl" }) },
      'scale "batch"': { run: multiReward({ scale: "batch" }), split: batchScale },
      normalizeThenSum: {
        run: multiReward({ aggregation: "normalizeThenSum", epsilon: 1e-4 }),
        split: normalizeThenSum,
      },
    },
  },
  rlooWithKl: {
    per: "row",
    split: "alone",
    exempt: { zero: "one advantage a row" },
    variants: {
      defaults: { run: rlooWithKl({}) },
      'preset "trl"': { run: rlooWithKl({ preset: "trl" }) },
      normalize: { run: rlooWithKl({ normalize: true }), split: normalisedRloo },
    },
  },
  ppo: {
    per: "token",
    split: whitened(rawPpo, ppo({})),
    exempt: NO_GROUPS,
    variants: {
      defaults: { run: ppo({ whitenRewards: true }), constant: ppo({ gamma: 1, lambda: 1 }) },
      'preset "trl", a position behind each row': {
        run: ppo({ preset: "trl", klEstimator: "k3", whitenRewards: true }),
        constant: ppo({ preset: "trl", gamma: 1, lambda: 1 }),
        reads: ["after", "the position behind the last token has a value, and the score"],
        form: "behind",
      },
    },
  },
  optimalValue: {
    per: "row",
    split: "alone",
    exempt: NO_TOKENS,
    variants: {
      defaults: {
        run: optimalValue,
        // r less β·ln(mean of exp(r / β)) of its group, with β = 0.5.
        definition: ({ rewards, groups }) => ({
          advantages: rewards.map((reward, b) => {
            const gains = rewards.filter((_, other) => groups[other] === groups[b]).map((r) => Math.exp(r / 0.5));
            return reward - 0.5 * Math.log(gains.reduce((sum, gain) => sum + gain, 0) / gains.length);
          }),
        }),
      },
    },
  },
  maxent: {
    per: "token",
    split: "alone",
    variants: {
      defaults: { run: maxent({}) },
      "a reference": {
        run: maxent({ tau: 0.5, beta: 0.5 }),
        constant: maxent({ tau: 0.5 }), // the reference is not the same at each token
      },
      "summed log-probs": { run: maxent({ beta: 0.5, lengthNormalize: false }), constant: maxent({}) },
      "tau 0": { run: maxent({ tau: 0 }) },
    },
  },
  miniLlm: {
    per: "token",
    split: "alone",
    exempt: NO_GROUPS,
    variants: {
      defaults: { run: miniLlm({}) },
      lengthNormalization: { run: miniLlm({ lengthNormalization: true }) },
      "gamma 0": { run: miniLlm({ gamma: 0 }) },
      'preset "trl"': { run: miniLlm({ preset: "trl" }) },
      'preset "trl", lengthNormalization': {
        run: miniLlm({ preset: "trl", lengthNormalization: true }),
        exempt: {
          padding: "a masked step counts 1e-4 in the length, padding included",
          packing: "a masked step counts 1e-4 in the length, padding included",
        },
      },
    },
  },
  iwOpd: { per: "token", split: "alone", exempt: NO_GROUPS, variants: { defaults: { run: iwOpd } } },
  puff: {
    per: "token",
    split: "alone",
    exempt: {
      ...NO_GROUPS,
      poison: "there is no mask: every entry is a step",
      zero: "there is no mask: every entry is a step",
      padding: "there is no padding: a row ends where its entries do",
      constant: "nothing is compared with a group or a batch",
    },
    variants: {
      'delta "corrected"': { run: puff("corrected"), form: "full" },
      'delta "reward"': { run: puff("reward"), form: "full" },
    },
  },
  cpgd: {
    per: "token",
    split: mergedCpgd,
    exempt: NO_GROUPS,
    variants: {
      defaults: { run: cpgd({}) },
      'weighting "clipFilter"': { run: cpgd({ weighting: "clipFilter" }) },
      'weighting "none"': { run: cpgd({ weighting: "none" }) },
    },
  },
  edgeGrpo: {
    per: "token",
    split: "alone",
    variants: {
      defaults: { run: edgeGrpo({}) },
      'weightMode "zscore"': { run: edgeGrpo({ weightMode: "zscore" }) },
      'preset "egpo"': { run: edgeGrpo({ preset: "egpo" }) },
    },
  },
  egpo: {
    per: "token",
    split: "alone",
    variants: {
      defaults: { run: egpo({}) },
      "an opening tag": { run: egpo({ thinkStart: [1], mode: "thinking" }) },
      'negativeWeightMode "clamp"': { run: egpo({ negativeWeightMode: "clamp" }) },
      'mode "joint"': { run: egpo({ mode: "joint" }) },
      'preset "egpo"': { run: egpo({ preset: "egpo" }), reads: ALL_IDS },
      'preset "egpo-first"': { run: egpo({ preset: "egpo-first" }), reads: ALL_IDS },
    },
  },
  empg: {
    per: "token",
    split: "alone",
    exempt: {
      ...NO_GROUPS,
      zero: "a step includes what lies between its delimiters, and has its mean subtracted there",
      constant: "advantages are its input; nothing is compared",
      split: "the step entropies are scaled by their extremes over the batch, which has to be whole",
    },
    variants: {
      defaults: { run: empg({}), reads: WHOLE_STEPS },
      'scope "mask"': { run: empg({ scope: "mask" }), reads: WHOLE_STEPS },
      'preset "empg-literal"': { run: empg({ preset: "empg-literal" }), reads: WHOLE_STEPS },
    },
  },
  maxRl: {
    per: "token",
    split: "alone",
    variants: {
      ...outcomes("maxRl", {}),
      "by definition": { run: outcome("maxRl", {}, "row"), definition: maxRlByDefinition },
      'scale "signedMean"': { run: outcome("maxRl", { scale: "signedMean", epsilon: 0.01 }, "row") },
    },
  },
  lambdaGrpo: {
    per: "token",
    split: "alone",
    variants: {
      "long responses": { run: lambdaGrpo(2), definition: (batch) => lambdaGrpoByDefinition(batch, 2) },
      "short responses": { run: lambdaGrpo(-1.5), definition: (batch) => lambdaGrpoByDefinition(batch, -1.5) },
      "no preference": { run: lambdaGrpo(0), definition: (batch) => lambdaGrpoByDefinition(batch, 0) },
    },
  },
  treePo: {
    per: "token",
    split: "alone",
    variants: { "two levels": { run: treePo, definition: treePoByDefinition } },
  },
  fipo: {
    per: "token",
    split: "alone",
    variants: {
      "a policy that moved": { run: fipo("moved"), definition: (batch) => fipoByDefinition(batch, "c") },
      "a policy that did not": { run: fipo("same"), definition: (batch) => fipoByDefinition(batch, "b") },
    },
  },
  rae: {
    per: "token",
    split: "alone",
    exempt: {
      ...NO_COMPARISON,
      order: "each row moves the baseline of those behind it",
      split: "the baselines of one part are the state of the next",
    },
    variants: { defaults: { run: rae, definition: raeByDefinition } },
  },
  opd: {
    per: "token",
    split: "alone",
    exempt: NO_COMPARISON,
    variants: {
      alone: { run: opd("alone"), definition: (batch) => opdByDefinition(batch, false) },
      "beside other advantages": { run: opd("beside"), definition: (batch) => opdByDefinition(batch, true) },
    },
  },
};
