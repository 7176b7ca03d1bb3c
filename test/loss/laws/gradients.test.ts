// Every policy loss against its definition: the value, and the gradient as a finite difference of the definition.
import fc from "fast-check";
import {
  clipCovLoss,
  klCovLoss,
  type PolicyBatch,
  policyLoss,
  type PolicyLossName,
  policyLossNames,
  type PolicyLossOptions,
} from "../../../lib";
import {
  type Aggregation,
  type KlSettings,
  klTerm,
  type LossCase,
  type LossSettings,
  policyTerm,
} from "../../oracle/policy-loss";
import { type BackendName, eachBackend } from "../../support/each-backend";
import { expectGradient } from "./finite-difference";
import { type CaseOptions, generate } from "./loss-case";

interface Checked {
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

const band = { clipLow: 0.2, clipHigh: 0.28 };
const none = { clipLow: Infinity, clipHigh: Infinity };

/** Settings by loss, in the words of the oracle and of the function. */
const LOSSES: Readonly<Record<Exclude<PolicyLossName, "clipCov" | "klCov" | "bypass">, readonly Checked[]>> = {
  ppo: [
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
  gspo: [
    { settings: band, options: band, aggregationFor: "all", ratio: "mean" },
    {
      settings: { ...none, maxLogRatio: 0.1 },
      options: { ...none, maxLogRatio: 0.1 },
      aggregationFor: "all",
      ratio: "mean",
    },
  ],
  gspoToken: [
    { settings: band, options: band, aggregationFor: "all", ratio: "local" },
    {
      settings: { ...none, maxLogRatio: 0.1 },
      options: { ...none, maxLogRatio: 0.1 },
      aggregationFor: "all",
      ratio: "local",
    },
  ],
  gmpo: [
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
  cispo: [
    { settings: { clipLow: Infinity, clipHigh: 1 }, options: { clipHigh: 1 }, aggregationFor: "all", ratio: "token" },
    { settings: { ...band, logClamp: 1 }, options: { ...band, logClamp: 1 }, aggregationFor: "all", ratio: "token" },
  ],
  sapo: [
    { settings: { ...none, temperatures: [1, 1.05] }, options: {}, aggregationFor: "all", ratio: "token" },
    {
      settings: { ...none, temperatures: [2, 3], logClamp: 0.9 },
      options: { temperaturePositive: 2, temperatureNegative: 3, logClamp: 0.9 },
      aggregationFor: "all",
      ratio: "token",
    },
  ],
  vespo: [
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
  luspo: [{ settings: band, options: band, aggregationFor: "kl", ratio: "mean" }],
  rloo: [{ settings: band, options: band, perRow: true, noFactors: true, aggregationFor: "kl", ratio: "sum" }],
  reinforce: [{ settings: none, options: {}, aggregationFor: "all", ratio: "token" }],
  cpgd: [
    { settings: band, options: band, aggregationFor: "all", ratio: "token" },
    { settings: { clipLow: 1, clipHigh: 1 }, options: { clip: 1 }, aggregationFor: "all", ratio: "token" },
  ],
  optimalValue: [
    {
      settings: { ...none, coefficient: 0.3 },
      options: { beta: 0.3 },
      perRow: true,
      noFactors: true,
      aggregationFor: "kl",
      ratio: "sum",
    },
  ],
};

const modes = fc.constantFrom<Aggregation>("tokenMean", "rowMean", "rowSum", "fixedLength");
const kinds = fc.constantFrom<KlSettings["kind"]>("k1", "abs", "k2", "k3");
type Kl = typeof terms extends fc.Arbitrary<infer T> ? NonNullable<T> : never;

const terms = fc.option(
  fc.record({
    coefficient: fc.constantFrom(0.1, 1.5),
    kind: kinds,
    gradient: fc.option(kinds, { nil: undefined }),
    valueClamp: fc.constantFrom(undefined, 0.15),
    logClamp: fc.constantFrom(undefined, 0.5),
    importanceCorrected: fc.boolean(),
  }),
  { nil: undefined },
);
const cases = fc.record({
  seed: fc.integer(),
  rows: fc.integer({ min: 1, max: 4 }),
  width: fc.integer({ min: 1, max: 6 }),
  perRow: fc.boolean(),
  packed: fc.boolean(),
  factors: fc.constantFrom<CaseOptions["factors"]>("none", "row", "token"),
  terms: fc.boolean(),
  rowMask: fc.boolean(),
  onPolicy: fc.boolean(),
});

/** Straight-through estimators and corrected ones are told apart: both at once is no estimator of anything. */
function klOf(kl: Kl) {
  const { importanceCorrected, gradient, ...rest } = kl;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return importanceCorrected
    ? { ...given, importanceCorrected }
    : { ...given, ...(gradient && { gradientKind: gradient }) };
}

function check(
  name: keyof typeof LOSSES,
  checked: Checked,
  given: CaseOptions & { seed: number },
  mode: Aggregation,
  kl: Kl | undefined,
  backend: BackendName,
): void {
  const perRow = checked.perRow ?? given.perRow;
  const options = { ...given, perRow, ...(checked.noFactors && { factors: "none" as const, terms: false }) };
  const { batch, oracle, place } = generate(given.seed, options);
  const klSettings: KlSettings | undefined = kl && {
    coefficient: kl.coefficient,
    kind: kl.kind,
    ...(!kl.importanceCorrected && kl.gradient && { gradient: kl.gradient }),
    ...(kl.valueClamp !== undefined && { valueClamp: kl.valueClamp }),
    ...(kl.logClamp !== undefined && { logClamp: kl.logClamp }),
    ...(kl.importanceCorrected && { corrected: checked.ratio }),
  };
  const common: PolicyLossOptions = {
    aggregation: mode,
    length: 7,
    backend,
    ...(kl && { kl: klOf(kl) as unknown as NonNullable<PolicyLossOptions["kl"]> }),
  };
  const evaluate = policyLoss as unknown as (
    name: string,
    batch: PolicyBatch,
    options: object,
  ) => { loss: number; gradLogProbs: Float64Array };
  const { loss, gradLogProbs } = evaluate(name, batch, { ...common, ...checked.options });
  const total = (c: LossCase): number =>
    policyTerm[name]!(c, mode, checked.settings) + (klSettings ? klTerm(c, mode, klSettings, checked.settings) : 0);

  expect(Math.abs(loss - total(oracle))).toBeLessThanOrEqual(1e-10 * (1 + Math.abs(loss)));
  expectGradient(gradLogProbs, total, oracle, place);
}

/** Flags of the arrays as flags of the rows. */
function rowsOf(flags: Uint8Array, c: LossCase, place: (b: number, t: number) => number): boolean[][] {
  return c.mask.map((row, b) => row.map((_, t) => flags[place(b, t)] === 1));
}

/** The covariances of the kept tokens, and where they are. */
function covariances(c: LossCase) {
  const tokens = c.mask.flatMap((row, b) =>
    row.flatMap((on, t) => (on ? [{ b, t, a: c.advantages[b]![t]!, l: c.current[b]![t]! }] : [])),
  );
  const mean = (values: number[]): number => values.reduce((x, y) => x + y, 0) / values.length;
  const a = mean(tokens.map((token) => token.a));
  const l = mean(tokens.map((token) => token.l));
  return tokens.map((token) => ({ ...token, covariance: (token.a - a) * (token.l - l) }));
}

function checkSelected(
  name: "clipCov" | "klCov",
  given: CaseOptions & { seed: number },
  mode: Aggregation,
  backend: BackendName,
): void {
  const { batch, oracle, place } = generate(given.seed, { ...given, terms: false });
  const common = { aggregation: mode, length: 7, backend } as const;
  const kept = covariances(oracle);
  const result =
    name === "clipCov"
      ? clipCovLoss(batch, { ...common, ...band, share: 0.3, between: [0.05, 2], seed: 5 })
      : klCovLoss(batch, { ...common, share: 0.3, coefficient: 0.7 });
  const marked = rowsOf("dropped" in result ? result.dropped : result.selected, oracle, place);
  const chosen = kept.filter(({ b, t }) => marked[b]![t]);
  const n = Math.max(Math.floor(0.3 * kept.length), 1);
  if (name === "klCov") {
    expect(chosen).toHaveLength(Math.min(n, kept.length));
    const others = kept.filter(({ b, t }) => !marked[b]![t]);
    for (const { covariance } of chosen)
      expect(others.filter((other) => other.covariance > covariance + 1e-9)).toEqual([]);
  } else {
    const free = kept.filter(({ b, t, a, covariance }) => {
      const ratio = Math.exp(oracle.current[b]![t]! - oracle.old[b]![t]!);
      const clipped = (ratio > 1.28 && a > 0) || (ratio < 0.8 && a < 0);
      return !clipped && covariance > 0.05 && covariance < 2;
    });
    expect(chosen).toHaveLength(Math.min(n, free.length));
    for (const token of chosen) expect(free).toContainEqual(token);
  }
  const settings: LossSettings = { ...(name === "clipCov" ? band : none), coefficient: 0.7, marked };
  const total = (c: LossCase): number => policyTerm[name]!(c, mode, settings);
  expect(Math.abs(result.loss - total(oracle))).toBeLessThanOrEqual(1e-10 * (1 + Math.abs(result.loss)));
  expectGradient(result.gradLogProbs, total, oracle, place);
}

// bypass is ppo or reinforce behind a correction that is held constant: test/loss/bypass-loss.test.ts.
test("every loss of policyLoss is here, or selects its tokens", () => {
  expect([...Object.keys(LOSSES), "clipCov", "klCov", "bypass"].sort()).toEqual([...policyLossNames].sort());
});

eachBackend((backend) => {
  test.each(Object.entries(LOSSES).flatMap(([name, list]) => list.map((checked, i) => [name, i, checked] as const)))(
    "%s, settings %i: value and gradient are those of the definition",
    (name, _, checked) => {
      fc.assert(
        fc.property(cases, modes, terms, (given, mode, kl) =>
          check(name as keyof typeof LOSSES, checked, given, mode, kl, backend),
        ),
        { numRuns: 60 },
      );
    },
  );

  test.each(["clipCov", "klCov"] as const)("%s: selection, value and gradient are those of the definition", (name) => {
    fc.assert(
      fc.property(cases, modes, (given, mode) => checkSelected(name, given, mode, backend)),
      { numRuns: 60 },
    );
  });
});
