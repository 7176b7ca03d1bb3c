// What must hold for every estimator, on generated batches. estimator-table.ts says what does not apply, and why.
import fc from "fast-check";
import { type AdvantageName, advantageNames, computeAdvantages } from "../../../lib";
import TABLE from "../../../lib/advantage/estimators";
import { type BackendName, eachBackend } from "../../support/each-backend";
import type { Run } from "./estimator-runs";
import { type Estimator, ESTIMATORS, type Exemptions, type Law, LAWS, type Variant } from "./estimator-table";
import { joined, partsOf } from "./merging";
import {
  back,
  constant,
  packed,
  poisoned,
  reversed,
  subset,
  type TokenBatch,
  type TokenCase,
  tokenCase,
  widened,
} from "./token-batch";

// Sums over the batch in another order: a few ulps of float64, times 1/std.
const CLOSE = { rtol: 1e-9, atol: 1e-9 };

type Check = (given: TokenCase, variant: Variant, estimator: Estimator, backend: BackendName) => void;
type Place = (b: number, t: number) => number | undefined;

/** The results on another layout of the same rows are those on the padded one, to the bit, wherever both have a position. */
function same(
  given: TokenCase,
  { batch, place }: { batch: TokenBatch; place: Place },
  { run }: Variant,
  { per }: Estimator,
  backend: BackendName,
): void {
  const plain = run(given.padded, backend);
  for (const [name, values] of Object.entries(run(batch, backend))) {
    if (values.length === given.rows && per === "row") expect(Array.from(values)).toEqual(Array.from(plain[name]!));
    else if (plain[name]!.length === given.padded.mask.length) {
      const { width } = given;
      const shared = back(given, plain[name]!, (b, t) => (place(b, t) === undefined ? undefined : b * width + t));
      expect(back(given, values, place)).toEqual(shared);
    }
  }
}

const CHECKS: Readonly<Record<Law, Check>> = {
  poison(given, { run, reads }, _, backend) {
    expect(run(poisoned(given, reads?.[0]), backend)).toEqual(run(given.padded, backend));
  },

  zero(given, { run }, _, backend) {
    const advantages = run(given.padded, backend)["advantages"]!;
    expect(Array.from(advantages).filter((a, i) => given.padded.mask[i] === 0 && a !== 0)).toEqual([]);
  },

  padding(given, variant, estimator, backend) {
    for (const extra of [1, 7]) same(given, widened(given, extra), variant, estimator, backend);
  },

  packing(given, variant, estimator, backend) {
    same(given, packed(given), variant, estimator, backend);
  },

  order(given, { run }, { per }, backend) {
    const { batch, place } = reversed(given);
    const plain = run(given.padded, backend)["advantages"]!;
    const mirrored = run(batch, backend)["advantages"]!;
    expect(per === "row" ? Array.from(mirrored).reverse() : back(given, mirrored, place)).toBeAllClose(plain, CLOSE);
  },

  labels(given, { run }, _, backend) {
    const { padded } = given;
    const renamed = { ...padded, groups: padded.groups.map((group) => `prompt ${(7 * Number(group)) % 5}`) };
    expect(run(renamed, backend)).toEqual(run(padded, backend));
  },

  constant(given, { run, constant: equal = run }, _, backend) {
    for (const reward of [0.97, -1 / 3]) {
      const advantages = equal(constant(given, reward), backend)["advantages"]!;
      expect(Array.from(advantages).filter((a) => a !== 0)).toEqual([]);
    }
  },

  split(given, { run, split }, estimator, backend) {
    const by = split ?? estimator.split;
    if (by === "alone") {
      const parts = partsOf(given).map((order) => run(subset(given, order), backend)["advantages"]!);
      expect(joined(given, parts)).toBeAllClose(run(given.padded, backend)["advantages"]!, CLOSE);
    } else {
      const [whole, parts] = by(given, backend);
      expect(Array.from(whole).filter((a) => !Number.isFinite(a))).toEqual([]);
      expect(parts).toBeAllClose(whole, CLOSE);
    }
  },
};

/** Two rows at least, so that constant groups have siblings, and two columns, so that rows and tokens differ in number. */
const casesOf = ({ form }: Variant): fc.Arbitrary<TokenCase> =>
  fc
    .record({ seed: fc.integer(), rows: fc.integer({ min: 2, max: 6 }), width: fc.integer({ min: 2, max: 20 }) })
    .map(({ seed, rows, width }) => tokenCase(seed, rows, width, form));

const lawNames = Object.keys(LAWS) as Law[];
const exemptions = (variant: Variant, estimator: Estimator): Exemptions => ({ ...estimator.exempt, ...variant.exempt });

test("every name of computeAdvantages has its laws", () => {
  expect(Object.keys(ESTIMATORS).sort()).toEqual([...advantageNames].sort());
});

test.each(Object.entries(ESTIMATORS))("%s: each law holds for a variant, or has a reason not to", (_, estimator) => {
  const variants = Object.values(estimator.variants);
  expect(variants.length).toBeGreaterThan(0);
  for (const variant of variants)
    for (const reason of [...Object.values(exemptions(variant, estimator)), ...(variant.reads ?? []).slice(1)])
      expect(reason.length).toBeGreaterThan(10);
  // What a variant is excused from, another shows, or the whole estimator is.
  for (const law of lawNames)
    if (estimator.exempt?.[law] === undefined)
      expect([law, variants.some((variant) => variant.exempt?.[law] === undefined)]).toEqual([law, true]);
});

const READ_BY_GROUP = advantageNames.filter((name) => {
  const reads: Readonly<Record<string, string>> = TABLE[name].reads;
  return reads["groups"] === "need";
});

test.each<AdvantageName>([...READ_BY_GROUP, "empg"])('%s: no groups are refused, and "all" is one group', (name) => {
  const tokens = Float64Array.of(-0.5, -1, -2, -0.1, -0.3, -0.9);
  const rewards = name === "optimalTokenBaseline" ? { tokenRewards: tokens } : { rewards: Float64Array.of(1, 0, 3) };
  const entropies = tokens.map((x) => -x);
  const batch = {
    ...rewards,
    shape: [3, 2],
    logProbs: tokens,
    ...(name === "fipo" && { oldLogProbs: tokens }),
    sumSquares: entropies,
    entropies,
    tokens: [1, 2, 3, 1, 2, 3],
  };
  const needed: Readonly<Partial<Record<AdvantageName, object>>> = {
    egpo: { mode: "joint" },
    empg: { start: [[1]], end: [[2]] },
    optimalValue: { beta: 1 },
    lambdaGrpo: { lambda: 1, lengthScale: 0.1 },
    fipo: { gamma: 1 },
  };
  const compute = (groups?: unknown): unknown =>
    computeAdvantages(name, { ...batch, groups } as never, needed[name] as never);
  expect(() => compute()).toThrow("Advantage: groups is undefined, expected a label per row");
  expect(compute("all")).toEqual(compute([5, 5, 5]));
});

test("an estimator that breaks each law is caught by each", () => {
  const estimator: Estimator = { per: "token", split: "alone", variants: {} };
  const breakers: Readonly<Record<Law, Run>> = {
    poison: ({ tokens }) => ({ advantages: tokens.a }),
    zero: ({ mask }) => ({ advantages: mask.map((kept) => 1 - kept) }),
    padding: ({ mask }) => ({ advantages: mask.map(() => mask.length) }),
    packing: ({ mask, layout }) => ({ advantages: mask.map(() => ("offsets" in layout ? 1 : 0)) }),
    order: ({ mask }) => ({ advantages: Array.from(mask, (_, i) => i) }),
    labels: ({ mask, groups }) => ({ advantages: Array.from(mask, () => Number(groups[0])) }),
    constant: ({ mask }) => ({ advantages: Array.from(mask, () => 1e-16) }),
    split: ({ mask, rows }) => ({ advantages: Array.from(mask, () => rows) }),
  };
  const given = tokenCase(3, 5, 9);
  for (const law of lawNames) expect(() => CHECKS[law](given, { run: breakers[law] }, estimator, "js")).toThrow();
});

eachBackend((backend) => {
  // The emulated device starts a fiber a thread: it sees fewer batches.
  const runs = { numRuns: backend === "emulated" ? 3 : 10 };
  for (const [name, estimator] of Object.entries(ESTIMATORS))
    describe(name, () => {
      for (const [title, variant] of Object.entries(estimator.variants)) {
        const excused = exemptions(variant, estimator);
        const { run, definition } = variant;
        if (definition)
          test(`${title}: the results are those of the definition`, () => {
            fc.assert(
              fc.property(casesOf(variant), ({ padded }) =>
                expect(run(padded, backend)).toBeAllClose(definition(padded), CLOSE),
              ),
              runs,
            );
          });
        for (const law of lawNames.filter((each) => excused[each] === undefined))
          test(`${title}: ${LAWS[law]}`, () => {
            fc.assert(
              fc.property(casesOf(variant), (given) => CHECKS[law](given, variant, estimator, backend)),
              runs,
            );
          });
      }
    });
});
