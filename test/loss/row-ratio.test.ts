// CISPO and SAPO at the ratio of a row, and KL terms with ratios of their own, against finite differences and definitions.
import {
  cispoLoss,
  logprob,
  type PolicyBatch,
  policyLoss,
  policyLossFromLogits,
  ppoLoss,
  sapoLoss,
  type SapoLossOptions,
} from "../../lib";
import { eachBackend } from "../support/each-backend";

const l0 = Float64Array.of(-0.3, -1.2, -0.7, -2, -0.1, -0.9, -1.4, -0.2);
const mask = Uint8Array.of(1, 1, 0, 1, 1, 1, 1, 0);
const batch: PolicyBatch = {
  shape: [2, 4],
  mask,
  logProbs: l0,
  oldLogProbs: Float64Array.of(-0.5, -1, -9, -1.6, -0.4, -0.8, -1.9, -9),
  referenceLogProbs: Float64Array.of(-0.4, -1.4, -9, -1.8, -0.2, -1.2, -1.1, -9),
  samplerLogProbs: Float64Array.of(-0.6, -1.1, -9, -1.7, -0.3, -0.9, -1.5, -9),
  advantages: Float64Array.of(1, -2, 0, 0.5, -1, 0.7, 1.5, 0),
  advantagesPer: "token",
};

/** The gradient of a loss by central differences. */
function numeric(lossOf: (logProbs: Float64Array) => number): number[] {
  const h = 1e-6;
  return Array.from(l0, (_, i) => {
    const [up, down] = [h, -h].map((step) => lossOf(l0.map((x, k) => (k === i ? x + step : x))));
    return (up! - down!) / (2 * h);
  });
}

const meanRatio = (b: number): number => {
  const kept = [0, 1, 2, 3].map((t) => 4 * b + t).filter((i) => mask[i] === 1);
  return Math.exp(kept.reduce((sum, i) => sum + l0[i]! - batch.oldLogProbs![i]!, 0) / kept.length);
};

const CLOSE = { rtol: 1e-7, atol: 1e-9 };

eachBackend((backend) => {
  const sapo = (logProbs: Float64Array, options: SapoLossOptions = {}) =>
    sapoLoss({ ...batch, logProbs }, { ratioLevel: "sequence", backend, ...options });

  test("SAPO's gradient goes through the mean of the row", () => {
    const got = sapo(l0);
    expect(got.gradLogProbs).toBeAllClose(
      numeric((l) => sapo(l).loss),
      CLOSE,
    );
    expect(got.ratios).toBeAllClose(
      Array.from(mask, (kept, i) => (kept ? meanRatio(Math.floor(i / 4)) : 0)),
      CLOSE,
    );
  });

  test.each([false, true])("and beside a KL term, importance-corrected: %s", (importanceCorrected) => {
    const options = { kl: { coefficient: 0.3, kind: "k3", importanceCorrected }, aggregation: "rowMean" } as const;
    expect(sapo(l0, options).gradLogProbs).toBeAllClose(
      numeric((l) => sapo(l, options).loss),
      CLOSE,
    );
  });

  test("CISPO's weight is the row's; its gradient stays with the token", () => {
    const { gradLogProbs } = cispoLoss(batch, { ratioLevel: "sequence", clipLow: 0.1, clipHigh: 0.1, backend });
    const want = Array.from(mask, (kept, i) => {
      const w = Math.min(Math.max(meanRatio(Math.floor(i / 4)), 0.9), 1.1);
      return kept ? (-w * batch.advantages[i]!) / 6 : 0;
    });
    expect(gradLogProbs).toBeAllClose(want, CLOSE);
  });

  test("of CISPO, too, a corrected KL moves with the ratio of the row", () => {
    const still = { ...batch, advantages: new Float64Array(8) };
    const call = (logProbs: Float64Array) =>
      cispoLoss(
        { ...still, logProbs },
        { ratioLevel: "sequence", clipHigh: 0.2, kl: { coefficient: 1, importanceCorrected: true }, backend },
      );
    expect(call(l0).gradLogProbs).toBeAllClose(
      numeric((l) => call(l).loss),
      CLOSE,
    );
  });

  test.each(["k1", "k2", "k3"] as const)("a KL term (%s) times the ratio to the sampler", (kind) => {
    const call = (logProbs: Float64Array) =>
      ppoLoss(
        { ...batch, logProbs },
        { clip: 0.2, kl: { coefficient: 0.5, kind, importanceCorrected: "sampler" }, backend },
      );
    const got = call(l0);
    expect(got.gradLogProbs).toBeAllClose(
      numeric((l) => call(l).loss),
      CLOSE,
    );
    const plain = ppoLoss(batch, { clip: 0.2, backend });
    expect(got.klLoss).toBeCloseTo(got.loss - plain.loss, 12);
    expect(got.policyLoss).toBeCloseTo(plain.policyLoss, 12);
  });

  test('"self" has the plain value, and the gradient of the ratio to the policy itself', () => {
    const kl = { coefficient: 0.5, kind: "k3" } as const;
    const self = ppoLoss(batch, { clip: 0.2, kl: { ...kl, importanceCorrected: "self" }, backend });
    const plain = ppoLoss(batch, { clip: 0.2, kl, backend });
    expect(self.loss).toBeCloseTo(plain.loss, 12);
    expect(self.kl).toBeAllClose(plain.kl!, CLOSE);
    const own = { ...batch, samplerLogProbs: l0 };
    const toItself = ppoLoss(own, { clip: 0.2, kl: { ...kl, importanceCorrected: "sampler" }, backend });
    expect(self.gradLogProbs).toBeAllClose(toItself.gradLogProbs, CLOSE);
  });

  test("a value at its clamp has no gradient, and neither has d", () => {
    const kl = { coefficient: 1, kind: "k1", importanceCorrected: "self" } as const;
    const zero = { ...batch, advantages: new Float64Array(8) };
    const held = ppoLoss(zero, { clip: 0.2, kl: { ...kl, valueClamp: 1e-3 }, backend });
    expect(held.gradLogProbs).toBeAllClose(new Float64Array(8), CLOSE);
    const far = ppoLoss(zero, { clip: 0.2, kl: { ...kl, logClamp: 1e-3 }, backend });
    expect(far.gradLogProbs).toBeAllClose(new Float64Array(8), CLOSE);
  });

  test("from logits they make the three calls", () => {
    const logits = Float32Array.from({ length: 24 }, (_, i) => Math.sin(7 * i));
    const targets = Int32Array.of(0, 1, 2, 0, 1, 2, 0, 1);
    const { logProbs: _, ...given } = batch;
    const { logProbs } = logprob(logits, targets, { shape: [8, 3], mask, backend });
    const kl = { coefficient: 0.1, importanceCorrected: "self" } as const;
    const options = { ratioLevel: "sequence", kl, backend } as const;
    const got = policyLossFromLogits("sapo", logits, targets, given, { ...options, vocab: 3 });
    const want = policyLoss("sapo", { ...given, logProbs }, options);
    expect(got.loss).toBe(want.loss);
    expect(got.gradLogProbs).toEqual(want.gradLogProbs);
  });
});

test("what is no level, no ratio or not there is refused by name", () => {
  expect(() => sapoLoss(batch, { ratioLevel: "row" as never })).toThrow(/sapoLoss: ratioLevel is "row"/);
  const kl = { coefficient: 1, importanceCorrected: "old" as never };
  expect(() => ppoLoss(batch, { clip: 0.2, kl })).toThrow(/kl\.importanceCorrected is "old"/);
  const sampler = { coefficient: 1, importanceCorrected: "sampler" } as const;
  expect(() => ppoLoss({ ...batch, samplerLogProbs: undefined }, { clip: 0.2, kl: sampler })).toThrow(
    /samplerLogProbs/,
  );
});
