// Rows that are longer than any tile or register, with stretches that are masked and tokens whose ratio or gap is beyond float64's
// exponential: results and figures of the clipped losses by their definitions.
import { rowLoss, tokenLoss } from "../../../lib";
import "../../support/all-close";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

/** Longer than two tiles of 256 tokens, and not a multiple of a register. */
const T = 707;
const ROWS = 4;
const n = ROWS * T;
const CLIP = { clipLow: 0.2, clipHigh: 0.25 } as const;
const COEFFICIENT = 0.05;
/** Sums of 707 numbers of float64, in another order. */
const exact = { rtol: 1e-12, atol: 1e-12 };

const draw = rng(31);
const old = draw.f64(n, -3, -0.5);
const near = old.map((value) => value + 1.2 * (draw.uniform() - 0.5));
const reference = near.map((value) => value + draw.uniform() - 0.5);
/** Some tokens of every row, and none of 300 in a row. */
const mask = Uint8Array.from({ length: n }, (_, i) => (i % T >= 256 && i % T < 556 ? 0 : draw.uniform() < 0.7 ? 1 : 0));
/** Tokens of two rows, in the first tile and behind the last register. */
const FAR = [T + 100, 2 * T + 701];
for (const i of FAR) mask[i] = 1;
const ofRows = Float64Array.of(1.5, -0.5, 0, 2);
const ofTokens = draw.f64(n, -2, 2).map((value, i) => (i % 10 === 0 ? 0 : value));

const rowOf = (i: number): number => Math.floor(i / T);
const keptOf = (b: number): number[] => Array.from({ length: T }, (_, t) => b * T + t).filter((i) => mask[i] !== 0);
const sum = (items: readonly number[], of: (i: number) => number): number => items.reduce((all, i) => all + of(i), 0);

/** What a token's ratio r and advantage A come to. */
function term(r: number, A: number): { loss: number; slope: number; clipped: boolean } {
  const [free, held] = [A * r, A * Math.min(Math.max(r, 1 - CLIP.clipLow), 1 + CLIP.clipHigh)];
  const clipped = held < free;
  return { loss: -Math.min(free, held), slope: clipped ? 0 : -free, clipped };
}

/** Figures of row b but for losses, of a band that is asked of `band`. */
function figures(
  b: number,
  x: (i: number) => number,
  A: (i: number) => number,
  band: (i: number) => number,
  clamp: number,
) {
  const kept = keptOf(b);
  const count = (test: (i: number) => boolean): number => kept.filter(test).length;
  const [under, over] = [(i: number) => band(i) < 1 - CLIP.clipLow, (i: number) => band(i) > 1 + CLIP.clipHigh];
  const outside = (i: number): boolean => under(i) || over(i);
  return {
    kept: kept.length,
    terms: kept.length,
    below: count((i) => under(i) && A(i) < 0),
    above: count((i) => over(i) && A(i) > 0),
    outside: count(outside),
    outsidePositive: count((i) => outside(i) && A(i) > 0),
    outsideNegative: count((i) => outside(i) && A(i) < 0),
    logRatio: sum(kept, x),
    clampedLogRatio: sum(kept, (i) => Math.min(Math.max(x(i), -clamp), clamp)),
    absoluteLogRatio: sum(kept, (i) => Math.abs(x(i))),
    squaredLogRatio: sum(kept, (i) => x(i) ** 2),
    ratioK3: sum(kept, (i) => Math.expm1(x(i)) - x(i)),
  };
}

type Figures = Readonly<Record<string, number>>;

function expectFigures(got: object, want: (b: number) => Figures): void {
  const rows = got as Readonly<Record<string, Float64Array>>;
  for (let b = 0; b < ROWS; ++b)
    for (const [name, value] of Object.entries(want(b)))
      expect({ [`${name} of row ${b}`]: rows[name]![b]! }).toBeAllClose({ [`${name} of row ${b}`]: value }, exact);
}

const DISTANCES = { near: 0, "with ratios of 0": -800 } as const;
/** The old policy's log-probs, `by` nats above the others at the far tokens. */
function shifted(values: Float64Array, by: number): Float64Array {
  return values.map((value, i) => (FAR.includes(i) ? near[i]! - by : value));
}

eachBackend((backend) => {
  describe.each(Object.entries(DISTANCES))("log ratios that are %s", (_, by) => {
    const before = by === 0 ? old : shifted(old, by);
    const x = (i: number): number => near[i]! - before[i]!;
    const common = {
      form: "clip",
      ...CLIP,
      shape: [ROWS, T],
      logProbs: near,
      oldLogProbs: before,
      mask,
      backend,
    } as const;

    test.each(["row", "token"] as const)("tokens, with an advantage for each %s", (per) => {
      const advantages = per === "row" ? ofRows : ofTokens;
      const A = (i: number): number => (per === "row" ? ofRows[rowOf(i)]! : ofTokens[i]!);
      const outputs = ["losses", "ratios", "clipped", "gradLogProbs"] as const;
      const got = tokenLoss({ ...common, advantages, advantagesPer: per, outputs });
      const want = Array.from(near, (__, i) =>
        mask[i] === 0 ? null : { r: Math.exp(x(i)), ...term(Math.exp(x(i)), A(i)) },
      );
      expect(got.losses).toBeAllClose(
        want.map((t) => t?.loss ?? 0),
        exact,
      );
      expect(got.ratios).toBeAllClose(
        want.map((t) => t?.r ?? 0),
        exact,
      );
      expect([...got.clipped]).toEqual(want.map((t) => (t?.clipped ? 1 : 0)));
      expect(got.gradLogProbs).toBeAllClose(
        want.map((t) => t?.slope ?? 0),
        exact,
      );
      expectFigures(got.rowFigures, (b) => ({
        ...figures(b, x, A, (i) => Math.exp(x(i)), Infinity),
        loss: sum(keptOf(b), (i) => want[i]!.loss),
        ratio: sum(keptOf(b), (i) => want[i]!.r),
        clipped: keptOf(b).filter((i) => want[i]!.clipped).length,
        rowRatio: keptOf(b).reduce((most, i) => Math.max(most, want[i]!.r), -Infinity),
      }));
    });

    // No row's mean is held by the clamp, but tokens far off are.
    test.each([Infinity, 10])("sequences: all tokens of a row cost the same, with a clamp of %p", (logClamp) => {
      const outputs = ["losses", "clipped", "gradLogProbs"] as const;
      const got = rowLoss({ ...common, logClamp, advantages: ofRows, outputs });
      const ratios = Array.from({ length: ROWS }, (__, b) => Math.exp(sum(keptOf(b), x) / keptOf(b).length));
      const terms = ratios.map((r, b) => term(r, ofRows[b]!));
      const A = (i: number): number => ofRows[rowOf(i)]!;
      const wanted = (of: (b: number) => number): number[] =>
        Array.from(near, (__, i) => (mask[i] === 0 ? 0 : of(rowOf(i))));
      expect(got.losses).toBeAllClose(
        wanted((b) => terms[b]!.loss),
        exact,
      );
      expect(got.gradLogProbs).toBeAllClose(
        wanted((b) => terms[b]!.slope),
        exact,
      );
      expect([...got.clipped]).toEqual(wanted((b) => (terms[b]!.clipped ? 1 : 0)));
      expectFigures(got.rowFigures, (b) => ({
        ...figures(b, x, A, (i) => ratios[rowOf(i)]!, logClamp),
        loss: keptOf(b).length * terms[b]!.loss,
        clipped: terms[b]!.clipped ? keptOf(b).length : 0,
        rowRatio: ratios[b]!,
      }));
    });
  });

  test.each([
    ["near", reference],
    ["800 nats above", shifted(reference, 800)],
    ["800 nats below", shifted(reference, -800)],
  ] as const)("KL terms of tokens, to a reference that is %s", (_, referenceLogProbs) => {
    const out = {
      klValues: new Float64Array(n).fill(NaN),
      gradLogProbs: new Float64Array(n).fill(NaN),
      losses: new Float64Array(n).fill(NaN),
    };
    const got = tokenLoss({
      form: "clip",
      ...CLIP,
      shape: [ROWS, T],
      logProbs: near,
      oldLogProbs: old,
      advantages: ofRows,
      mask,
      kl: { referenceLogProbs, kind: "k3", coefficient: COEFFICIENT },
      outputs: ["losses", "klValues", "gradLogProbs"],
      out,
      backend,
    });
    const d = (i: number): number => near[i]! - referenceLogProbs[i]!;
    const [value, slope] = [(i: number) => Math.expm1(-d(i)) + d(i), (i: number) => -Math.expm1(-d(i))];
    const surrogate = (i: number) => term(Math.exp(near[i]! - old[i]!), ofRows[rowOf(i)]!);
    const wanted = (of: (i: number) => number): number[] => Array.from(near, (__, i) => (mask[i] === 0 ? 0 : of(i)));
    expect(got.klValues).toBeAllClose(wanted(value), exact);
    expect(got.losses).toBeAllClose(
      wanted((i) => surrogate(i).loss),
      exact,
    );
    expect(got.gradLogProbs).toBeAllClose(
      wanted((i) => surrogate(i).slope + COEFFICIENT * slope(i)),
      exact,
    );
    expectFigures(got.rowFigures, (b) => ({ kl: sum(keptOf(b), value) }));
  });
});
