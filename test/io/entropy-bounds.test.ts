import fc from "fast-check";
import { empgAdvantage, sequenceWeights } from "../../lib";
import { entropyBounds, pickEntropies, type TopK } from "../../lib/io";
import { errorCode } from "../support/error-code";

/** The k likeliest of a distribution, and perhaps one more from further down. */
function listed(p: readonly number[], k: number, extra?: number): TopK {
  const order = p.map((_, i) => i).sort((a, b) => p[b]! - p[a]!);
  const ids = order.slice(0, k);
  if (extra !== undefined && !ids.includes(extra)) ids.push(extra);
  return {
    offsets: Int32Array.of(0, ids.length),
    logProbs: Float64Array.from(ids, (i) => Math.log(p[i]!)),
    ids: Int32Array.from(ids),
  };
}

const entropyOf = (p: readonly number[]): number => p.reduce((sum, x) => (x > 0 ? sum - x * Math.log(x) : sum), 0);

/** Distributions from flat to almost certain. */
const distribution = fc
  .tuple(
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 12 }),
    fc.constantFrom(0.1, 1, 5, 40),
  )
  .map(([scores, sharpness]) => {
    const weights = scores.map((score) => Math.exp(sharpness * (score - Math.max(...scores))));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  });

test("the entropy of any distribution lies between the bounds of its top k, whichever token was sampled besides", () => {
  fc.assert(
    fc.property(distribution, fc.nat(), fc.nat(), fc.boolean(), (p, a, b, tell) => {
      const k = 1 + (a % p.length);
      const sampled = b % p.length;
      const topK = listed(p, k, sampled);
      const bounds = entropyBounds(topK, p.length, tell ? { sampled: Float64Array.of(Math.log(p[sampled]!)) } : {});
      const H = entropyOf(p);
      expect(bounds.low[0]!).toBeLessThanOrEqual(H + 1e-9);
      expect(bounds.high[0]!).toBeGreaterThanOrEqual(H - 1e-9);
      expect(bounds.low[0]!).toBeLessThanOrEqual(bounds.high[0]!);
    }),
    { numRuns: 2000 },
  );
});

test("the bounds are those of the formula, and meet where the list is the whole vocabulary", () => {
  const p = [0.5, 0.2, 0.1, 0.1, 0.05, 0.05];
  const sampled = Float64Array.of(Math.log(0.5));
  const { low, high, headMass } = entropyBounds(listed(p, 2), 6, { sampled });
  const head = -0.5 * Math.log(0.5) - 0.2 * Math.log(0.2);
  expect(headMass[0]).toBeCloseTo(0.7, 14);
  expect(high[0]).toBeCloseTo(head + 0.3 * Math.log(4 / 0.3), 14);
  // A tail of 0.3 in parts of at most 0.2: one of 0.2, one of 0.1.
  expect(low[0]).toBeCloseTo(head - 0.2 * Math.log(0.2) - 0.1 * Math.log(0.1), 12);
  // Where the smallest may be an extra, parts of 0.3 (at most 0.5) are possible.
  expect(entropyBounds(listed(p, 2), 6).low[0]).toBeCloseTo(head - 0.3 * Math.log(0.3), 12);
  const whole = entropyBounds(listed(p, 6), 6);
  expect(whole.low[0]).toBe(whole.high[0]);
  expect(whole.high[0]).toBeCloseTo(entropyOf(p), 14);
});

test("an empty list says 0 to ln V; a certain token says 0; NaN stays NaN", () => {
  const topK: TopK = { offsets: Int32Array.of(0, 0, 1, 2), logProbs: Float64Array.of(0, NaN) };
  const { low, high } = entropyBounds(topK, 100);
  expect(Array.from(low)).toEqual([0, 0, NaN]);
  expect(Array.from(high)).toEqual([Math.log(100), 0, NaN]);
});

test("an almost certain token keeps its digits", () => {
  // p = 1 - 1e-12: the tail by 1 - exp would be off in the fourth digit.
  const { low } = entropyBounds({ offsets: Int32Array.of(0, 1), logProbs: Float64Array.of(Math.log1p(-1e-12)) }, 2, {
    sampled: Float64Array.of(0),
  });
  expect(low[0]! / (1e-12 + 1e-12 * -Math.log(1e-12))).toBeCloseTo(1, 9);
});

test("what is no distribution, and a vocabulary that is too small, are refused", () => {
  const two = { offsets: Int32Array.of(0, 2), logProbs: Float64Array.of(-0.1, -0.1) };
  expect(errorCode(() => entropyBounds(two, 10))).toBe("ERR_SURPRISAL_VALUE");
  expect(errorCode(() => entropyBounds(two, 1))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => entropyBounds(two, NaN))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => entropyBounds(two, 10, { sampled: new Float64Array(2) }))).toBe("ERR_SURPRISAL_SHAPE");
});

test("no modulation takes an interval: the caller picks an end, in the types and at run time", () => {
  const bounds = entropyBounds({ offsets: Int32Array.of(0, 1, 2), logProbs: Float64Array.of(-0.5, -1) }, 50);
  const layout = { shape: [2, 1], groups: [0, 0], backend: "js" } as const;
  const batch = {
    shape: [2, 1],
    tokens: Int32Array.of(1, 2),
    mask: Uint8Array.of(1, 1),
    rowAdvantages: Float64Array.of(1, -1),
  } as const;
  const delimiters = { start: [[1]], end: [[2]], backend: "js" } as const;
  // @ts-expect-error an interval is no array of numbers
  expect(() => sequenceWeights(bounds, layout)).toThrow(/it is an interval: choose one of its ends, pickEntropies/);
  // @ts-expect-error an interval is no array of numbers
  expect(errorCode(() => empgAdvantage({ ...batch, entropies: bounds }, delimiters))).toBe("ERR_SURPRISAL_DTYPE");
  // @ts-expect-error there is no default
  expect(errorCode(() => pickEntropies(bounds))).toBe("ERR_SURPRISAL_OPTION");
  // @ts-expect-error and no other word
  expect(errorCode(() => pickEntropies(bounds, "mean"))).toBe("ERR_SURPRISAL_OPTION");

  expect(pickEntropies(bounds, "low")).toEqual(bounds.low);
  expect(pickEntropies(bounds, "high")).toEqual(bounds.high);
  expect(pickEntropies(bounds, "middle")[0]).toBe((bounds.low[0]! + bounds.high[0]!) / 2);
  expect(sequenceWeights(pickEntropies(bounds, "high"), layout).weights).toHaveLength(2);
});
