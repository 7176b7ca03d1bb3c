// Every policy loss against its definition: the value, and the gradient as a finite difference of the definition.
import fc from "fast-check";
import {
  clipCovLoss,
  klCovLoss,
  type PolicyBatch,
  policyLoss,
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
import { band, COMPOSED, type Checked, none, type OwnName, POLICY_LOSSES } from "./policy-losses";

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
  name: OwnName,
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

const SETTINGS = (Object.keys(POLICY_LOSSES) as OwnName[]).flatMap((name) =>
  POLICY_LOSSES[name].defined.map((checked, i) => [name, i, checked] as const),
);

test("every loss of policyLoss is here, or selects its tokens", () => {
  const here = new Set(SETTINGS.map(([name]) => name));
  expect([...here, "clipCov", "klCov", ...COMPOSED].sort()).toEqual([...policyLossNames].sort());
});

eachBackend((backend) => {
  test.each(SETTINGS)("%s, settings %i: value and gradient are those of the definition", (name, _, checked) => {
    fc.assert(
      fc.property(cases, modes, terms, (given, mode, kl) => check(name, checked, given, mode, kl, backend)),
      { numRuns: 60 },
    );
  });

  test.each(["clipCov", "klCov"] as const)("%s: selection, value and gradient are those of the definition", (name) => {
    fc.assert(
      fc.property(cases, modes, (given, mode) => checkSelected(name, given, mode, backend)),
      { numRuns: 60 },
    );
  });
});
