// Every preset of every loss against the definition with the conventions of its framework: value, and gradient as a finite
// difference. Log ratios go beyond the clamps at 20 and at 10.
import fc from "fast-check";
import {
  klPenalty,
  type KlPenaltyOptions,
  type PolicyBatch,
  policyLoss,
  type PolicyLossName,
  valueLoss,
  type ValueLossOptions,
} from "../../../lib";
import { type PresetFunction, presetNames } from "../../../lib/presets";
import {
  type Aggregation,
  type KlSettings,
  klTerm,
  type LossCase,
  type LossSettings,
  policyTerm,
  weight,
} from "../../oracle/policy-loss";
import { type BackendName, eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { expectGradient } from "./finite-difference";
import { type CaseOptions, generate } from "./loss-case";

type Clamps = Pick<KlSettings, "logClamp" | "valueClamp">;

/** What a framework does, in the words of the oracle. */
interface Conventions {
  readonly mode: Aggregation;
  /** R has the rows without a token, and what such a row adds where it is a term. */
  readonly countsEmpty?: true;
  readonly emptyTerm?: (advantage: number) => number;
  readonly settings?: Partial<LossSettings>;
  readonly clamps?: Readonly<Partial<Record<KlSettings["kind"], Clamps>>>;
  readonly perRow?: true;
  /** The ratio that multiplies the KL term. */
  readonly corrected?: KlSettings["corrected"];
}

const VERL = { mode: "tokenMean", clamps: { k3: { logClamp: 20, valueClamp: 10 } } } as const;
const ten = { valueClamp: 10 };
const OPENRLHF = { clamps: { k1: ten, k2: ten, k3: ten } } as const;
const SKYRL = { mode: "tokenSum", clamps: VERL.clamps } as const;
const forty = { logClamp: 40 };
const OPEN_INSTRUCT = { mode: "tokenMean", clamps: { k1: forty, k2: forty, k3: forty } } as const;
const both = { logClamp: 20, valueClamp: 10 };
const NEMO_RL = { mode: "tokenMean", clamps: { k1: both, k2: both, k3: both } } as const;
const ROLL = { mode: "rowMean", countsEmpty: true, clamps: { k3: ten } } as const;
const SLIME = { mode: "rowMean", countsEmpty: true } as const;
const minus = (a: number): number => -a;
const band = { clipLow: 0.2, clipHigh: 0.28 };
const none = { clipLow: Infinity, clipHigh: Infinity };

/** Of verl as it is now and as it was in January: these rules are the same. */
const editions = <const Rule>(rule: Rule) => ({ verl: rule, "verl-2026-01": rule });

type Rule = readonly [options: object, settings: LossSettings, presets: Readonly<Record<string, Conventions>>];

const RULES: Readonly<Partial<Record<PolicyLossName, Rule>>> = {
  ppo: [
    band,
    band,
    {
      ...editions({ ...VERL, settings: { dualClip: 3, logClamp: 20 } }),
      trl: { corrected: "token", mode: "tokenMean" },
      openrlhf: { ...OPENRLHF, mode: "tokenMean", settings: { logClamp: 20 } },
      lightrft: { mode: "rowMean", countsEmpty: true },
      skyrl: { ...SKYRL, settings: { logClamp: 20 } },
      areal: { mode: "tokenMean" },
      slime: SLIME,
      roll: ROLL,
      "open-instruct": OPEN_INSTRUCT,
      "nemo-rl": NEMO_RL,
    },
  ],
  gspo: [
    band,
    band,
    {
      trl: { corrected: "mean", mode: "tokenMean" },
      openrlhf: { ...OPENRLHF, mode: "rowMean" },
      areal: { mode: "tokenMean" },
      slime: SLIME,
      roll: ROLL,
      "nemo-rl": NEMO_RL,
    },
  ],
  gspoToken: [
    band,
    band,
    {
      ...editions({ ...VERL, mode: "rowMean", settings: { maxLogRatio: 10 } }),
      trl: { mode: "tokenMean" },
      skyrl: { ...SKYRL, settings: { maxLogRatio: 10 } },
    },
  ],
  gmpo: [
    { clip: 0.4 },
    { clipLow: 0.4, clipHigh: 0.4 },
    {
      ...editions({ ...VERL, countsEmpty: true, emptyTerm: minus, perRow: true, settings: { countEpsilon: 1e-8 } }),
      trl: { mode: "rowMean", countsEmpty: true, emptyTerm: minus, perRow: true },
    },
  ],
  cispo: [
    { clipHigh: 4 },
    { clipLow: Infinity, clipHigh: 4 },
    {
      ...editions({ ...VERL, settings: { logClamp: 20 } }),
      trl: { corrected: "token", mode: "tokenMean" },
      skyrl: { ...SKYRL, settings: { clipLow: 1, logClamp: 20 } },
      areal: { mode: "tokenMean" },
      slime: SLIME,
      roll: { ...ROLL, settings: { clipLow: 0.1 } },
      "open-instruct": OPEN_INSTRUCT,
      "nemo-rl": NEMO_RL,
    },
  ],
  sapo: [
    {},
    { ...none, temperatures: [1, 1.05] },
    {
      ...editions({ ...VERL, mode: "rowMean", settings: { logClamp: 20 } }),
      trl: { corrected: "token", mode: "rowMean", countsEmpty: true },
      skyrl: { ...SKYRL, settings: { logClamp: 20 } },
      areal: { mode: "tokenMean" },
    },
  ],
  vespo: [
    {},
    { ...none, gamma: { positive: [2, 3], negative: [3, 2] } },
    { trl: { settings: { logClamp: 20 }, corrected: "token", mode: "tokenMean" } },
  ],
  luspo: [band, band, { trl: { corrected: "mean", mode: "rowSum", countsEmpty: true, emptyTerm: () => 0 } }],
  rloo: [band, band, { trl: { mode: "rowMean", countsEmpty: true, emptyTerm: minus, perRow: true } }],
  reinforce: [{}, none, { ...editions(VERL), "nemo-rl": NEMO_RL }],
  cpgd: [band, band, { lightrft: { mode: "rowMean", countsEmpty: true } }],
};

/** Conventions of losses that select their tokens are those of the KL term and the aggregation; gradients.test.ts has the rest. */
const SELECTING: readonly PolicyLossName[] = ["clipCov", "klCov"];

const cases = fc.record({
  seed: fc.integer(),
  rows: fc.integer({ min: 1, max: 4 }),
  width: fc.integer({ min: 1, max: 6 }),
  kind: fc.constantFrom<KlSettings["kind"]>("k1", "abs", "k2", "k3"),
  packed: fc.boolean(),
});
type Given = typeof cases extends fc.Arbitrary<infer T> ? T : never;

const plainCase = {
  factors: "none",
  terms: false,
  rowMask: false,
  onPolicy: false,
  far: 25,
} as const satisfies Partial<CaseOptions>;
const isEmpty = (c: LossCase, b: number): boolean => !c.mask[b]!.includes(true);

/** The share of the rows that have tokens: the factor between means over these and over all. */
const filledShare = (c: LossCase): number => c.mask.filter((row) => row.includes(true)).length / c.mask.length;

function check(
  name: PolicyLossName,
  preset: string,
  [options, own, presets]: Rule,
  given: Given,
  backend: BackendName,
): void {
  const { mode, countsEmpty, emptyTerm, settings: more, clamps, perRow = false, corrected } = presets[preset]!;
  const { batch, oracle, place } = generate(given.seed, {
    ...plainCase,
    rows: given.rows,
    width: given.width,
    packed: given.packed,
    perRow,
  });
  const evaluate = policyLoss as unknown as (
    name: string,
    batch: PolicyBatch,
    options: object,
  ) => { loss: number; gradLogProbs: Float64Array };
  const kl = { coefficient: 0.3, kind: given.kind };
  const { loss, gradLogProbs } = evaluate(name, batch, { ...options, preset, kl, backend });
  const settings = { ...own, ...more };
  const total = (c: LossCase): number => {
    const share = countsEmpty ? filledShare(c) : 1;
    const empties = emptyTerm ? c.advantages.filter((_, b) => isEmpty(c, b)).map((row) => emptyTerm(row[0]!)) : [];
    const penalty = klTerm(c, mode, { ...kl, ...clamps?.[given.kind], corrected }, settings);
    // verl's mode of tokens does not count rows, whatever its row losses do.
    const klShare = mode === "tokenMean" ? 1 : share;
    return (
      share * policyTerm[name]!(c, mode, settings) +
      empties.reduce((sum, x) => sum + x, 0) / c.mask.length +
      klShare * penalty
    );
  };
  const want = total(oracle);
  expect(Math.abs(loss - want)).toBeLessThanOrEqual(1e-10 * (1 + Math.abs(want)));
  expectGradient(gradLogProbs, total, oracle, place);
}

const VALUE_MODES = {
  verl: ["tokenMean", false],
  "verl-2026-01": ["tokenMean", false],
  openrlhf: ["tokenMean", false],

  lightrft: ["rowMean", true],
  skyrl: ["rowMean", true],
  areal: ["tokenMean", false],
  slime: ["rowMean", true],
  "nemo-rl": ["tokenMean", false],
} as const;

function checkValue(preset: keyof typeof VALUE_MODES, given: Given, backend: BackendName): void {
  const { batch, oracle, place } = generate(given.seed, {
    ...plainCase,
    far: 1,
    rows: given.rows,
    width: given.width,
    packed: given.packed,
    perRow: false,
  });
  const { logProbs: values, oldLogProbs: oldValues, advantages: returns, advantagesPer: _, ...where } = batch;
  const options: ValueLossOptions = { preset, clip: 0.2, backend };
  const { loss, gradValues } = valueLoss({ ...where, values, oldValues: oldValues!, returns }, options);
  const [mode, countsEmpty] = VALUE_MODES[preset];
  const total = (c: LossCase): number => {
    const rows = c.mask.map((row, b) => {
      const errors = row.map((on, t) => {
        const [v, old, target] = [c.current[b]![t]!, c.old[b]![t]!, c.advantages[b]![t]!];
        return on ? 0.5 * Math.max((v - target) ** 2, (Math.min(Math.max(v, old - 0.2), old + 0.2) - target) ** 2) : 0;
      });
      return weight(c, mode, b) * errors.reduce((sum, x) => sum + x, 0);
    });
    return (countsEmpty ? filledShare(c) : 1) * rows.reduce((sum, x) => sum + x, 0);
  };
  expect(Math.abs(loss - total(oracle))).toBeLessThanOrEqual(1e-10 * (1 + Math.abs(loss)));
  expectGradient(gradValues, total, oracle, place);
}

const PENALTIES = {
  ...editions(VERL.clamps),
  openrlhf: OPENRLHF.clamps,
  lightrft: {},
  skyrl: VERL.clamps,
  areal: OPENRLHF.clamps,
  slime: {},
  roll: ROLL.clamps,
  "open-instruct": OPEN_INSTRUCT.clamps,
  "nemo-rl": NEMO_RL.clamps,
} as const;
const FORMS = {
  k1: (d: number) => d,
  abs: Math.abs,
  k2: (d: number) => (d * d) / 2,
  k3: (d: number) => Math.exp(-d) - 1 + d,
};
const SLOPES = { k1: () => 1, abs: Math.sign, k2: (d: number) => d, k3: (d: number) => 1 - Math.exp(-d) };

test("every preset of every loss is here", () => {
  const known = (of: string): string[] => presetNames(of as PresetFunction);
  for (const [name, rule] of Object.entries(RULES))
    expect([name, Object.keys(rule[2]).sort()]).toEqual([name, known(`${name}Loss`).sort()]);
  for (const name of SELECTING) expect(known(`${name}Loss`)).toEqual(["verl", "verl-2026-01", "skyrl"]);
  expect(Object.keys(VALUE_MODES).sort()).toEqual(known("valueLoss").sort());
  expect(Object.keys(PENALTIES).sort()).toEqual(known("klPenalty").sort());
});

eachBackend((backend) => {
  const runs = { numRuns: backend === "emulated" ? 5 : 25 };

  test.each(
    Object.entries(RULES).flatMap(([name, rule]) =>
      Object.keys(rule[2]).map((preset) => [name as PolicyLossName, preset, rule] as const),
    ),
  )("%s, preset %s: value and gradient are those of the framework's formula", (name, preset, rule) => {
    fc.assert(
      fc.property(cases, (given) => check(name, preset, rule, given, backend)),
      runs,
    );
  });

  test.each(SELECTING)("%s, preset verl: the same as its conventions one by one", (name) => {
    const evaluate = policyLoss as unknown as (name: string, batch: PolicyBatch, options: object) => unknown;
    fc.assert(
      fc.property(cases, ({ seed, rows, width, packed, kind }) => {
        const { batch } = generate(seed, { ...plainCase, rows, width, packed, perRow: false });
        const common = {
          ...(name === "clipCov" && { ...band, seed: 3 }),
          share: 0.3,
          kl: { coefficient: 0.3, kind },
          backend,
        };
        const spelled = { aggregation: "tokenMean", klClamps: VERL.clamps, metricNames: "verl" };
        expect(evaluate(name, batch, { ...common, preset: "verl" })).toEqual(
          evaluate(name, batch, { ...common, ...spelled }),
        );
      }),
      runs,
    );
  });

  test.each(Object.keys(VALUE_MODES) as (keyof typeof VALUE_MODES)[])(
    "valueLoss, preset %s: value and gradient are those of the definition",
    (preset) => {
      fc.assert(
        fc.property(cases, (given) => checkValue(preset, given, backend)),
        runs,
      );
    },
  );

  test.each(Object.entries(PENALTIES))("klPenalty, preset %s: inside, at and beyond its clamps", (preset, clamps) => {
    const d = Float64Array.of(
      ...rng(4).f64(12, -30, 30),
      -20,
      20,
      -20.5,
      20.5,
      -10,
      10,
      -3,
      -2,
      0.5,
      Math.sqrt(20),
      -Math.sqrt(20),
      4.4,
      4.5,
    );
    for (const kind of ["k1", "abs", "k2", "k3"] as const) {
      const { logClamp = Infinity, valueClamp = Infinity } = (clamps as Conventions["clamps"])?.[kind] ?? {};
      const options: KlPenaltyOptions = { estimator: kind, preset: preset as "verl", backend };
      const { values, gradLogProbs } = klPenalty(d, new Float64Array(d.length), options);
      const inside = Array.from(d, (x) => Math.min(Math.max(x, -logClamp), logClamp));
      const free = inside.map(FORMS[kind]);
      expect(values).toBeAllClose(
        free.map((v) => Math.min(Math.max(v, -valueClamp), valueClamp)),
        { rtol: 1e-12, atol: 1e-14 },
      );
      const wanted = Array.from(d, (x, i) =>
        inside[i] !== x || Math.abs(free[i]!) > valueClamp + 1e-12 ? 0 : SLOPES[kind](x),
      );
      // At √20 the square is on one side of its clamp or the other by rounding.
      const kink = (x: number, i: number) =>
        inside[i] === x && Math.abs(Math.abs(free[i]!) - valueClamp) < 1e-12 && kind === "k2";
      gradLogProbs.forEach((got, i) => {
        if (!kink(d[i]!, i)) expect(got).toBeAllClose(wanted[i]!, { rtol: 1e-12, atol: 1e-14 });
      });
    }
  });
});
