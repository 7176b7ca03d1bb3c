// Policy losses from logits whose log-probs are over the ids that a sampler kept: the three calls, and differences of the value.
import {
  keptLogprob,
  keptLogprobBackward,
  policyLoss,
  policyLossFromLogits,
  policyLossFromLogitsAsync,
} from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const [B, T, V] = [2, 3, 7];
const n = B * T;
const random = rng(21);
const logits = random.f32(n * V, -2, 2);
const targets = Int32Array.of(1, 4, 0, 6, -100, 2);
const mask = Uint8Array.of(1, 1, 1, 1, 0, 1);
const kept = { ids: Int32Array.of(1, 3, 2, 4, 5, 6, 0, 1, 3, 9, 2), offsets: Int32Array.of(0, 3, 5, 5, 9, 10, 11) };
const batch = {
  shape: [B, T],
  mask,
  advantages: Float32Array.of(0.7, -1.1),
  oldLogProbs: random.f32(n, -2, -0.5),
  referenceLogProbs: random.f32(n, -2, -0.5),
} as const;
const map = { temperature: 0.8, vocab: V } as const;

eachBackend((backend) => {
  const loss = { clip: 0.5, kl: { coefficient: 0.1 }, entropyBonus: { coefficient: 0.05 }, backend } as const;

  test.each(["ppo", "gspo", "gmpo", "luspo"] as const)("%s is its three calls", (name) => {
    const where = { shape: [n, V], temperature: 0.8, mask, backend } as const;
    const { logProbs, entropies, state } = keptLogprob(logits, targets, kept, where);
    const want = policyLoss(name, { ...batch, logProbs, entropies: entropies! }, loss);
    const { gradLogProbs, gradEntropies } = want;
    const gradient = keptLogprobBackward(logits, targets, kept, state, { ...where, gradLogProbs, gradEntropies });
    const got = policyLossFromLogits(name, logits, targets, batch, { ...loss, ...map, kept });
    expect(got.loss).toBe(want.loss);
    expect(got.logProbs).toEqual(logProbs);
    expect(got.entropies).toEqual(entropies);
    expect(got.gradLogits).toEqual(gradient);
    expect(Array.from(got.gradLogits.subarray(4 * V, 5 * V))).toEqual(new Array(V).fill(0));
    const inPlace = logits.slice();
    expect(
      policyLossFromLogits(name, inPlace, targets, batch, { ...loss, ...map, kept, out: inPlace }).gradLogits,
    ).toEqual(gradient);
  });

  test("the gradient is the slope of the value", () => {
    const value = (at: Float32Array) => policyLossFromLogits("gspo", at, targets, batch, { ...loss, ...map, kept });
    const { gradLogits } = value(logits);
    for (let i = 0; i < n * V; ++i) {
      const [up, down] = [logits.slice(), logits.slice()];
      up[i]! += 0.01;
      down[i]! -= 0.01;
      const slope = (value(up).loss - value(down).loss) / (up[i]! - down[i]!);
      expect(Math.abs(slope - gradLogits[i]!)).toBeLessThan(1e-4);
    }
  });

  test("a softcap is taken, ids outside of the vocabulary are refused", () => {
    const call = (more: object) =>
      policyLossFromLogits("ppo", logits, targets, batch, { ...loss, ...map, kept, ...more });
    const { logProbs } = call({ softcap: 1.5 });
    const where = { shape: [n, V], temperature: 0.8, softcap: 1.5, mask, backend } as const;
    expect(logProbs).toEqual(keptLogprob(logits, targets, kept, where).logProbs);
    expect(() => call({ kept: { ids: Int32Array.of(7), offsets: Int32Array.of(0, 1, 1, 1, 1, 1, 1) } })).toThrow(
      "policyLossFromLogits: kept.ids[0] is 7",
    );
  });

  test("every loss takes kept ids, at every level of its ratio; the asynchronous function refuses them", async () => {
    for (const ratioLevel of ["token", "sequence"] as const)
      for (const name of ["cispo", "sapo"] as const) {
        const options = { ...(name === "cispo" ? { clipLow: 0.2, clipHigh: 0.3 } : {}), ratioLevel, backend };
        const where = { shape: [n, V], temperature: 0.8, mask, backend } as const;
        const { logProbs, entropies } = keptLogprob(logits, targets, kept, where);
        const want = policyLoss(name, { ...batch, logProbs, entropies: entropies! }, options as never);
        const got = policyLossFromLogits(name, logits, targets, batch, { ...options, ...map, kept } as never);
        expect(got.loss).toBe(want.loss);
        expect(got.gradLogProbs).toEqual(want.gradLogProbs);
      }
    const call = async () =>
      policyLossFromLogitsAsync("ppo", logits, targets, batch, { ...loss, ...map, kept } as never);
    await expect(call()).rejects.toThrow(/policyLossFromLogitsAsync: options has "kept"/);
  });
});
