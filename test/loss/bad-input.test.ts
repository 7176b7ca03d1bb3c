// Bad input is refused under the name of the function that was called, with the argument that is wrong.
import {
  actorCriticLoss,
  aggregateLoss,
  distillationLoss,
  entropyBonus,
  klPenalty,
  listwisePolicyLoss,
  negativeLogLikelihood,
  policyLoss,
  type PolicyLossName,
  sequencePolicyObjective,
  supportDistillation,
  SurprisalError,
  topKDistillation,
  valueLoss,
} from "../../lib";
import { BAND, type Case, DTYPE, f32, OPTION, type OwnName, POLICY_LOSSES, PRESET, SHAPE } from "./laws/policy-losses";

type Call = (changes: object) => unknown;

/** Splits changes into those of the batch and those of the options. */
function apart(changes: object, batch: readonly string[]): readonly [object, object] {
  const entries = Object.entries(changes);
  return [
    Object.fromEntries(entries.filter(([name]) => batch.includes(name))),
    Object.fromEntries(entries.filter(([name]) => !batch.includes(name))),
  ];
}

const LAYOUT: readonly Case[] = [
  ["shape", { offsets: Int32Array.of(0, 3, 6) }, OPTION],
  ["shape", { shape: [2] }, SHAPE],
  ["mask", { mask: new Uint8Array(5) }, SHAPE],
  ["mask", { mask: new Int8Array(6) }, DTYPE],
];
const BACKEND: readonly Case[] = [["backend", { backend: "gpu" }, OPTION]];
const COUNTS: readonly Case[] = [
  ["tokens", { tokens: 0 }, OPTION],
  ["rows", { rows: -1 }, OPTION],
  ["length", { length: NaN }, OPTION],
  ["workers", { workers: Infinity }, OPTION],
  ["accumulation", { accumulation: "2" }, OPTION],
  ["stepsPerGeneration", { stepsPerGeneration: 0 }, OPTION],
  ["emptyRows", { emptyRows: "drop" }, OPTION],
];
const AGGREGATION: readonly Case[] = [["aggregation", { aggregation: "sum" }, OPTION], ...COUNTS];

const POLICY_BATCH = [
  "shape", "offsets", "mask", "logProbs", "oldLogProbs", "oldSequenceLogProbs", "advantages", "advantagesPer", "referenceLogProbs",
  "samplerLogProbs", "entropies", "rolloutWeights", "rolloutWeightsPer", "termMask", "rowMask", "values", "oldValues", "returns", "valueMask",
]; // oxfmt-ignore
const POLICY_ARRAYS = { shape: [2, 3], logProbs: f32(6), oldLogProbs: f32(6), advantages: f32(2) };
const reference = { referenceLogProbs: f32(6) };
const entropies = { entropies: f32(6) };

const POLICY: readonly Case[] = [
  ...LAYOUT,
  ...AGGREGATION,
  ...BACKEND,
  ["logProbs", { logProbs: f32(5) }, SHAPE],
  ["logProbs", { logProbs: undefined }, DTYPE],
  ["logProbs", { logProbs: new Int16Array(6) }, DTYPE],
  ["oldLogProbs", { oldLogProbs: f32(7) }, SHAPE],
  ["oldLogProbs", { oldLogProbs: new Int32Array(6) }, DTYPE],
  ["advantages", { advantages: f32(3) }, SHAPE],
  ["advantages", { advantages: undefined }, DTYPE],
  ["advantagesPer", { advantagesPer: "prompt" }, OPTION],
  ["samplerLogProbs", { samplerLogProbs: f32(2) }, SHAPE],
  ["rolloutWeights", { rolloutWeights: f32(4) }, SHAPE],
  ["termMask", { termMask: new Uint8Array(2) }, SHAPE],
  ["rowMask", { rowMask: new Uint8Array(6) }, SHAPE],
  ["metricNames", { metricNames: "tensorboard" }, OPTION],
  ["referenceLogProbs", { kl: { coefficient: 1 } }, OPTION],
  ["referenceLogProbs", { kl: { coefficient: 1 }, referenceLogProbs: f32(2) }, SHAPE],
  ["kl.coefficient", { kl: { coefficient: NaN }, ...reference }, OPTION],
  ["kl.coefficient", { kl: {}, ...reference }, OPTION],
  ["kl.kind", { kl: { coefficient: 1, kind: "k4" }, ...reference }, OPTION],
  ["kl.gradientKind", { kl: { coefficient: 1, gradientKind: "kl" }, ...reference }, OPTION],
  ["kl.logClamp", { kl: { coefficient: 1, logClamp: -1 }, ...reference }, OPTION],
  ["kl.valueClamp", { kl: { coefficient: 1, valueClamp: NaN }, ...reference }, OPTION],
  ["kl.importanceCorrected", { kl: { coefficient: 1, importanceCorrected: "yes" }, ...reference }, OPTION],
  ["kl.logClamp", { kl: { coefficient: 1, importanceCorrected: "self", logClamp: 0 }, ...reference }, OPTION],
  ["kl.valueClamp", { kl: { coefficient: 1, importanceCorrected: "self", valueClamp: 0 }, ...reference }, OPTION],
  ["entropies", { entropyBonus: { coefficient: 1 } }, OPTION],
  ["entropies", { entropyBonus: { coefficient: 1 }, entropies: f32(2) }, SHAPE],
  ["entropyBonus.coefficient", { entropyBonus: { coefficient: NaN }, ...entropies }, OPTION],
  ["entropyBonus.mask", { entropyBonus: { coefficient: 1, mask: new Uint8Array(2) }, ...entropies }, SHAPE],
  ["entropyBonus.aggregation", { entropyBonus: { coefficient: 1, aggregation: "all" }, ...entropies }, OPTION],
];

interface Refusals {
  readonly call: Call;
  readonly cases: readonly Case[];
}

function policyCall(name: PolicyLossName, options: object): Call {
  const call = policyLoss as unknown as (name: string, batch: object, options: object) => unknown;
  return (changes) => {
    const [ofBatch, ofOptions] = apart(changes, POLICY_BATCH);
    return call(name, { ...POLICY_ARRAYS, ...ofBatch }, { ...options, ...ofOptions });
  };
}

const policies = (Object.keys(POLICY_LOSSES) as OwnName[]).map((name): readonly [string, Refusals] => [
  `${name}Loss`,
  { call: policyCall(name, POLICY_LOSSES[name].refused[0]), cases: [...POLICY, ...POLICY_LOSSES[name].refused[1]] },
]);

const VALUES = { shape: [2, 3], values: f32(6), oldValues: f32(6), returns: f32(6) };
const VALUE: readonly Case[] = [
  ["values", { values: f32(5) }, SHAPE],
  ["values", { values: "1" }, DTYPE],
  ["returns", { returns: undefined }, DTYPE],
  ["oldValues", { oldValues: f32(2) }, SHAPE],
];

/** A function of arrays and options, where every change is one of the options unless it is an array's name. */
function plain(call: (...given: never[]) => unknown, arrays: Readonly<Record<string, unknown>>, options: object): Call {
  return (changes) => {
    const [ofArrays, ofOptions] = apart(changes, Object.keys(arrays));
    const given = { ...arrays, ...ofArrays };
    return (call as (...given: unknown[]) => unknown)(
      ...Object.keys(arrays).map((name) => given[name as keyof typeof given]),
      { ...options, ...ofOptions },
    );
  };
}

const MODE: readonly Case[] = [["mode", { mode: "sum" }, OPTION], ["mode", { mode: undefined }, OPTION], ...COUNTS];

const OTHERS: Readonly<Record<string, Refusals>> = {
  valueLoss: {
    call: (changes) => {
      const [ofBatch, ofOptions] = apart(changes, POLICY_BATCH);
      return valueLoss({ ...VALUES, ...ofBatch } as never, { clip: 0.2, ...ofOptions });
    },
    cases: [
      ...LAYOUT,
      ...AGGREGATION,
      ...BACKEND,
      ...VALUE,
      PRESET,
      ["oldValues", { oldValues: undefined }, OPTION],
      ["clip", { clip: -0.1 }, OPTION],
      ["clip", { clip: NaN }, OPTION],
      ["huberDelta", { huberDelta: 0 }, OPTION],
    ],
  },
  actorCriticLoss: {
    call: (changes) => {
      const [ofBatch, ofOptions] = apart(changes, POLICY_BATCH);
      return actorCriticLoss({ ...POLICY_ARRAYS, ...VALUES, ...ofBatch } as never, {
        clip: 0.2,
        valueClip: 0.2,
        ...ofOptions,
      });
    },
    cases: [
      ...POLICY,
      ...VALUE,
      ...BAND.filter((each) => each !== PRESET),
      ["valueMask", { valueMask: new Uint8Array(2) }, SHAPE],
      ["valueClip", { valueClip: -1 }, OPTION],
      ["oldValues", { oldValues: undefined }, OPTION],
      ["valueCoefficient", { valueCoefficient: NaN }, OPTION],
    ],
  },
  klPenalty: {
    call: plain(klPenalty, { logProbs: f32(6), referenceLogProbs: f32(6) }, { shape: [2, 3] }),
    cases: [
      ...LAYOUT,
      ...BACKEND,
      PRESET,
      ["logProbs", { logProbs: f32(5) }, SHAPE],
      ["referenceLogProbs", { referenceLogProbs: undefined }, DTYPE],
      ["estimator", { estimator: "k4" }, OPTION],
      ["logClamp", { logClamp: 0 }, OPTION],
      ["valueClamp", { valueClamp: NaN }, OPTION],
    ],
  },
  entropyBonus: {
    call: plain(entropyBonus, { entropies: f32(6) }, { shape: [2, 3], mode: "tokenMean", coefficient: 1 }),
    cases: [
      ...LAYOUT,
      ...BACKEND,
      ...MODE,
      ["entropies", { entropies: f32(5) }, SHAPE],
      ["coefficient", { coefficient: NaN }, OPTION],
      ["rowWeights", { rowWeights: new Float64Array(3) }, SHAPE],
    ],
  },
  aggregateLoss: {
    call: plain(aggregateLoss, { losses: f32(6) }, { shape: [2, 3], mode: "tokenMean" }),
    cases: [
      ...LAYOUT,
      ...BACKEND,
      ...MODE,
      ["losses", { losses: f32(5) }, SHAPE],
      ["losses", { losses: new Int16Array(6) }, DTYPE],
    ],
  },
  negativeLogLikelihood: {
    call: plain(negativeLogLikelihood, { logProbs: f32(6) }, { shape: [2, 3], mode: "tokenMean" }),
    cases: [
      ...LAYOUT,
      ...BACKEND,
      ...MODE,
      ["logProbs", { logProbs: f32(5) }, SHAPE],
      ["logProbs", { logProbs: undefined }, DTYPE],
    ],
  },
  sequencePolicyObjective: {
    call: plain(
      sequencePolicyObjective,
      { logProbs: f32(6), oldLogProbs: f32(6), rewards: f32(2) },
      { shape: [2, 3], clip: 0.2, groups: "all" },
    ),
    cases: [
      ...LAYOUT,
      ...BACKEND,
      ...BAND.filter((each) => each !== PRESET),
      ["logProbs", { logProbs: f32(5) }, SHAPE],
      ["oldLogProbs", { oldLogProbs: f32(7) }, SHAPE],
      ["rewards", { rewards: f32(3) }, SHAPE],
      ["epsilon", { epsilon: -1 }, OPTION],
      ["maxLogRatio", { maxLogRatio: NaN }, OPTION],
      ["emptySequence", { emptySequence: "drop" }, OPTION],
    ],
  },
  listwisePolicyLoss: {
    call: plain(listwisePolicyLoss, { logProbs: f32(6), weights: f32(2) }, { shape: [2, 3], groups: "all" }),
    cases: [
      ...LAYOUT,
      ...BACKEND,
      ["logProbs", { logProbs: f32(5) }, SHAPE],
      ["logProbs", { mask: Uint8Array.of(1, 1, 1, 0, 0, 0) }, SHAPE],
      ["weights", { weights: f32(3) }, SHAPE],
      ["groups", { groups: [0] }, SHAPE],
    ],
  },
  distillationLoss: {
    call: plain(distillationLoss, { student: f32(6), teacher: f32(6) }, { shape: [2, 3] }),
    cases: [
      ...BACKEND,
      ["student", { student: f32(5) }, SHAPE],
      ["teacher", { teacher: f32(7) }, SHAPE],
      ["mask", { mask: new Uint8Array(3) }, SHAPE],
      ["labels", { labels: [0] }, SHAPE],
      ["beta", { beta: 2 }, OPTION],
      ["temperature", { temperature: 0 }, OPTION],
      ["reduction", { reduction: "batch" }, OPTION],
      ["topK", { topK: 4 }, OPTION],
      ["support", { topK: 1, support: [0, 1] }, OPTION],
      ["outside", { outside: "pooled" }, OPTION],
      ["tailFloor", { tailFloor: NaN }, OPTION],
    ],
  },
  supportDistillation: {
    call: plain(supportDistillation, { studentLogProbs: f32(6), teacherLogProbs: f32(6) }, { shape: [2, 3] }),
    cases: [
      ["studentLogProbs", { studentLogProbs: f32(5) }, SHAPE],
      ["teacherLogProbs", { teacherLogProbs: f32(7) }, SHAPE],
      ["shape", { shape: [6] }, SHAPE],
      ["mask", { mask: new Uint8Array(3) }, SHAPE],
      ["weights", { weights: f32(3) }, SHAPE],
      ["entropies", { entropies: f32(3) }, SHAPE],
      ["entropies", { beta: 1, outsideLogProb: -9 }, OPTION],
      ["beta", { beta: 2 }, OPTION],
      ["floor", { floor: 1 }, OPTION],
      ["outsideLogProb", { outsideLogProb: -Infinity }, OPTION],
      ["valueRange", { valueRange: [1, 0] }, OPTION],
      ["tokens", { tokens: 0 }, OPTION],
    ],
  },
  topKDistillation: {
    call: plain(
      topKDistillation,
      { student: f32(6), teacher: { ids: [0, 2], logProbs: f32(2).fill(-1) } },
      { shape: [2, 3] },
    ),
    cases: [
      ...BACKEND,
      ["student", { student: f32(5) }, SHAPE],
      ["teacher.ids", { teacher: { ids: [0, 2, 1], logProbs: f32(3) } }, SHAPE],
      ["teacher.logProbs", { teacher: { ids: [0, 2], logProbs: f32(3) } }, SHAPE],
      ["mask", { mask: new Uint8Array(3) }, SHAPE],
      ["temperature", { temperature: 0 }, OPTION],
      ["beta", { beta: NaN }, OPTION],
      ["tokens", { tokens: -1 }, OPTION],
    ],
  },
};

function refusal(call: () => unknown): SurprisalError {
  try {
    call();
  } catch (error) {
    if (error instanceof SurprisalError) return error;
    throw error;
  }
  throw new Error("not refused");
}

describe.each([...policies, ...Object.entries(OTHERS)])("%s", (op, { call, cases }) => {
  test("takes the call that the refused ones differ from", () => {
    expect(call({})).toBeDefined();
  });

  test.each(cases.map(([name, changes, code]) => [name, Object.keys(changes).join(", "), changes, code] as const))(
    "names %s (%s)",
    (name, _, changes, code) => {
      const { details, message, code: got } = refusal(() => call(changes));
      expect({ op: details.op, name: details.name, code: got }).toEqual({ op, name, code });
      expect(message).toMatch(new RegExp(`^${op}: `));
    },
  );
});

test("an unknown loss is refused with the names there are", () => {
  expect(() => policyLoss("dpo" as "ppo", POLICY_ARRAYS as never, { clip: 0.2 })).toThrow(
    /policyLoss: name is "dpo", expected one of "ppo", "gspo".*; did you mean "\w+"\?/,
  );
});

test("the memory of a gradient is as it was where a call is refused", () => {
  const memory = new Float32Array(6).fill(7);
  const out = { data: memory, shape: [2, 3] as const };
  expect(() => distillationLoss(f32(6), f32(6), { shape: [2, 3], out: out as never, beta: NaN })).toThrow(/beta/);
  expect(() => distillationLoss(f32(6), f32(6), { shape: [2, 3], out: out as never, temperature: NaN })).toThrow(
    /temperature/,
  );
  expect([...memory]).toEqual([7, 7, 7, 7, 7, 7]);
});
