// Weighted sums of losses.
import { combineLosses, negativeLogLikelihood, ppoLoss } from "../../lib";

test("losses and gradients are added by their weights, in the widest type", () => {
  const parts = [
    { loss: 2, gradLogProbs: Float32Array.of(1, 2), weight: 0.5 },
    { loss: -1, gradLogProbs: Float64Array.of(0.25, -4) },
  ];
  expect(combineLosses(parts)).toEqual({ loss: 0, gradLogProbs: Float64Array.of(0.75, -3) });
  expect(combineLosses(parts.slice(0, 1)).gradLogProbs).toEqual(Float32Array.of(0.5, 1));
});

test("a weight of 0 leaves out whatever a part holds", () => {
  const parts = [
    { loss: NaN, gradLogProbs: Float64Array.of(Infinity), weight: 0 },
    { loss: 1, gradLogProbs: Float64Array.of(1) },
  ];
  expect(combineLosses(parts)).toEqual({ loss: 1, gradLogProbs: Float64Array.of(1) });
});

test("a reinforced and an imitated part have the gradient of their sum", () => {
  const logProbs = Float64Array.of(-1, -0.5, -2);
  const batch = {
    shape: [1, 3] as const,
    oldLogProbs: Float64Array.of(-1.1, -0.6, -1.9),
    advantages: Float64Array.of(1),
  };
  const total = (l: Float64Array) => {
    const nll = negativeLogLikelihood(l, { shape: [1, 3], mode: "tokenMean" });
    const policy = ppoLoss({ ...batch, logProbs: l }, { clip: 0.5 });
    return combineLosses([policy, { loss: nll.loss, gradLogProbs: nll.gradients, weight: 0.3 }]);
  };
  const h = 1e-6;
  total(logProbs).gradLogProbs.forEach((gradient, i) => {
    const [up, down] = [h, -h].map((step) => total(logProbs.map((x, k) => (k === i ? x + step : x))).loss);
    expect(gradient).toBeCloseTo((up! - down!) / (2 * h), 7);
  });
});

test("what is no part is refused by its name", () => {
  const part = { loss: 1, gradLogProbs: Float64Array.of(1, 2) };
  expect(() => combineLosses([])).toThrow(/combineLosses: parts/);
  expect(() => combineLosses([part, { ...part, gradLogProbs: Float64Array.of(1) }])).toThrow(
    /parts\[1\]\.gradLogProbs/,
  );
  expect(() => combineLosses([{ ...part, weight: Infinity }])).toThrow(/parts\[0\]\.weight is Infinity/);
  expect(() => combineLosses([{ ...part, loss: "1" as never }])).toThrow(/parts\[0\]\.loss/);
});
