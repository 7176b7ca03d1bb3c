// Trust regions, the losses inside of them and the pull back to the old policy, against their formulas and finite differences.
import {
  dppoLoss,
  type DppoLossOptions,
  droLoss,
  type PolicyBatch,
  policyLoss,
  ppoLoss,
  toDevice,
  trustRegionMask,
} from "../../lib";
import { eachBackend } from "../support/each-backend";
import { eachDeviceBackend } from "../support/each-device";

const old = [-0.1, -0.7, -2, -4, -0.01, -1.2];
const moved = [-0.05, -0.2, -2.5, -1, -0.6, -1.2];
const advantages = [1, 2, -1, 0.5, -2, 0];
const mask = [1, 1, 1, 1, 1, 0];

const batchOf = (logProbs: readonly number[]): PolicyBatch => ({
  shape: [2, 3],
  mask: Uint8Array.from(mask),
  logProbs: Float64Array.from(logProbs),
  oldLogProbs: Float64Array.from(old),
  advantages: Float64Array.from(advantages),
  advantagesPer: "token",
});

const region = { shape: [2, 3], mask: Uint8Array.from(mask), advantages: Float64Array.from(advantages) } as const;
const o = Float64Array.from(old);
const l = Float64Array.from(moved);
const inside = (options: object): string =>
  trustRegionMask(l, o, { ...region, low: 0.1, high: 0.2, measure: "probability", ...options }).join("");

test("a region holds a token on the side to which its advantage pushes it", () => {
  // p − p_o: 0.046, 0.322, −0.053, 0.350, −0.441
  expect(inside({})).toBe("101000");
  expect(inside({ high: 0.34 })).toBe("111000");
  expect(inside({ low: 0.5 })).toBe("101010");
  expect(inside({ advantages: Float64Array.of(-1, -1, -1, -1, -1, -1) })).toBe("111100");
  expect(inside({ advantages: Float64Array.of(0, 0, 0, 0, 0, 0) })).toBe("111110");
  expect(inside({ advantages: Float64Array.of(0, 0, 0, 0, 0, 0), sides: "advantageOrLow" })).toBe("111100");
  expect(inside({ advantages: undefined, sides: "both" })).toBe("101000");
});

test("bounds are one for all, one a row or one a token", () => {
  expect(inside({ high: Float64Array.of(0.4, 0.2) })).toBe("111000");
  expect(inside({ high: Float64Array.of(0.2, 0.4, 0.2, 0.4, 0.2, 0.2), low: Float64Array.of(1, 1) })).toBe("111110");
  const high = Float64Array.of(0.4, 0.2, 0.2, 0.2, 0.2, NaN); // the last one is under the mask
  expect(inside({ high })).toBe(inside({ high: high.fill(7, 5) }));
  expect(() => inside({ high: high.fill(NaN, 4) })).toThrow("trustRegionMask: high[4] is NaN");
});

test("the KL of this token against all others, and ratios", () => {
  const kl = (i: number): number => {
    const [p, q] = [Math.exp(old[i]!), Math.exp(moved[i]!)];
    return p * Math.log(p / q) + (1 - p) * Math.log((1 - p) / (1 - q));
  };
  const bound = Math.max(kl(0), kl(2)) + 1e-6;
  const want = [0, 1, 2, 3, 4].map((i) => (kl(i) <= bound ? 1 : 0)).join("");
  expect(inside({ measure: "binaryKl", low: bound, high: bound })).toBe(`${want}0`);
  expect(inside({ measure: "ratio", low: 0.3, high: 0.1 })).toBe("100000");
});

test("what is no bound is refused, by name", () => {
  expect(() => inside({ low: -1 })).toThrow(/low is -1/);
  expect(() => inside({ high: Float64Array.of(1, NaN) })).toThrow(/high\[1\] is NaN/);
  expect(() => inside({ measure: "kl" })).toThrow(/measure is "kl"/);
  expect(() => inside({ advantages: undefined })).toThrow(/advantages is undefined/);
  expect(() => droLoss(batchOf(moved), { beta: 0 })).toThrow(/beta is 0/);
});

eachBackend((backend) => {
  test.each<DppoLossOptions>([
    { low: 0.1, high: 0.2, surrogate: "ratio" },
    { low: 0.05, high: 0.05, measure: "binaryKl", surrogate: "ratio", proximity: 0.3 },
    { low: 0.3, high: 0.3, measure: "ratio", sides: "both", surrogate: "ratio", aggregation: "rowMean" },
    { low: Infinity, high: Infinity, surrogate: "ratio", proximity: 2, aggregation: "tokenSum" },
  ])(`${backend}: the gradient of %j is that of its value`, (options) => {
    const value = (logProbs: readonly number[]) => dppoLoss(batchOf(logProbs), { ...options, backend });
    const { gradLogProbs } = value(moved);
    const h = 1e-6;
    moved.forEach((x, i) => {
      const at = (step: number): number => value(moved.map((y, k) => (k === i ? x + step : y))).loss;
      expect(Math.abs((at(h) - at(-h)) / (2 * h) - gradLogProbs[i]!)).toBeLessThan(1e-6);
    });
  });

  test(`${backend}: a constant weight has the gradient of the ratio, up to its cap`, () => {
    const options = { low: 0.1, high: 0.2, aggregation: "rowSum", backend } as const;
    const weighed = dppoLoss(batchOf(moved), options);
    const ratio = dppoLoss(batchOf(moved), { ...options, surrogate: "ratio" });
    weighed.gradLogProbs.forEach((g, i) => expect(g).toBeCloseTo(ratio.gradLogProbs[i]!, 14));
    expect(weighed.inside.join("")).toBe("101000");
    const capped = dppoLoss(batchOf(moved), { ...options, ratioCap: 0.5, low: Infinity, high: Infinity });
    expect(capped.gradLogProbs[0]).toBeCloseTo(-0.5 / 2, 12);
  });

  test(`${backend}: without bounds it is the plain surrogate`, () => {
    const free = dppoLoss(batchOf(moved), { low: Infinity, high: Infinity, surrogate: "ratio", backend });
    const plain = ppoLoss(batchOf(moved), { clip: Infinity, backend });
    expect(free.loss).toBe(plain.loss);
  });

  test(`${backend}: DRO is −A·ℓ with β/2·(ℓ − o)², both times the rollout weights`, () => {
    const rolloutWeights = Float64Array.of(0.5, 2);
    const batch = { ...batchOf(moved), rolloutWeights };
    const { loss, gradLogProbs } = droLoss(batch, { beta: 0.3, aggregation: "tokenSum", backend });
    const terms = moved.map(
      (x, i) => (mask[i] ? rolloutWeights[i < 3 ? 0 : 1]! : 0) * (-advantages[i]! * x + 0.15 * (x - old[i]!) ** 2),
    );
    expect(loss).toBeCloseTo(
      terms.reduce((a, b) => a + b, 0),
      12,
    );
    moved.forEach((x, i) => {
      const slope = (mask[i] ? rolloutWeights[i < 3 ? 0 : 1]! : 0) * (-advantages[i]! + 0.3 * (x - old[i]!));
      expect(gradLogProbs[i]).toBeCloseTo(slope, 12);
    });
  });
});

eachDeviceBackend((backend) => {
  test("arrays on a device are refused, with the reason and what to do", () => {
    const logProbs = toDevice(l, { backend });
    const refusal = expect.objectContaining({
      code: "ERR_SURPRISAL_DTYPE",
      message: expect.stringMatching(/is decided in host memory.*array\.read\(\)/s) as string,
    }) as Error;
    const host = batchOf(moved);
    // Not of the types either: a caller in plain JavaScript.
    const batch = { ...host, logProbs } as unknown as PolicyBatch;
    const bounds = { low: 0.1, high: 0.2 };
    expect(() => trustRegionMask(logProbs as never, o, { ...region, ...bounds, measure: "ratio" })).toThrow(refusal);
    expect(() => dppoLoss(batch, bounds)).toThrow(refusal);
    for (const name of ["dppo", "dppoTv", "dppoKl"] as const)
      expect(() => policyLoss(name, batch, bounds)).toThrow(refusal);
  });
});
