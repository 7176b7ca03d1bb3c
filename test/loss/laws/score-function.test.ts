// KL terms of sampled tokens: over all tokens that could have been drawn, each with its probability, the gradients of the corrected ones
// add up to the gradient of the expectation; those of the plain ones do not.
import { policyLoss } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const V = 6;
const random = rng(41);
const softmax = (theta: ArrayLike<number>): Float64Array => {
  const powers = Float64Array.from(theta, Math.exp);
  const total = powers.reduce((sum, x) => sum + x, 0);
  return powers.map((x) => x / total);
};
const theta = random.f64(V, -1.5, 1.5);
const [policy, reference, sampler] = [theta, random.f64(V, -1.5, 1.5), random.f64(V, -1, 1)].map(softmax) as [
  Float64Array,
  Float64Array,
  Float64Array,
];
const logs = (p: Float64Array): Float64Array => p.map(Math.log);

const ESTIMATES = {
  k1: (d: number) => d,
  abs: Math.abs,
  k2: (d: number) => d ** 2 / 2,
  k3: (d: number) => Math.exp(-d) - 1 + d,
} as const;
type Kind = keyof typeof ESTIMATES;

/** E of the estimate under the softmax of theta. */
const expectation = (kind: Kind, at: Float64Array): number =>
  softmax(at).reduce((sum, p, y) => sum + p * ESTIMATES[kind](Math.log(p) - Math.log(reference[y]!)), 0);

/** Its gradient, by differences. */
const slopes = (kind: Kind): number[] =>
  Array.from(theta, (_, j) => {
    const at = (h: number) =>
      expectation(
        kind,
        theta.map((x, k) => (k === j ? x + h : x)),
      );
    return (at(1e-5) - at(-1e-5)) / 2e-5;
  });

/** Σ_y drawn(y) · d term / d ℓ_y · d ℓ_y / d theta. */
function expected(gradLogProbs: ArrayLike<number>, drawn: Float64Array): number[] {
  return Array.from(theta, (_, j) =>
    drawn.reduce((sum, s, y) => sum + s * gradLogProbs[y]! * ((y === j ? 1 : 0) - policy[j]!), 0),
  );
}

const batch = {
  shape: [V, 1],
  logProbs: logs(policy),
  referenceLogProbs: logs(reference),
  advantages: new Float64Array(V),
} as const;

eachBackend((backend) => {
  const gradient = (kl: object, more: object) =>
    policyLoss("reinforce", { ...batch, ...more }, { aggregation: "tokenSum", kl: { coefficient: 1, ...kl }, backend })
      .gradLogProbs;

  test.each([
    ["self", policy, {}],
    ["sampler", sampler, { samplerLogProbs: logs(sampler) }],
    [true, sampler, { oldLogProbs: logs(sampler) }],
  ] as const)(
    "importanceCorrected %p: the expectation of the gradient is that of the estimate",
    (word, drawn, more) => {
      for (const kind of ["k1", "abs", "k2", "k3"] as const) {
        const got = expected(gradient({ kind, importanceCorrected: word }, more), drawn);
        slopes(kind).forEach((g, j) => expect(got[j]).toBeCloseTo(g, 8));
      }
    },
  );

  test("k1 and k3 so corrected have the gradient of KL(policy ‖ reference); k1 alone has none, and k2 alone that of KL", () => {
    const kl = policy.reduce((sum, p, y) => sum + p * Math.log(p / reference[y]!), 0);
    const exact = Array.from(policy, (p, j) => p * (Math.log(p / reference[j]!) - kl));
    for (const kind of ["k1", "k3"] as const)
      exact.forEach((g, j) =>
        expect(expected(gradient({ kind, importanceCorrected: "self" }, {}), policy)[j]).toBeCloseTo(g, 12),
      );
    expected(gradient({ kind: "k1" }, {}), policy).forEach((g) => expect(g).toBeCloseTo(0, 12));
    expected(gradient({ kind: "k2" }, {}), policy).forEach((g, j) => expect(g).toBeCloseTo(exact[j]!, 12));
  });
});
