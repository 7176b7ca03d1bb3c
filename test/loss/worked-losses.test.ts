// Value loss, KL penalty, entropy bonus and actor-critic loss with numbers that fit on paper.
import { actorCriticLoss, entropyBonus, klPenalty, ppoLoss, valueLoss } from "surprisal";
import { eachBackend } from "../support/each-backend";

const f64 = (...values: number[]) => Float64Array.from(values);
const f32 = (...values: number[]) => Float32Array.from(values);

eachBackend((backend) => {
  describe("valueLoss", () => {
    const batch = {
      shape: [2, 2] as const,
      values: f64(1, 2, -1, NaN),
      oldValues: f64(1.5, 1, -1, NaN),
      returns: f64(2, 0, -3, NaN),
      mask: Uint8Array.of(1, 1, 1, 0),
    };

    test("the plain squared error, a mean over tokens", () => {
      const { loss, gradValues, losses, metrics } = valueLoss(batch, { backend });
      expect(Array.from(losses)).toEqual([0.5, 2, 2, 0]);
      expect(loss).toBe(1.5);
      expect(gradValues).toBeAllClose([-1 / 3, 2 / 3, 2 / 3, 0], { rtol: 1e-15 });
      expect(metrics).toEqual({ "critic/vf_loss": 1.5, "critic/vf_clipfrac": 0 });
    });

    test("clipped: 1 → 1.25 is nearer and does not count; 2 → 1.25 neither; the third is within", () => {
      const { losses, clipped } = valueLoss(batch, { clip: 0.25, backend });
      expect([Array.from(losses), Array.from(clipped)]).toEqual([
        [0.5, 2, 2, 0],
        [0, 0, 0, 0],
      ]);
      // 4 → 1.25 is further from 5: the error of the clipped value counts, and has no gradient.
      const far = valueLoss(
        { shape: [1, 1], values: f64(4), oldValues: f64(1), returns: f64(5) },
        { clip: 0.25, backend },
      );
      expect(far).toMatchObject({ loss: 0.5 * 3.75 ** 2, metrics: { "critic/vf_clipfrac": 1 } });
      expect([Array.from(far.clipped), Array.from(far.gradValues)]).toEqual([[1], [0]]);
    });

    test("Huber: errors beyond 1 count 1·(|error| − 1/2), with slope 1; the clipped error where that is larger", () => {
      const { loss, gradValues, losses } = valueLoss(batch, { huberDelta: 1, backend });
      expect(Array.from(losses)).toEqual([0.5, 1.5, 1.5, 0]);
      expect(loss).toBeAllClose(3.5 / 3, { rtol: 1e-15 });
      expect(gradValues).toBeAllClose([-1 / 3, 1 / 3, 1 / 3, 0], { rtol: 1e-15 });
      const one = { shape: [1, 1], values: f64(4), oldValues: f64(1), returns: f64(5) } as const;
      const far = valueLoss(one, { clip: 0.25, huberDelta: 1, backend });
      expect([far.loss, far.losses[0], far.gradValues[0]]).toEqual([3.25, 3.25, 0]);
    });

    test("rows weigh the same under rowMean; a mean over workers is multiplied back", () => {
      expect(valueLoss(batch, { aggregation: "rowMean", backend }).loss).toBe((1.25 + 2) / 2);
      expect(valueLoss(batch, { aggregation: "rowSum", workers: 2, rows: 4, backend }).loss).toBe((2.5 + 2) / 2);
      expect(Array.from(valueLoss(batch, { aggregation: "rowSum", backend }).rowWeights)).toEqual([0.5, 0.5]);
    });

    test("float32 in, float32 out; the loss is a double", () => {
      const { gradValues, loss } = valueLoss({ shape: [1, 2], values: f32(1, 2), returns: f32(0, 0) }, { backend });
      expect(gradValues).toEqual(f32(0.5, 1));
      expect(loss).toBe(1.25);
    });
  });

  describe("klPenalty", () => {
    const logProbs = f64(-1, -2, NaN, -0.5);
    const reference = f64(-1.5, -1, NaN, -0.5);
    const where = { shape: [2, 2] as const, mask: Uint8Array.of(1, 1, 0, 1), backend };
    const e = Math.E;
    const root = Math.exp(-0.5);

    test.each([
      ["k1", [0.5, -1, 0, 0], [1, 1, 0, 1]],
      ["abs", [0.5, 1, 0, 0], [1, -1, 0, 0]],
      ["k2", [0.125, 0.5, 0, 0], [0.5, -1, 0, 0]],
      ["k3", [root - 0.5, e - 2, 0, 0], [1 - root, 1 - e, 0, 0]],
      ["kl+", [0.5, -1, 0, 0], [0.5, -1, 0, 0]],
      ["abs+", [0.5, 1, 0, 0], [0.5, -1, 0, 0]],
      ["low_var_kl+", [root - 0.5, e - 2, 0, 0], [0.5, -1, 0, 0]],
    ] as const)("%s of d = 1/2, −1, masked, 0", (estimator, values, slopes) => {
      const got = klPenalty(logProbs, reference, { ...where, estimator });
      const sum = values.reduce((total: number, v) => total + v, 0);
      expect([got.values, got.gradLogProbs]).toBeAllClose([values, slopes], { rtol: 1e-14, atol: 1e-15 });
      expect([...got.rowSums, got.mean]).toBeAllClose([sum, 0, sum / 3], { rtol: 1e-14, atol: 1e-15 });
    });

    test.each([
      ["kl", "k1"],
      ["mse", "k2"],
      ["low_var_kl", "k3"],
      ["k1+", "kl+"],
      ["k2+", "k2"],
      ["mse+", "k2"],
      ["k3+", "low_var_kl+"],
    ] as const)("%s is another name of %s", (name, other) => {
      expect(klPenalty(logProbs, reference, { ...where, estimator: name })).toEqual(
        klPenalty(logProbs, reference, { ...where, estimator: other }),
      );
    });

    test("a clamp holds the value and takes the gradient; a given one replaces the preset's", () => {
      const got = (options: object) => {
        const { values, gradLogProbs } = klPenalty(f64(-3), f64(0), { estimator: "k2", backend, ...options });
        return [values[0], gradLogProbs[0]];
      };
      expect(got({})).toEqual([4.5, -3]);
      expect(got({ valueClamp: 4.5 })).toEqual([4.5, -3]);
      expect(got({ valueClamp: 4 })).toEqual([4, 0]);
      expect(got({ logClamp: 2 })).toEqual([2, 0]);
      expect(got({ klClamps: { k2: { valueClamp: 1 } } })).toEqual([1, 0]);
      expect(got({ klClamps: { k2: { valueClamp: 1 } }, valueClamp: 3 })).toEqual([3, 0]);
      expect(got({ klClamps: { k3: { valueClamp: 1 } } })).toEqual([4.5, -3]);
    });
  });

  describe("entropyBonus", () => {
    const entropies = f64(1, 2, 3, NaN);
    const where = { shape: [2, 2] as const, mask: Uint8Array.of(1, 1, 1, 0), backend };

    test("minus the coefficient times the mean, and its gradient", () => {
      const got = entropyBonus(entropies, { ...where, mode: "tokenMean", coefficient: 0.5 });
      expect([got.loss, got.meanEntropy]).toEqual([-1, 2]);
      expect(got.gradEntropies).toBeAllClose([-1 / 6, -1 / 6, -1 / 6, 0], { rtol: 1e-15 });
    });

    test("in the weights of another term, where these are given; a negative coefficient punishes", () => {
      const got = entropyBonus(entropies, { ...where, mode: "tokenMean", coefficient: -2, rowWeights: f64(0.25, 0) });
      expect([got.loss, got.meanEntropy]).toEqual([1.5, 2]);
      expect(Array.from(got.gradEntropies)).toEqual([0.5, 0.5, 0, 0]);
    });

    test("with coefficient 0 nothing is added, whatever the entropies are", () => {
      const got = entropyBonus(f64(Infinity, 1), { shape: [1, 2], mode: "rowSum", coefficient: 0, backend });
      expect([got.loss, ...got.gradEntropies].map(Math.abs)).toEqual([0, 0, 0]);
    });
  });

  describe("actorCriticLoss", () => {
    const policy = {
      shape: [1, 3] as const,
      logProbs: f64(-1, -2, -1),
      oldLogProbs: f64(-1, -2, -1),
      advantages: f64(1, -1, 2),
      advantagesPer: "token" as const,
    };
    const critic = { values: f64(1, 2, 4), oldValues: f64(1, 2, 4), returns: f64(0, 0, 0) };

    test("the policy's loss plus half of the value's", () => {
      const got = actorCriticLoss({ ...policy, ...critic }, { clip: 0.2, backend });
      expect(got.policy).toEqual(ppoLoss(policy, { clip: 0.2, backend }));
      expect(got.value).toEqual(valueLoss({ shape: [1, 3], ...critic }, { backend }));
      expect([got.policy.loss, got.value.loss]).toBeAllClose([-2 / 3, 3.5], { rtol: 1e-15 });
      expect(got.loss).toBeAllClose(-2 / 3 + 1.75, { rtol: 1e-15 });
      expect(got.gradLogProbs).toBeAllClose([-1 / 3, 1 / 3, -2 / 3], { rtol: 1e-15 });
      expect(got.gradValues).toBeAllClose([1 / 6, 1 / 3, 2 / 3], { rtol: 1e-15 });
    });

    test("a mask of its own says which values count; the coefficient is that of loss and gradient", () => {
      const batch = { ...policy, ...critic, mask: Uint8Array.of(1, 1, 0), valueMask: Uint8Array.of(0, 0, 1) };
      const got = actorCriticLoss(batch, { clip: 0.2, valueCoefficient: 2, backend });
      expect([got.policy.loss, got.value.loss, got.loss]).toEqual([0, 8, 16]);
      expect([...got.gradLogProbs, ...got.gradValues]).toEqual([-0.5, 0.5, 0, 0, 0, 8]);
    });

    test("counts, aggregation and the clip of the values reach both", () => {
      const batch = { ...policy, ...critic, oldValues: f64(1, 2, 3) };
      const got = actorCriticLoss(batch, { clip: 0.2, valueClip: 0.5, aggregation: "rowSum", rows: 2, backend });
      expect(got.value).toEqual(
        valueLoss(
          { shape: [1, 3], ...critic, oldValues: f64(1, 2, 3) },
          { clip: 0.5, aggregation: "rowSum", rows: 2, backend },
        ),
      );
      expect([got.policy.loss, got.value.loss]).toEqual([-1, 5.25]);
    });
  });
});
