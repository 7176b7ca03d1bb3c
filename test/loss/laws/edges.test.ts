// Losses exactly at a clip edge and one ulp beside it: the edge belongs to the band, and there the gradient is whole.
import {
  klPenalty,
  type PolicyBatch,
  policyLoss,
  type PolicyLossName,
  type PolicyLossResult,
  valueLoss,
} from "../../../lib";
import { eachBackend } from "../../support/each-backend";

const f64 = (...values: number[]) => Float64Array.from(values);
/** The next number below one in [0.5, 4). */
const below = (x: number): number => x - (x > 2 ? 2 ** -51 : x > 1 ? 2 ** -52 : 2 ** -53);
const above = (x: number): number => x + (x >= 2 ? 2 ** -51 : x >= 1 ? 2 ** -52 : 2 ** -53);

type Options = Readonly<Record<string, unknown>>;
const off = { clipLow: Infinity, clipHigh: Infinity };

/** Losses whose ratio of a row of one token is the token's. */
const CLIPPED = ["ppo", "gspo", "gspoToken", "luspo", "rloo", "clipCov"] as const satisfies readonly PolicyLossName[];

eachBackend((backend) => {
  /** One row of one token, x = ℓ − o. */
  const one = (name: PolicyLossName, x: number, A: number, options: Options) => {
    const evaluate = policyLoss as unknown as (name: string, batch: PolicyBatch, options: object) => PolicyLossResult;
    const batch = {
      shape: [1, 1] as const,
      logProbs: f64(x),
      oldLogProbs: f64(0),
      advantages: f64(A),
      advantagesPer: "row" as const,
    };
    const drawn = name === "clipCov" ? { seed: 1, between: [1e300, Infinity] } : {};
    const { loss, gradLogProbs, ratios, clipped } = evaluate(name, batch, { ...drawn, ...options, backend });
    return { loss, grad: gradLogProbs[0]!, ratio: ratios[0]!, clipped: clipped[0]! };
  };
  /** The ratio as this backend rounds it. */
  const ratioOf = (name: PolicyLossName, x: number): number => one(name, x, 1, off).ratio;

  // Between 1/2 and 2 the difference to 1 is exact, so that 1 ± width is the ratio itself.
  test.each(CLIPPED)(
    "%s: at the upper edge the gradient is whole, one ulp beyond it is gone, and only for A > 0",
    (name) => {
      const x = Math.log(1.3);
      const r = ratioOf(name, x);
      const at = (A: number, high: number) => one(name, x, A, { clipLow: 0.2, clipHigh: high - 1 });
      expect(at(2, r)).toMatchObject({ loss: -2 * r, grad: -2 * r, clipped: 0 });
      expect(at(2, above(r))).toMatchObject({ grad: -2 * r, clipped: 0 });
      expect(at(2, below(r))).toMatchObject({ loss: -2 * below(r), grad: 0, clipped: 1 });
      expect(at(-2, below(r))).toMatchObject({ loss: 2 * r, grad: 2 * r, clipped: 0 });
    },
  );

  test.each(CLIPPED)(
    "%s: at the lower edge the gradient is whole, one ulp beyond it is gone, and only for A < 0",
    (name) => {
      const x = Math.log(0.7);
      const r = ratioOf(name, x);
      const at = (A: number, low: number) => one(name, x, A, { clipLow: 1 - low, clipHigh: 0.2 });
      expect(at(-2, r)).toMatchObject({ loss: 2 * r, grad: 2 * r, clipped: 0 });
      expect(at(-2, below(r))).toMatchObject({ grad: 2 * r, clipped: 0 });
      expect(at(-2, above(r))).toMatchObject({ loss: 2 * above(r), grad: 0, clipped: 1 });
      expect(at(2, above(r))).toMatchObject({ loss: -2 * r, grad: -2 * r, clipped: 0 });
    },
  );

  test.each(["ppo", "gspo", "gspoToken"] as const)(
    "%s: the two-sided cap at the ratio keeps the gradient, one ulp below takes it",
    (name) => {
      const x = Math.log(1.7);
      const r = ratioOf(name, x);
      const at = (ratioCap: number) => one(name, x, -2, { clipLow: 0.2, clipHigh: 0.2, ratioCap });
      expect(at(r)).toMatchObject({ loss: 2 * r, grad: 2 * r });
      expect(at(below(r))).toMatchObject({ loss: 2 * below(r), grad: 0 });
    },
  );

  test("ppo: the dual clip at the ratio keeps the gradient, one ulp below takes it, and A > 0 does not see it", () => {
    const x = Math.log(3);
    const r = ratioOf("ppo", x);
    const at = (A: number, dualClip: number) => one("ppo", x, A, { clipLow: 0.2, clipHigh: 4, dualClip });
    expect(at(-2, r)).toMatchObject({ loss: 2 * r, grad: 2 * r });
    expect(at(-2, below(r))).toMatchObject({ loss: 2 * below(r), grad: 0 });
    expect(at(2, below(r))).toMatchObject({ loss: -2 * r, grad: -2 * r });
  });

  test("gmpo: widths are in nats, the edge belongs to the band", () => {
    const at = (x: number, A: number, clip: number) => one("gmpo", x, A, { clip });
    const { ratio } = at(0.375, 2, 0.375);
    expect(at(0.375, 2, 0.375)).toMatchObject({ loss: -2 * ratio, grad: -2 * ratio });
    expect(at(0.375, 2, below(0.375)).grad).toBe(0);
    expect(at(0.375, -2, below(0.375)).grad).toBeGreaterThan(0);
    expect(at(-0.375, -2, 0.375).grad).toBeGreaterThan(0);
    expect(at(-0.375, -2, below(0.375)).grad).toBe(0);
    expect(at(-0.375, 2, below(0.375)).grad).toBeLessThan(0);
  });

  test("cispo: the weight stays, whatever is clipped", () => {
    const x = Math.log(1.3);
    const r = ratioOf("cispo", x);
    expect(one("cispo", x, 2, { clipHigh: r - 1 })).toMatchObject({ grad: -2 * r, clipped: 0 });
    expect(one("cispo", x, 2, { clipHigh: below(r) - 1 })).toMatchObject({ grad: -2 * below(r), clipped: 1 });
    expect(one("cispo", x, -2, { clipHigh: below(r) - 1 }).grad).toBe(2 * below(r));
  });

  test.each([
    ["ppo, verl, whose dual clip holds before the clamp", "ppo", { preset: "verl", ...off, dualClip: Infinity }, 20],
    ["ppo, openrlhf", "ppo", { preset: "openrlhf", ...off }, 20],
    ["sapo, verl", "sapo", { preset: "verl", temperatureNegative: 1e-8 }, 20],
    ["gspoToken, verl", "gspoToken", { preset: "verl", ...off }, 10],
  ] as const)("%s: the log ratio's clamp has gradient on it and none beyond", (_, name, options, bound) => {
    const at = one(name, bound, -1, options);
    const beyond = one(name, bound + 2 ** -48, -1, options);
    expect(at.grad).toBeGreaterThan(0);
    expect(beyond).toEqual({ ...at, grad: 0 });
    if (bound === 20 && name === "ppo") {
      expect(one(name, -20, -1, options).grad).toBeGreaterThan(0);
      expect(one(name, -20 - 2 ** -48, -1, options).grad).toBe(0);
    }
  });

  test("cispo, verl: beyond the clamp at 20 the weight stops, the gradient does not", () => {
    const at = one("cispo", 20, 1, { preset: "verl", clipHigh: Infinity });
    expect(at.grad).toBe(-at.ratio);
    expect(one("cispo", 25, 1, { preset: "verl", clipHigh: Infinity }).grad).toBe(at.grad);
    expect(one("cispo", 25, 1, { preset: "trl", clipHigh: Infinity }).grad).toBeLessThan(at.grad);
  });

  test("valueLoss: equal errors have the gradient of the free one; beyond the band it is gone where clipping makes it worse", () => {
    const at = (value: number, old: number, target: number) => {
      const { loss, gradValues, clipped } = valueLoss(
        { shape: [1, 1], values: f64(value), oldValues: f64(old), returns: f64(target) },
        { clip: 0.5, backend },
      );
      return { loss, grad: gradValues[0]!, clipped: clipped[0]! };
    };
    expect(at(1.5, 1, 2)).toEqual({ loss: 0.125, grad: -0.5, clipped: 0 }); // on the edge
    expect(at(above(1.5), 1, 2)).toEqual({ loss: 0.125, grad: 0, clipped: 1 });
    expect(at(2, 1, 1.75)).toEqual({ loss: 0.03125, grad: 0.25, clipped: 0 }); // 1.5 and 2 are as far from 1.75
    expect(at(2, 1, 0)).toEqual({ loss: 2, grad: 2, clipped: 0 });
  });

  test("KL: straight-through gradients pass every clamp, values do not", () => {
    for (const [estimator, value] of [
      ["k1+", 3],
      ["abs+", 3],
      ["k3+", 3],
    ] as const) {
      const { values, gradLogProbs } = klPenalty(f64(-5), f64(0), { estimator, valueClamp: 3, shape: [1, 1], backend });
      expect([estimator, Math.abs(values[0]!), gradLogProbs[0]]).toEqual([estimator, value, -5]);
    }
    expect(klPenalty(f64(-5), f64(0), { estimator: "k3", valueClamp: 3, shape: [1, 1], backend }).gradLogProbs[0]).toBe(
      0,
    );
  });

  test("KL, importance-corrected: ratio · d for k3, through the token's or the row's ratio", () => {
    const logProbs = f64(-1, -2);
    const old = f64(-1.2, -1.9);
    const reference = f64(-1.5, -1.7);
    const batch = {
      shape: [1, 2] as const,
      logProbs,
      oldLogProbs: old,
      referenceLogProbs: reference,
      advantages: f64(0),
      advantagesPer: "row" as const,
    };
    const kl = { coefficient: 1, kind: "k3", importanceCorrected: true } as const;
    const [d0, d1] = [0.5, -0.3];
    const [k0, k1] = [Math.exp(-d0) - 1 + d0, Math.exp(-d1) - 1 + d1];
    const options = { clip: 0.2, aggregation: "rowSum", kl, backend } as const;
    // e^(−d) − 1 + d and its derivative 1 − e^(−d) add up to d.
    expect(policyLoss("ppo", batch, options).gradLogProbs).toBeAllClose([Math.exp(0.2) * d0, Math.exp(-0.1) * d1], {
      rtol: 1e-13,
    });
    const S = Math.exp(0.05);
    expect(policyLoss("gspo", batch, options).gradLogProbs).toBeAllClose(
      [d0, d1].map((d) => S * (1 - Math.exp(-d)) + ((k0 + k1) * S) / 2),
      { rtol: 1e-13 },
    );
  });
});
