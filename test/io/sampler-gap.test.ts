import { type Rollout, samplerGap, SamplerGapMeter } from "../../lib/io";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";

const pair = (sampler: number[], trainer: number[], mask?: number[]): Rollout => ({
  samplerLogProbs: Float64Array.from(sampler),
  recomputedLogProbs: Float64Array.from(trainer),
  ...(mask && { mask: Uint8Array.from(mask) }),
});

test("the gap of a few tokens, counted by hand", () => {
  const gap = samplerGap([
    pair([-1, -2, NaN], [-1, -2.5, -1]),
    pair([-3], [-2.75]),
    { samplerLogProbs: Float64Array.of(-1) },
  ]);
  expect(gap).toMatchObject({
    rollouts: 2,
    incomplete: 1,
    tokens: 3,
    nonFinite: 1,
    maxAbs: 0.5,
    shareDifferent: 2 / 3,
    shareLarge: 2 / 3,
  });
  expect(gap.worst).toEqual({ rollout: 0, token: 1, sampler: -2, trainer: -2.5 });
  expect(gap.kl).toBeCloseTo((0 + 0.5 - 0.25) / 3, 15);
  expect(gap.klNonNegative).toBeCloseTo((0 + (Math.exp(-0.5) - 1 + 0.5) + (Math.exp(0.25) - 1 - 0.25)) / 3, 15);
  expect(gap.meanAbs).toBeCloseTo(0.25, 15);
});

test("equal log-probs have no gap; nothing to compare has none either, and says so", () => {
  expect(samplerGap([pair([-1, -2], [-1, -2])])).toMatchObject({
    kl: 0,
    klNonNegative: 0,
    maxAbs: 0,
    shareDifferent: 0,
    tokens: 2,
  });
  expect(samplerGap([{}])).toMatchObject({ tokens: 0, incomplete: 1, kl: NaN, maxAbs: NaN, worst: undefined });
});

test("what lies under the mask is not read", () => {
  const clean = samplerGap([pair([-1, -2, -3], [-1.1, 0, -3], [1, 0, 1])]);
  expect(samplerGap([pair([-1, NaN, -3], [-1.1, 99, -3], [1, 0, 1])])).toEqual(clean);
});

test("both estimates come to the KL divergence of two distributions", () => {
  const p = [0.5, 0.3, 0.2];
  const q = [0.4, 0.4, 0.2];
  const kl = p.reduce((sum, x, i) => sum + x * Math.log(x / q[i]!), 0);
  const random = rng(3);
  const meter = new SamplerGapMeter();
  for (let i = 0; i < 400; ++i) {
    const drawn = Array.from({ length: 500 }, () => {
      const u = random.uniform();
      return u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
    });
    meter.add(
      pair(
        drawn.map((id) => Math.log(p[id]!)),
        drawn.map((id) => Math.log(q[id]!)),
      ),
    );
  }
  // 200,000 draws: a standard error of 4e-4 and of 4e-5.
  expect(Math.abs(meter.result().kl - kl)).toBeLessThan(2e-3);
  expect(Math.abs(meter.result().klNonNegative - kl)).toBeLessThan(2e-4);
});

test("lengths that differ and unknown options are refused", () => {
  expect(() => samplerGap([pair([-1], [-1, -2])])).toThrow(
    /rollouts\[0\]\.recomputedLogProbs has 2 entries, samplerLogProbs 1/,
  );
  expect(errorCode(() => samplerGap([], { against: "referenceLogProbs" as never }))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => samplerGap([], { large: -1 }))).toBe("ERR_SURPRISAL_OPTION");
  expect(
    samplerGap([{ samplerLogProbs: Float64Array.of(-1), oldLogProbs: Float64Array.of(-2) }], { against: "oldLogProbs" })
      .maxAbs,
  ).toBe(1);
});
