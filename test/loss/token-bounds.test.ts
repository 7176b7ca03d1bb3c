// Clip widths and ratio caps of each row or token, in every policy loss that clips: the numbers of a token are those of a batch in which all
// have them, and what is under the mask is not read.
import {
  onePassLossNames,
  type PolicyBatch,
  policyLoss,
  policyLossFromLogits,
  type PolicyLossResult,
  ppoLoss,
  valueLoss,
} from "../../lib";
import { surrogate } from "../oracle/loss-forms";
import { eachBackend } from "../support/each-backend";
import { errorFacts } from "../support/error-facts";
import { rng } from "../support/rng";

const [B, T] = [4, 6];
const n = B * T;
const r = rng(31);
const mask = r.mask(n, 0.8);
const old = r.f64(n, -3, -0.5);
const batch = {
  shape: [B, T],
  mask,
  oldLogProbs: old,
  logProbs: old.map((o) => o + 1.4 * (r.uniform() - 0.5)),
  advantages: r.f64(B, -2, 2),
  advantagesPer: "row",
} as const;

const named = policyLoss as unknown as (name: string, batch: object, options: object) => PolicyLossResult;
/** Every loss that clips, its bounds, and whether it sees no token. */
const LOSSES = [
  ["ppo", { clipLow: 0.1, clipHigh: 0.2, ratioCap: 1.3 }, { dualClip: 1.4 }],
  ["gspo", { clipLow: 0.02, clipHigh: 0.03, ratioCap: 1.05 }, {}],
  ["gspoToken", { clipLow: 0.02, clipHigh: 0.03, ratioCap: 1.05 }, {}],
  ["gmpo", { clipLow: 0.2, clipHigh: 0.3 }, {}],
  ["cispo", { clipLow: 0.1, clipHigh: 0.2 }, {}],
  ["cispo", { clipLow: 0.1, clipHigh: 0.2 }, { metricNames: "skyrl" }],
  ["luspo", { clipLow: 0.02, clipHigh: 0.03 }, {}],
  ["rloo", { clipLow: 0.1, clipHigh: 0.2 }, {}],
  ["clipCov", { clipLow: 0.1, clipHigh: 0.2 }, { share: 0.2, between: [-10, 10], seed: 2 }],
  ["cpgd", { clipLow: 0.1, clipHigh: 0.2 }, {}],
] as const;
const ofTokens = LOSSES.filter(([name]) => name !== "rloo");

const shown = ({ loss, gradLogProbs, losses, clipped, ratios, metrics }: PolicyLossResult) => ({
  loss,
  gradLogProbs,
  losses,
  clipped,
  ratios,
  metrics,
});

type Bounds = Readonly<Record<string, number>>;
const each = (bounds: Bounds, length: number, of: (bound: number, k: number) => number = (bound) => bound) =>
  Object.fromEntries(
    Object.entries(bounds).map(([name, bound]) => [name, Float64Array.from({ length }, (_, k) => of(bound, k))]),
  );

eachBackend((backend) => {
  test.each(LOSSES)(
    "%s: an array of one number for each row gives the bits of the number (%j, %j)",
    (name, bounds, more) => {
      const options = { ...more, backend };
      const want = shown(named(name, batch, { ...options, ...bounds }));
      expect(shown(named(name, batch, { ...options, ...each(bounds, B) }))).toEqual(want);
      if (name === "rloo") return;
      expect(shown(named(name, batch, { ...options, ...each(bounds, n), boundsPer: "token" }))).toEqual(want);
    },
  );

  test.each(LOSSES)(
    "%s: rows with other bounds are what they are in a batch of these (%j, %j)",
    (name, bounds, more) => {
      if (name === "clipCov") return; // draws from the batch
      const options = { ...more, aggregation: "tokenSum", backend };
      const width = (bound: number, b: number) => (b % 2 === 0 ? bound : 1.5 * bound);
      const got = named(name, batch, { ...options, ...each(bounds, B, width) });
      for (const parity of [0, 1]) {
        const alike = Object.fromEntries(Object.entries(bounds).map(([key, bound]) => [key, width(bound, parity)]));
        const want = named(name, batch, { ...options, ...alike });
        for (const array of ["gradLogProbs", "losses", "clipped"] as const) {
          const per = got[array].length / B;
          const rows = (of: ArrayLike<number>) => Array.from(of).filter((_, i) => Math.floor(i / per) % 2 === parity);
          expect(rows(got[array])).toEqual(rows(want[array]));
        }
      }
    },
  );

  test.each(ofTokens)("%s: bounds under the mask are not read (%j, %j)", (name, bounds, more) => {
    const options = { ...more, boundsPer: "token", backend };
    const random = rng(5);
    const scales = random.f64(n, 0.5, 1.5);
    const good = each(bounds, n, (bound, i) => bound * scales[i]!);
    const poisoned = Object.fromEntries(
      Object.entries(good).map(([key, values]) => [key, values.map((x, i) => (mask[i] ? x : NaN))]),
    );
    expect(shown(named(name, batch, { ...options, ...poisoned }))).toEqual(
      shown(named(name, batch, { ...options, ...good })),
    );
  });

  // Of those whose weight is no constant: the others' gradient is none of the value's slope.
  test.each(LOSSES.filter(([name]) => ["ppo", "gspo", "gmpo", "luspo", "rloo", "cpgd"].includes(name)))(
    "%s: with bounds for each row the gradient is the slope of the value (%j, %j)",
    (name, bounds, more) => {
      const options = { ...more, ...each(bounds, B, (bound, b) => bound * (1 + b / 3)), backend };
      const at = (logProbs: Float64Array) => named(name, { ...batch, logProbs }, options);
      const h = 1e-6;
      const slopes = batch.logProbs.map((_, i) => {
        const moved = (by: number) => at(batch.logProbs.map((l, j) => (i === j ? l + by : l))).loss;
        return (moved(h) - moved(-h)) / (2 * h);
      });
      expect(at(batch.logProbs).gradLogProbs).toBeAllClose(slopes, { atol: 1e-8 });
    },
  );

  describe("valueLoss", () => {
    const values = {
      shape: [B, T],
      mask,
      values: r.f64(n, -2, 2),
      oldValues: r.f64(n, -2, 2),
      returns: r.f64(n, -2, 2),
    } as const;
    const widths = r.f64(n, 0.05, 0.9);

    test.each([Infinity, 0.6])("a width for each row or token is that of its token (huberDelta %d)", (huberDelta) => {
      const options = { huberDelta, backend, aggregation: "tokenSum" } as const;
      const want = valueLoss(values, { ...options, clip: 0.3 });
      expect(valueLoss(values, { ...options, clip: new Float64Array(B).fill(0.3) })).toEqual(want);
      expect(valueLoss(values, { ...options, clip: new Float64Array(n).fill(0.3), boundsPer: "token" })).toEqual(want);
      const got = valueLoss(values, { ...options, clip: widths });
      for (let i = 0; i < n; ++i) {
        const alone = valueLoss(values, { ...options, clip: widths[i]! });
        for (const array of ["losses", "gradValues", "clipped"] as const) expect(got[array][i]).toBe(alone[array][i]);
      }
      const poisoned = widths.map((x, i) => (mask[i] ? x : NaN));
      expect(valueLoss(values, { ...options, clip: poisoned })).toEqual(got);
    });

    test("the gradient is the slope of the value", () => {
      const of = (at: Float64Array) => valueLoss({ ...values, values: at }, { clip: widths, backend });
      const { gradValues } = of(values.values);
      for (let i = 0; i < n; ++i) {
        const moved = (h: number) => of(values.values.map((x, k) => (k === i ? x + h : x))).loss;
        expect(gradValues[i]).toBeCloseTo((moved(1e-6) - moved(-1e-6)) / 2e-6, 6);
      }
    });

    test("a width of no row and no token is refused", () => {
      expect(() => valueLoss(values, { clip: new Float64Array(3), backend })).toThrow(
        /valueLoss: clip has 3 elements, expected 24/,
      );
    });
  });

  // Yang et al. 2025, DCPO, equation 7: widths that grow where the old probability q is small.
  test("ppo: with the bounds of DCPO it is its formula", () => {
    const [epsLow, epsHigh, most] = [0.16, 0.2, 10];
    const q = old.map(Math.exp);
    const high = q.map((p) => Math.min(0.5 + 0.5 * Math.sqrt(Math.max(1 + (4 * epsHigh) / p, 0)), most) - 1);
    const low = q.map((p) => 1 - (0.5 + 0.5 * Math.sqrt(Math.max(1 - (4 * epsLow) / p, 0))));
    const got = ppoLoss(batch, { clipLow: low, clipHigh: high, aggregation: "tokenSum", backend });
    let sum = 0;
    for (let i = 0; i < n; ++i)
      if (mask[i]) {
        const bounds = { clipLow: low[i]!, clipHigh: high[i]! };
        sum += surrogate(Math.exp(batch.logProbs[i]! - old[i]!), batch.advantages[Math.floor(i / T)]!, bounds).loss;
      }
    expect(got.loss).toBeCloseTo(sum, 12);
  });

  test("from the logits it is the same as from their log-probs", () => {
    const V = 5;
    const random = rng(7);
    const logits = random.normal(n * V, 0, 1.5);
    const targets = random.i32(n, 0, V);
    const { logProbs: _, ...rest } = batch;
    for (const [name, bounds, more] of LOSSES) {
      if (!onePassLossNames.includes(name)) continue;
      const options = { ...more, ...each(bounds, n, (bound, i) => bound * (1 + (i % 3))), boundsPer: "token", backend };
      const call = policyLossFromLogits as unknown as (
        ...all: readonly unknown[]
      ) => PolicyLossResult & { logProbs: Float32Array; gradLogits: Float32Array };
      const got = call(name, logits, targets, rest, options);
      const want = named(name, { ...rest, logProbs: got.logProbs } satisfies PolicyBatch, options);
      expect(shown(got)).toEqual(shown(want));
      // Each row of the gradient is (1 - p) g at the target: that of the token's log-prob.
      for (let i = 0; i < n; ++i) {
        const p = Math.exp(got.logProbs[i]!);
        expect(got.gradLogits[i * V + targets[i]!]).toBeCloseTo((1 - p) * want.gradLogProbs[i]!, 5);
      }
    }
  });
});

const refused = (options: object) => errorFacts(() => named("ppo", batch, options));

test("bounds of another length, type or unit are refused by name", () => {
  const [shape, dtype, option] = ["ERR_SURPRISAL_SHAPE", "ERR_SURPRISAL_DTYPE", "ERR_SURPRISAL_OPTION"];
  expect(refused({ clipLow: new Float32Array(3), clipHigh: 0.2 })).toEqual([shape, "ppoLoss", "clipLow"]);
  expect(refused({ clip: new Int32Array(n) })).toEqual([dtype, "ppoLoss", "clip"]);
  expect(refused({ clip: new Float32Array(n), boundsPer: "batch" })).toEqual([option, "ppoLoss", "boundsPer"]);
  expect(errorFacts(() => named("rloo", batch, { clip: new Float32Array(n) }))).toEqual([shape, "rlooLoss", "clip"]);
});
