// What must hold for every loss, on generated batches. loss-table.ts says what does not apply, and why.
import fc from "fast-check";
import * as surprisal from "../../../lib";
import {
  back,
  packed,
  poisoned,
  reversed,
  subset,
  type TokenBatch,
  type TokenCase,
  tokenCase,
  widened,
} from "../../advantage/laws/token-batch";
import { type BackendName, eachBackend } from "../../support/each-backend";
import type { Counts, LossRun, Run } from "./loss-runs";
import { type Exemptions, type Law, LAWS, type Loss, LOSSES, type Variant } from "./loss-table";

// Rows added in another order: a few ulps of float64.
const CLOSE = { rtol: 1e-10, atol: 1e-12 };

type Check = (given: TokenCase, variant: Variant, loss: Loss, backend: BackendName) => void;
type Place = (b: number, t: number) => number | undefined;

/** On another layout of the same rows everything is, to the bit, what it is on the padded one. */
function same(
  given: TokenCase,
  { batch, place }: { batch: TokenBatch; place: Place },
  { run }: Variant,
  backend: BackendName,
): void {
  const plain = run(given.padded, { backend });
  const other = run(batch, { backend });
  const shared = (b: number, t: number) => (place(b, t) === undefined ? undefined : b * given.width + t);
  expect({ loss: other.loss, metrics: other.metrics }).toEqual({ loss: plain.loss, metrics: plain.metrics });
  for (const part of ["gradients", "perToken"] as const)
    for (const [name, values] of Object.entries(plain[part]))
      expect([name, back(given, other[part][name]!, place)]).toEqual([name, back(given, values, shared)]);
}

const everyRow = ({ rows }: TokenCase): number[] => Array.from({ length: rows }, (_, b) => b);

/** Rows of group "0", and the others: no prompt is cut. */
const partsOf = (given: TokenCase): number[][] => [
  everyRow(given).filter((b) => given.padded.groups[b] === "0"),
  everyRow(given).filter((b) => given.padded.groups[b] !== "0"),
];

function countsOf({ mask, rows }: TokenBatch, countsEmpty: boolean): Required<Pick<Counts, "tokens" | "rows">> {
  const width = rows === 0 ? 0 : mask.length / rows;
  const kept = Array.from({ length: rows }, (_, b) =>
    mask.subarray(b * width, (b + 1) * width).reduce((sum, on) => sum + on, 0),
  );
  // Where nothing is kept any count will do.
  return {
    tokens: Math.max(
      kept.reduce((sum, count) => sum + count, 0),
      1,
    ),
    rows: Math.max(countsEmpty ? rows : kept.filter((count) => count > 0).length, 1),
  };
}

/** What a part's loss and gradients are multiplied by before they are added. */
function shareOf({ split }: Loss, part: TokenBatch, whole: TokenBatch): number {
  const prompts = (batch: TokenBatch) => new Set(batch.groups).size;
  if (split === "rows") return part.rows / whole.rows;
  return split === "prompts" ? prompts(part) / prompts(whole) : 1;
}

function expectParts(
  given: TokenCase,
  { run, countsEmpty = false }: Variant,
  loss: Loss,
  backend: BackendName,
  workers: number,
): void {
  const { padded, width } = given;
  const counts = loss.split === "counts" ? { ...countsOf(padded, countsEmpty), workers } : {};
  const whole = run(padded, { backend });
  const total = {
    loss: 0,
    gradients: Object.fromEntries(
      Object.keys(whole.gradients).map((name) => [name, new Float64Array(padded.mask.length)]),
    ),
  };
  for (const order of partsOf(given)) {
    if (order.length === 0) continue;
    const part = subset(given, order);
    const share = shareOf(loss, part, padded) / workers;
    const result = run(part, { backend, counts });
    total.loss += share * result.loss;
    for (const [name, values] of Object.entries(result.gradients))
      order.forEach((b, i) => {
        for (let t = 0; t < width; ++t) total.gradients[name]![b * width + t] = share * values[i * width + t]!;
      });
  }
  expect(total.loss).toBeAllClose(whole.loss, CLOSE);
  for (const [name, values] of Object.entries(whole.gradients))
    expect(total.gradients[name]!).toBeAllClose(values, CLOSE);
}

const CHECKS: Readonly<Record<Law, Check>> = {
  poison(given, { run }, _, backend) {
    expect(run(poisoned(given), { backend })).toEqual(run(given.padded, { backend }));
  },

  zero(given, { run }, _, backend) {
    const { mask } = given.padded;
    for (const values of Object.values(run(poisoned(given), { backend }).gradients))
      expect(Array.from(values).filter((x, i) => mask[i] === 0 && !Object.is(x, 0))).toEqual([]);
  },

  padding(given, variant, _, backend) {
    for (const extra of [1, 7]) same(given, widened(given, extra), variant, backend);
  },

  packing(given, variant, _, backend) {
    same(given, packed(given), variant, backend);
  },

  order(given, { run, tied }, _, backend) {
    fc.pre(tied?.(given) !== true);
    const { batch, place } = reversed(given);
    const plain = run(given.padded, { backend });
    const mirrored = run(batch, { backend });
    expect(mirrored.loss).toBeAllClose(plain.loss, CLOSE);
    expect(Object.keys(mirrored.metrics)).toEqual(Object.keys(plain.metrics));
    expect(Object.values(mirrored.metrics)).toBeAllClose(Object.values(plain.metrics), CLOSE);
    for (const [name, values] of Object.entries(mirrored.gradients))
      expect(back(given, values, place)).toBeAllClose(plain.gradients[name]!, CLOSE);
  },

  split(given, variant, loss, backend) {
    expectParts(given, variant, loss, backend, 1);
    // Workers whose gradients are averaged afterwards.
    if (loss.split === "counts") expectParts(given, variant, loss, backend, 2);
  },

  flat(given, { run }, _, backend) {
    const { gradients } = run(given.padded, { backend, zero: true });
    for (const values of Object.values(gradients)) expect(Array.from(values).filter((x) => x !== 0)).toEqual([]);
  },

  nothing(given, { run }, _, backend) {
    const empty = { ...given.padded, mask: new Uint8Array(given.padded.mask.length) };
    const { loss, metrics, gradients } = run(poisoned({ ...given, padded: empty }), { backend });
    expect(loss).toBe(0);
    for (const values of Object.values(gradients))
      expect(Array.from(values).filter((x) => !Object.is(x, 0))).toEqual([]);
    for (const [name, metric] of Object.entries(metrics)) expect([name, Number.isFinite(metric)]).toEqual([name, true]);
  },
};

/** Every row with a kept token, its first. */
function filled(given: TokenCase): TokenCase {
  const lengths = given.lengths.map((length) => Math.max(length, 1));
  const mask = given.padded.mask.map((on, i) => (i % given.width === 0 ? 1 : on));
  return { ...given, lengths, padded: { ...given.padded, lengths: Int32Array.from(lengths), mask } };
}

/** Two columns at least, so that rows and tokens differ in number. */
const casesOf = ({ full }: Variant): fc.Arbitrary<TokenCase> =>
  fc
    .record({ seed: fc.integer(), rows: fc.integer({ min: 1, max: 5 }), width: fc.integer({ min: 2, max: 8 }) })
    .map(({ seed, rows, width }) => tokenCase(seed, rows, width))
    .map((given) => (full ? filled(given) : given));

const lawNames = Object.keys(LAWS) as Law[];
const exemptions = (variant: Variant, loss: Loss): Exemptions => ({ ...loss.exempt, ...variant.exempt });

/** Functions of the package that are losses by name, and those of policyLoss. */
test("every loss has its laws", () => {
  const policies = surprisal.policyLossNames;
  const own = new Set([...policies.map((name) => `${name}Loss`), "policyLoss", "tokenLoss", "rowLoss"]);
  const others = Object.keys(surprisal).filter(
    (name) => /(Loss|Penalty|Bonus|Likelihood|Objective)$/.test(name) && !own.has(name),
  );
  // Rewards, and operations with tests of their own.
  const noLosses = [
    "overlongPenalty",
    "lengthSharePenalty",
    "repetitionPenalty",
    "stopProperlyPenalty",
    "clippedObjective",
  ];
  expect([...Object.keys(LOSSES), "bypass"].sort()).toEqual(
    [...policies, ...others.filter((name) => !noLosses.includes(name))].sort(),
  );
});

test.each(Object.entries(LOSSES))("%s: each law holds for a variant, or has a reason not to", (_, loss) => {
  const variants = Object.values(loss.variants);
  expect(variants.length).toBeGreaterThan(0);
  for (const variant of variants)
    for (const reason of Object.values(exemptions(variant, loss))) expect(reason.length).toBeGreaterThan(10);
  for (const law of lawNames)
    if (loss.exempt?.[law] === undefined)
      expect([law, variants.some((variant) => variant.exempt?.[law] === undefined)]).toEqual([law, true]);
});

test("a loss that breaks each law is caught by each", () => {
  const loss: Loss = { split: "counts", variants: {} };
  const result = (batch: TokenBatch, gradient: (i: number) => number, value = 0): LossRun => ({
    loss: value,
    metrics: {},
    gradients: { gradient: Float64Array.from(batch.mask, (_, i) => gradient(i)) },
    perToken: {},
  });
  const breakers: Readonly<Record<Law, Run>> = {
    poison: (batch) => result(batch, (i) => batch.tokens.a[i]!),
    zero: (batch) => result(batch, (i) => (batch.mask[i] === 0 ? -0 : 0)),
    padding: (batch) => result(batch, () => 0, batch.mask.length),
    packing: (batch) => result(batch, () => ("offsets" in batch.layout ? 1 : 0)),
    order: (batch) => result(batch, (i) => i),
    split: (batch) => result(batch, () => 0, 1),
    flat: (batch) => result(batch, () => 1),
    nothing: (batch) => result(batch, () => 0, 0 / Math.min(batch.mask.length, 0)),
  };
  const given = tokenCase(3, 5, 9);
  for (const law of lawNames) expect(() => CHECKS[law](given, { run: breakers[law] }, loss, "js")).toThrow();
});

eachBackend((backend) => {
  // The emulated device starts a fiber a thread: it sees fewer batches.
  const runs = { numRuns: backend === "emulated" ? 1 : 3 };
  for (const [name, loss] of Object.entries(LOSSES))
    describe(name, () => {
      for (const [title, variant] of Object.entries(loss.variants)) {
        const excused = exemptions(variant, loss);
        for (const law of lawNames.filter((each) => excused[each] === undefined))
          test(`${title}: ${LAWS[law]}`, () => {
            fc.assert(
              fc.property(casesOf(variant), (given) => CHECKS[law](given, variant, loss, backend)),
              runs,
            );
          });
      }
    });
});
