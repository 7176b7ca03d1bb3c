// Every policy loss in the settings in which the tests hold it to its definition, and what it refuses.
import type { PolicyLossName } from "../../../lib";
import type { KlSettings, LossSettings } from "../../oracle/policy-loss";

/** What is changed in a call that is fine, the argument that is named, and the code. */
export type Case = readonly [name: string, changes: object, code: string];

export const [OPTION, SHAPE, DTYPE] = ["ERR_SURPRISAL_OPTION", "ERR_SURPRISAL_SHAPE", "ERR_SURPRISAL_DTYPE"] as const;
export const f32 = (n: number): Float32Array => new Float32Array(n).fill(-0.5);

export const band = { clipLow: 0.2, clipHigh: 0.28 };
export const none = { clipLow: Infinity, clipHigh: Infinity };

export interface Checked {
  readonly settings: LossSettings;
  /** Options of the function beyond aggregation, KL and backend. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The loss takes one advantage a row only. */
  readonly perRow?: true;
  /** Rollout weights have no place in it. */
  readonly noFactors?: true;
  /** It says itself what a row weighs: only the KL term follows the aggregation. */
  readonly aggregationFor: "all" | "kl";
  /** Which ratio multiplies a corrected KL term. */
  readonly ratio: NonNullable<KlSettings["corrected"]>;
}

interface Chain {
  readonly options: object;
  readonly settings: LossSettings;
  /** The ratio of an importance-corrected KL term; absent: not corrected. */
  readonly ratio?: NonNullable<KlSettings["corrected"]>;
}

export const PRESET: Case = ["preset", { preset: "tensorflow" }, OPTION];
export const BAND: readonly Case[] = [
  PRESET,
  ["clip", { clip: 0.2, clipHigh: 0.2 }, OPTION],
  ["clip", { clip: -0.1 }, OPTION],
  ["clip", { clip: NaN }, OPTION],
  ["clipLow", { clip: undefined, clipHigh: 0.2 }, OPTION],
  ["clipHigh", { clip: undefined, clipLow: 0.2 }, OPTION],
  ["clipLow", { clip: undefined, clipLow: -0.1, clipHigh: 0.2 }, OPTION],
  ["clipHigh", { clip: undefined, clipLow: 0.1, clipHigh: "0.2" }, OPTION],
];
const WHOLE_ROWS: readonly Case[] = [
  ["advantages", { advantages: f32(6) }, SHAPE],
  ["advantagesPer", { advantages: f32(6), advantagesPer: "token" }, OPTION],
  ["rolloutWeights", { rolloutWeights: f32(6) }, SHAPE],
  ["rolloutWeightsPer", { rolloutWeights: f32(6), rolloutWeightsPer: "token" }, OPTION],
  ["termMask", { termMask: new Uint8Array(6) }, OPTION],
];

interface PolicyLossFacts {
  /** Settings in the words of the oracle and of the function. None: what the loss selects is looked at first (gradients.test.ts). */
  readonly defined: readonly Checked[];
  /** From the logits to their gradient. */
  readonly chain: Chain;
  /** Options that are fine, and what it refuses beside what all refuse. */
  readonly refused: readonly [options: object, cases: readonly Case[]];
}

/** Made of others: bypass-loss.test.ts, trust-region.test.ts and compositions.test.ts have their definitions. */
export const COMPOSED = ["bypass", "dppo", "dppoTv", "dppoKl", "dro", "kimi", "flowRl", "real"] as const;
export type OwnName = Exclude<PolicyLossName, (typeof COMPOSED)[number]>;

export const POLICY_LOSSES: Readonly<Record<OwnName, PolicyLossFacts>> = {
  ppo: {
    defined: [
      { settings: band, options: band, aggregationFor: "all", ratio: "token" },
      {
        settings: { ...band, dualClip: 1.5 },
        options: { ...band, dualClip: 1.5 },
        aggregationFor: "all",
        ratio: "token",
      },
      {
        settings: { ...band, ratioCap: 1.6 },
        options: { ...band, ratioCap: 1.6 },
        aggregationFor: "all",
        ratio: "token",
      },
      {
        settings: { ...none, logClamp: 0.9 },
        options: { ...none, logClamp: 0.9 },
        aggregationFor: "all",
        ratio: "token",
      },
    ],
    chain: { options: { ...band, dualClip: 3 }, settings: { ...band, dualClip: 3 }, ratio: "token" },
    refused: [
      { clip: 0.2 },
      [
        ...BAND,
        ["dualClip", { dualClip: 1 }, OPTION],
        ["ratioCap", { ratioCap: 0 }, OPTION],
        ["logClamp", { logClamp: NaN }, OPTION],
      ],
    ],
  },
  gspo: {
    defined: [
      { settings: band, options: band, aggregationFor: "all", ratio: "mean" },
      {
        settings: { ...none, maxLogRatio: 0.1 },
        options: { ...none, maxLogRatio: 0.1 },
        aggregationFor: "all",
        ratio: "mean",
      },
    ],
    chain: { options: band, settings: band, ratio: "mean" },
    refused: [
      { clip: 0.2 },
      [
        ...BAND,
        ["maxLogRatio", { maxLogRatio: -1 }, OPTION],
        ["ratioTo", { ratioTo: "reference" }, OPTION],
        ["samplerLogProbs", { ratioTo: "sampler" }, OPTION],
      ],
    ],
  },
  gspoToken: {
    defined: [
      { settings: band, options: band, aggregationFor: "all", ratio: "local" },
      {
        settings: { ...none, maxLogRatio: 0.1 },
        options: { ...none, maxLogRatio: 0.1 },
        aggregationFor: "all",
        ratio: "local",
      },
    ],
    chain: { options: band, settings: band },
    refused: [{ clip: 0.2 }, [...BAND, ["ratioCap", { ratioCap: NaN }, OPTION]]],
  },
  gmpo: {
    defined: [
      {
        settings: { clipLow: 0.4, clipHigh: 0.3 },
        options: { clipLow: 0.4, clipHigh: 0.3 },
        aggregationFor: "kl",
        ratio: "token",
      },
      {
        settings: { clipLow: 0.4, clipHigh: 0.4, countEpsilon: 1e-8 },
        options: { clip: 0.4, countEpsilon: 1e-8 },
        aggregationFor: "kl",
        ratio: "token",
      },
    ],
    chain: { options: { clip: 0.4 }, settings: { clipLow: 0.4, clipHigh: 0.4 } },
    refused: [{ clip: 0.4 }, [...BAND, ["countEpsilon", { countEpsilon: -1 }, OPTION]]],
  },
  cispo: {
    defined: [
      { settings: { clipLow: Infinity, clipHigh: 1 }, options: { clipHigh: 1 }, aggregationFor: "all", ratio: "token" },
      { settings: { ...band, logClamp: 1 }, options: { ...band, logClamp: 1 }, aggregationFor: "all", ratio: "token" },
    ],
    chain: { options: { clipHigh: 0.5 }, settings: { clipLow: Infinity, clipHigh: 0.5 }, ratio: "token" },
    refused: [
      { clipHigh: 1 },
      [
        PRESET,
        ["clipHigh", { clipHigh: undefined }, OPTION],
        ["clipHigh", { clipHigh: -1 }, OPTION],
        ["clipLow", { clipLow: NaN }, OPTION],
      ],
    ],
  },
  sapo: {
    defined: [
      { settings: { ...none, temperatures: [1, 1.05] }, options: {}, aggregationFor: "all", ratio: "token" },
      {
        settings: { ...none, temperatures: [2, 3], logClamp: 0.9 },
        options: { temperaturePositive: 2, temperatureNegative: 3, logClamp: 0.9 },
        aggregationFor: "all",
        ratio: "token",
      },
    ],
    chain: { options: {}, settings: { ...none, temperatures: [1, 1.05] } },
    refused: [
      {},
      [
        PRESET,
        ["temperaturePositive", { temperaturePositive: 0 }, OPTION],
        ["temperatureNegative", { temperatureNegative: NaN }, OPTION],
      ],
    ],
  },
  vespo: {
    defined: [
      {
        settings: { ...none, gamma: { positive: [2, 3], negative: [3, 2] } },
        options: {},
        aggregationFor: "all",
        ratio: "token",
      },
      {
        settings: { ...none, gamma: { positive: [1, 0.5], negative: [0, 1] } },
        options: { shapePositive: 1, ratePositive: 0.5, shapeNegative: 0, rateNegative: 1 },
        aggregationFor: "all",
        ratio: "token",
      },
    ],
    chain: { options: {}, settings: { ...none, gamma: { positive: [2, 3], negative: [3, 2] } } },
    refused: [
      {},
      [
        PRESET,
        ["shapePositive", { shapePositive: -1 }, OPTION],
        ["rateNegative", { rateNegative: 0 }, OPTION],
        ["rolloutWeightsOver", { rolloutWeightsOver: "rows" }, OPTION],
      ],
    ],
  },
  luspo: {
    defined: [{ settings: band, options: band, aggregationFor: "kl", ratio: "mean" }],
    chain: { options: band, settings: band, ratio: "mean" },
    refused: [{ clip: 0.2 }, BAND],
  },
  rloo: {
    defined: [{ settings: band, options: band, perRow: true, noFactors: true, aggregationFor: "kl", ratio: "sum" }],
    chain: { options: band, settings: band, ratio: "sum" },
    refused: [{ clip: 0.2 }, [...BAND, ...WHOLE_ROWS, ["oldSequenceLogProbs", { oldSequenceLogProbs: f32(6) }, SHAPE]]],
  },
  reinforce: {
    defined: [{ settings: none, options: {}, aggregationFor: "all", ratio: "token" }],
    chain: { options: {}, settings: none },
    refused: [{}, [PRESET]],
  },
  clipCov: {
    defined: [],
    chain: { options: { ...band, share: 0.4, between: [-10, 10], seed: 2 }, settings: band },
    refused: [
      { clip: 0.2, seed: 1 },
      [
        ...BAND,
        ["seed", { seed: undefined }, OPTION],
        ["seed", { seed: -1 }, OPTION],
        ["share", { share: 2 }, OPTION],
        ["between", { between: [1] }, OPTION],
        ["between[1]", { between: [1, NaN] }, OPTION],
        ["permutation", { seed: undefined, permutation: Int32Array.of(0) }, SHAPE],
      ],
    ],
  },
  klCov: {
    defined: [],
    chain: { options: { share: 0.4, coefficient: 0.7 }, settings: { ...none, coefficient: 0.7 } },
    refused: [{}, [PRESET, ["share", { share: NaN }, OPTION], ["coefficient", { coefficient: -1 }, OPTION]]],
  },
  cpgd: {
    defined: [
      { settings: band, options: band, aggregationFor: "all", ratio: "token" },
      { settings: { clipLow: 1, clipHigh: 1 }, options: { clip: 1 }, aggregationFor: "all", ratio: "token" },
    ],
    chain: { options: band, settings: band },
    refused: [{ clip: 0.2 }, BAND],
  },
  optimalValue: {
    defined: [
      {
        settings: { ...none, coefficient: 0.3 },
        options: { beta: 0.3 },
        perRow: true,
        noFactors: true,
        aggregationFor: "kl",
        ratio: "sum",
      },
    ],
    chain: { options: { beta: 0.3 }, settings: { ...none, coefficient: 0.3 } },
    refused: [{ beta: 1 }, [...WHOLE_ROWS, ["beta", { beta: 0 }, OPTION], ["beta", { beta: undefined }, OPTION]]],
  },
  topr: {
    defined: [
      { settings: { ...none, temperatures: [1, 1] }, options: {}, aggregationFor: "all", ratio: "token" },
      {
        settings: { ...none, temperatures: [0.5, 2] },
        options: { positiveWeight: 0.5, negativeWeight: 2 },
        aggregationFor: "all",
        ratio: "token",
      },
    ],
    chain: { options: {}, settings: { ...none, temperatures: [1, 1] }, ratio: "token" },
    refused: [
      {},
      [
        ["positiveWeight", { positiveWeight: -1 }, OPTION],
        ["negativeWeight", { negativeWeight: NaN }, OPTION],
      ],
    ],
  },
  segmentRatio: {
    defined: [{ settings: band, options: band, aggregationFor: "all", ratio: "token" }],
    chain: { options: band, settings: band, ratio: "token" },
    refused: [{ clip: 0.2 }, BAND.slice(1)],
  },
};
