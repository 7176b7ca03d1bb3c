// Errors of the policy losses: under the function that was called, naming the argument as its caller wrote it.
import { klEstimates, policyLoss, type PolicyLossName, policyLossNames } from "../../lib";
import { errorFacts } from "../support/error-facts";

const shape = [2, 2] as const;
const logProbs = Float64Array.of(-1, -2, -1, -0.5);
const batch = {
  shape,
  logProbs,
  oldLogProbs: logProbs,
  advantages: Float64Array.of(1, -1),
  advantagesPer: "row",
  entropies: logProbs,
  referenceLogProbs: logProbs,
};

/** What a loss cannot do without. */
const REQUIRED: Readonly<Partial<Record<PolicyLossName, object>>> = {
  ppo: { clip: 0.2 },
  gspo: { clip: 0.2 },
  gspoToken: { clip: 0.2 },
  gmpo: { clip: 0.2 },
  cispo: { clipHigh: 1 },
  luspo: { clip: 0.2 },
  rloo: { clip: 0.2 },
  clipCov: { clip: 0.2, seed: 1 },
  cpgd: { clip: 0.2 },
  optimalValue: { beta: 1 },
  dppo: { low: 0.2, high: 0.2 },
  dro: { beta: 1 },
  dppoTv: { low: 0.2, high: 0.2 },
  dppoKl: { low: 0.2, high: 0.2 },
  kimi: { beta: 1 },
  segmentRatio: { clip: 0.2 },
  real: { tau: 1 },
  bypass: { objective: "clip", clip: 0.2 },
};

const evaluate = policyLoss as unknown as (name: string, batch: object, options: object) => unknown;

function facts(name: PolicyLossName, given: object, options: object): unknown {
  const { oldLogProbs, ...rest } = batch;
  const own = name === "bypass" ? { ...rest, samplerLogProbs: oldLogProbs } : batch;
  return errorFacts(() => evaluate(name, { ...own, ...given }, { ...REQUIRED[name], ...options }));
}

const bonus = { coefficient: 0.1 };
const kl = { coefficient: 0.1 };
const BAD_OPTIONS: readonly (readonly [name: string, options: object])[] = [
  ["aggregation", { aggregation: "mean" }],
  ["tokens", { tokens: 0 }],
  ["workers", { workers: -1 }],
  ["kl.coefficient", { kl: { coefficient: NaN } }],
  ["kl.kind", { kl: { ...kl, kind: "k4" } }],
  ["kl.gradientKind", { kl: { ...kl, gradientKind: "k4" } }],
  ["kl.logClamp", { kl: { ...kl, logClamp: 0 } }],
  ["entropyBonus.coefficient", { entropyBonus: { coefficient: NaN } }],
  ["entropyBonus.aggregation", { entropyBonus: { ...bonus, aggregation: "mean" } }],
  ["backend", { backend: "fortran" }],
];
const BAD_BATCHES: readonly (readonly [name: string, code: string, batch: object])[] = [
  ["logProbs", "SHAPE", { logProbs: new Float64Array(3) }],
  ["advantages", "DTYPE", { advantages: Int16Array.of(1, 2) }],
  ["mask", "SHAPE", { mask: new Uint8Array(3) }],
  ["entropyBonus.mask", "SHAPE", {}],
];

describe.each(policyLossNames)("%s", (name) => {
  // The same functions by other names.
  const op = `${{ dppoTv: "dppo", dppoKl: "dppo", kimi: "dro" }[name as string] ?? name}Loss`;

  test("the base call is sound", () => expect(facts(name, {}, {})).toBeUndefined());

  test.each(BAD_OPTIONS)("a bad %s", (argument, options) => {
    expect(facts(name, {}, options)).toEqual(["ERR_SURPRISAL_OPTION", op, argument]);
  });

  test.each(BAD_BATCHES)("a bad %s", (argument, code, given) => {
    const options = argument === "entropyBonus.mask" ? { entropyBonus: { ...bonus, mask: new Uint8Array(1) } } : {};
    expect(facts(name, given, options)).toEqual([`ERR_SURPRISAL_${code}`, op, argument]);
  });
});

test.each([
  ["clipCov", { between: [2, 1] }, "between[1]"],
  ["clipCov", { share: 2 }, "share"],
  ["klCov", { share: -1 }, "share"],
  ["ppo", { dualClip: 1 }, "dualClip"],
  ["gspo", { maxLogRatio: -1 }, "maxLogRatio"],
  ["gmpo", { countEpsilon: -1 }, "countEpsilon"],
  ["sapo", { temperaturePositive: 0 }, "temperaturePositive"],
  ["vespo", { ratePositive: 0 }, "ratePositive"],
] as const)("%s with %o", (name, options, argument) => {
  expect(facts(name, {}, options)).toEqual(["ERR_SURPRISAL_OPTION", `${name}Loss`, argument]);
});

test("vespo with weights over all columns, which are added up first", () => {
  const given = { rolloutWeights: logProbs.map(Math.exp), rolloutWeightsPer: "token" };
  expect(facts("vespo", given, { rolloutWeightsOver: "all", backend: "fortran" })).toEqual([
    "ERR_SURPRISAL_OPTION",
    "vespoLoss",
    "backend",
  ]);
});

test("klEstimates names its own arguments, not those of the loss inside", () => {
  const call = (options: object) =>
    errorFacts(() => klEstimates(logProbs, logProbs, { shape, kind: "k3", ...options }));
  const option = (name: string) => ["ERR_SURPRISAL_OPTION", "klEstimates", name];
  expect(call({})).toBeUndefined();
  expect(call({ kind: "k4" })).toEqual(option("kind"));
  expect(call({ gradientKind: "k4" })).toEqual(option("gradientKind"));
  expect(call({ logClamp: 0 })).toEqual(option("logClamp"));
  expect(call({ valueClamp: NaN })).toEqual(option("valueClamp"));
  expect(call({ out: { values: new Float32Array(4) } })).toEqual(["ERR_SURPRISAL_DTYPE", "klEstimates", "out.values"]);
  expect(call({ out: { values: logProbs } })).toEqual(["ERR_SURPRISAL_BUFFER", "klEstimates", "out.values"]);
});
