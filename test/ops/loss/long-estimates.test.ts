// KL estimates of rows that are longer than any tile or register, with stretches under the mask and gaps beyond float64's exponential.
import { klEstimates, type KlKind, tokenLoss } from "../../../lib/ops/loss";
import "../../support/all-close";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

/** Longer than two tiles of 256 tokens, and not a multiple of a register. */
const T = 707;
const ROWS = 5;
const n = ROWS * T;
const exact = { rtol: 1e-12, atol: 1e-12 };

const draw = rng(77);
const q = draw.f64(n, -3, -0.5);
const near = q.map((value) => value + 1.5 * (draw.uniform() - 0.5));
/** Some tokens of every row but the last, which has none; none of 300 in a row. */
const mask = Uint8Array.from({ length: n }, (_, i) => {
  const t = i % T;
  return i >= 4 * T || (t >= 256 && t < 556) || draw.uniform() < 0.3 ? 0 : 1;
});
/** In the first tile of a row, and behind the last register of another. */
const FAR = [T + 100, 2 * T + 701];
for (const i of FAR) mask[i] = 1;

/** Value and slope at d. */
const AT: Readonly<Record<KlKind, (d: number) => readonly [number, number]>> = {
  k1: (d) => [d, 1],
  abs: (d) => [Math.abs(d), Math.sign(d)],
  k2: (d) => [(d * d) / 2, d],
  k3: (d) => [Math.expm1(-d) + d, -Math.expm1(-d)],
};

const POISON = { NaN: NaN, "−∞": -Infinity, "+∞": Infinity } as const;

eachBackend((backend) => {
  const shape = [ROWS, T] as const;

  describe.each(Object.keys(AT) as KlKind[])("%s", (kind) => {
    test.each([0, 30, 800])("is its definition, with gaps of %d nats among the others", (far) => {
      const logProbs = near.map((value, i) => (FAR.includes(i) ? value + (i % 2 === 0 ? far : -far) : value));
      const got = klEstimates(logProbs, q, { shape, kind, mask, backend });
      const pairs = Array.from(logProbs, (value, i) => (mask[i] === 0 ? ([0, 0] as const) : AT[kind](value - q[i]!)));
      expect(got.values).toBeAllClose(
        pairs.map(([value]) => value),
        exact,
      );
      expect(got.gradLogProbs).toBeAllClose(
        pairs.map(([, slope]) => slope),
        exact,
      );
      for (let b = 0; b < ROWS; ++b) {
        const own = pairs.slice(b * T, (b + 1) * T).reduce((sum, [value]) => sum + value, 0);
        expect(got.rowSums[b]!).toBeAllClose(own, { rtol: 1e-11, atol: 1e-11 });
        expect(got.counts[b]).toBe(mask.subarray(b * T, (b + 1) * T).reduce((sum, kept) => sum + kept, 0));
      }
    });

    test.each(Object.entries(POISON))(
      "%s changes its token and its row alone, and nothing under the mask",
      (_, poison) => {
        const clean = klEstimates(near, q, { shape, kind, mask, backend });
        const hidden = near.map((value, i) => (mask[i] === 0 ? poison : value));
        const under = klEstimates(
          hidden,
          q.map((value, i) => (mask[i] === 0 ? poison : value)),
          { shape, kind, mask, backend },
        );
        expect(under).toEqual(clean);
        const spoilt = near.slice();
        spoilt[FAR[0]!] = poison;
        const got = klEstimates(spoilt, q, { shape, kind, mask, backend });
        const others = (values: ArrayLike<number>): number[] => Array.from(values).filter((_value, i) => i !== FAR[0]);
        expect(others(got.values)).toEqual(others(clean.values));
        expect(others(got.gradLogProbs)).toEqual(others(clean.gradLogProbs));
        const [value] = AT[kind](poison - q[FAR[0]!]!);
        expect(got.values[FAR[0]!]).toBe(value);
        expect([...got.rowSums].map(Number.isFinite)).toEqual([true, false, true, true, true]);
      },
    );
  });

  describe("a loss of such terms alone", () => {
    const advantages = new Float64Array(ROWS);
    const figuresWith = (at: number, value: number) => {
      const logProbs = near.slice();
      logProbs[at] = value;
      const kl = { kind: "k1", referenceLogProbs: q } as const;
      return tokenLoss({ form: "linear", logProbs, advantages, kl, mask, shape, outputs: ["klValues"], backend })
        .rowFigures;
    };
    const keptOf = Array.from({ length: ROWS }, (_, b) =>
      mask.subarray(b * T, (b + 1) * T).reduce((sum, kept) => sum + kept, 0),
    );
    const ofNone = [
      "loss",
      "clipped",
      "limited",
      "below",
      "above",
      "outside",
      "outsidePositive",
      "outsideNegative",
    ] as const;
    const ofRatios = ["logRatio", "clampedLogRatio", "absoluteLogRatio", "squaredLogRatio", "ratioK3"] as const;

    test.each([near[FAR[0]!]!, Infinity, -Infinity])(
      "has the figures of ratios that are 1, with a log-prob of %d",
      (value) => {
        const figures = figuresWith(FAR[0]!, value);
        for (const name of [...ofNone, ...ofRatios])
          expect({ [name]: [...figures[name]] }).toEqual({ [name]: [0, 0, 0, 0, 0] });
        for (const name of ["kept", "terms", "ratio"] as const)
          expect({ [name]: [...figures[name]] }).toEqual({ [name]: keptOf });
        expect([...figures.rowRatio]).toEqual([1, 1, 1, 1, -Infinity]);
      },
    );

    test.each(FAR)("a NaN, token %d, is in all figures of ratios and losses of its row, and of no other", (at) => {
      const [figures, clean] = [figuresWith(at, NaN), figuresWith(at, near[at]!)];
      const row = Math.floor(at / T);
      for (const name of ["loss", "kl", "ratio", "rowRatio", ...ofRatios] as const) {
        const want = Array.from(clean[name], (value, b) => (b === row ? NaN : value));
        expect({ [name]: [...figures[name]] }).toEqual({ [name]: want });
      }
      expect([...figures.kept]).toEqual(keptOf);
    });
  });
});
