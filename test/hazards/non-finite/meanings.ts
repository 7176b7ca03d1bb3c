// What a number that is not finite means where the answer does not show it, and the line of docs/non-finite.md that says so.

export interface Meaning {
  /** Cases, inputs and values as in answers.txt. */
  readonly of: readonly RegExp[];
  readonly says: string;
}

const BOUNDS = [
  "clamp: values",
  "groupPlace: row",
  "gammaWeights: (logRatios|factors)",
  "boundMismatch.*: (l|oldL)ogProbs",
];

export const MEANINGS: readonly Meaning[] = [
  {
    of: [/logits −∞$/, /(student|teacher) −∞$/, /^linear.*bias −∞$/],
    says: "| −∞ | a logit, or the bias of an id | an id of probability 0",
  },
  {
    of: [
      /^(clippedObjective|tokenLoss|tokenLossFromLogits|rowLoss)(,.*)?: (l|oldL)ogProbs −?∞$/,
      /^scoreNorms: logProbs −∞$/,
    ],
    says: "A log ratio of −∞ is a ratio of 0; one of ∞ is an infinite ratio, which a clip, a cap or a clamp holds",
  },
  {
    of: [...BOUNDS.map((one) => new RegExp(`^${one} −?∞$`)), /^vtrace: weights ∞$/, /^rowLoss, gamma: factors ∞$/],
    says: "| ±∞ | what is held to bounds: `clamp`, `groupPlace`, `gammaWeights`, `boundMismatch`, the weights of `vtrace` |",
  },
  {
    of: [
      /^topMask.*: values −?∞$/,
      /^quantileMask: values −∞$/,
      /^(groupTop2|topLogits): \w+ −?∞$/,
      /^groupWeigh, extremes/,
    ],
    says: "| ±∞ | what is ranked: `topMask`, `quantileMask`, `groupTop2`, `topLogits`, the extremes of `groupWeigh` |",
  },
  { of: [/^gammaWeights: signs −?∞$/], says: "| ±∞ | `signs` of `gammaWeights` | positive, negative |" },
  {
    of: [/^groupSoftmax.*: values −∞$/, /^groupLogSumExp: values −∞$/, /^groupTilt: logFactors −∞$/],
    says: "| −∞ | `groupSoftmax`, `groupLogSumExp`, the factors of `groupTilt` | weight 0 |",
  },
  {
    of: [/^groupTilt: (values|counts) −∞$/, /^groupEntropy: values −∞$/],
    says: "| −∞ | values of `groupTilt` and `groupEntropy`, counts of `groupTilt` | as any number below `least`, or below 1 |",
  },
  {
    of: [/nan "?abstain"?: values NaN$/],
    says: '| NaN | with `nan: "abstain"` | no number: in no statistic, its own result 0 |',
  },
];
