import { negativeLogLikelihood } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

eachBackend((backend) => {
  test("the mean surprisal of kept tokens, and a gradient that differences confirm", () => {
    const r = rng(1);
    const logProbs = r.f64(24, -3, 0);
    const mask = r.mask(24, 0.6);
    const options = { shape: [4, 6], mask, mode: "tokenMean", backend } as const;
    const { loss, gradients } = negativeLogLikelihood(logProbs, options);
    const kept = Array.from(logProbs).filter((_, i) => mask[i]);
    expect(loss).toBeAllClose(-kept.reduce((sum, l) => sum + l, 0) / kept.length, { rtol: 1e-14 });
    for (let i = 0; i < 24; ++i) {
      const moved = logProbs.slice();
      moved[i]! += 1;
      // Linear: a difference of 1 is exact but for rounding.
      expect(negativeLogLikelihood(moved, options).loss - loss).toBeAllClose(gradients[i]!, {
        rtol: 1e-12,
        atol: 1e-14,
      });
    }
  });

  test("what lies under the mask is not read, and the log-probs stay as they are", () => {
    const logProbs = Float32Array.of(-1, NaN, -3);
    const got = negativeLogLikelihood(logProbs, {
      shape: [1, 3],
      mask: Uint8Array.of(1, 0, 1),
      mode: "rowMean",
      backend,
    });
    expect(got.loss).toBe(2);
    expect(Array.from(got.gradients)).toEqual([-0.5, 0, -0.5]);
    expect(Array.from(logProbs)).toEqual([-1, NaN, -3]);
  });

  test("nothing kept has loss 0", () => {
    expect(
      negativeLogLikelihood(Float32Array.of(NaN), { shape: [1, 1], mask: Uint8Array.of(0), mode: "rowMean", backend }),
    ).toEqual({
      loss: 0,
      rowWeights: Float64Array.of(0),
      gradients: Float32Array.of(0),
    });
  });

  test("log-probs of the wrong kind", () => {
    const refused = expect.objectContaining({ code: "ERR_SURPRISAL_DTYPE" }) as Error;
    expect(() =>
      negativeLogLikelihood(null as unknown as Float32Array, { shape: [1, 3], mode: "rowMean", backend }),
    ).toThrow(refused);
  });
});
