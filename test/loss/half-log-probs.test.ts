// Log-probs that a trainer computed in bfloat16 or float16, as tensors: every loss takes them for the numbers that they are.
import { policyLoss, type PolicyBatch, type PolicyLossName, type PolicyLossResult, policyLossNames } from "../../lib";
import { fromBFloat16Bits, fromFloat16Bits, toHalfBits } from "../../lib/core/half";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const [B, T] = [4, 6];
const random = rng(5);
const logProbs = random.f32(B * T, -3, -0.1);
const arrays = {
  logProbs,
  oldLogProbs: logProbs.map((l) => l + 0.1),
  referenceLogProbs: logProbs.map((l, i) => l + 0.05 * Math.sin(i)),
  samplerLogProbs: logProbs.map((l, i) => l - 0.05 * Math.sin(i)),
  entropies: random.f32(B * T, 0, 2),
};
const OPTIONS: Readonly<Partial<Record<PolicyLossName, object>>> = {
  cispo: { clipHigh: 0.2 },
  clipCov: { clip: 0.2, seed: 1 },
  optimalValue: { beta: 0.3 },
  dppo: { measure: "probability", low: 0.2, high: 0.2 },
  dro: { beta: 0.1 },
  dppoTv: { low: 0.2, high: 0.2 },
  dppoKl: { low: 0.2, high: 0.2 },
  kimi: { beta: 0.1 },
  topr: {},
  flowRl: {},
  real: { tau: 0.5 },
  sapo: {},
  vespo: {},
  reinforce: {},
  klCov: {},
  bypass: { objective: "reinforce" },
};
const evaluate = policyLoss as unknown as (name: PolicyLossName, batch: object, options: object) => PolicyLossResult;

eachBackend((backend) => {
  test.each(policyLossNames.flatMap((name) => [[name, "bfloat16"] as const, [name, "float16"] as const]))(
    "%s of %s",
    (name, type) => {
      const read = type === "bfloat16" ? fromBFloat16Bits : fromFloat16Bits;
      const tensors: Record<string, object> = {};
      const numbers: Record<string, Float32Array> = {};
      for (const [key, array] of Object.entries(arrays)) {
        if (name === "bypass" && key === "oldLogProbs") continue;
        const data = toHalfBits(array, type);
        tensors[key] = { data, dims: [B, T], type };
        numbers[key] = Float32Array.from(data, read);
      }
      const rest = { shape: [B, T], advantages: Float32Array.of(1, -0.5, 0.25, -1), advantagesPer: "row" } as const;
      const options = {
        ...(OPTIONS[name] ?? { clip: 0.2 }),
        kl: { coefficient: 0.1 },
        entropyBonus: { coefficient: 0.01 },
        backend,
      };
      const want = evaluate(name, { ...rest, ...(numbers as unknown as PolicyBatch) }, options);
      const got = evaluate(name, { ...rest, ...tensors }, options);
      expect(got.loss).toBe(want.loss);
      expect(got.gradLogProbs).toEqual(want.gradLogProbs);
      expect(got.gradEntropies).toEqual(want.gradEntropies);
    },
  );
});
