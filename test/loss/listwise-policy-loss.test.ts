import { groupEntropy, groupSoftmax, listwisePolicyLoss } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";

const F64 = { atol: 1e-13, rtol: 1e-11 };

const r = rng(1);
const shape = [6, 5] as const;
const logProbs = r.f64(30, -3, -0.05);
// The first token of each row is kept, so that no row is empty.
const mask = r.mask(30, 0.6).map((flag, i) => (i % 5 === 0 ? 1 : flag));
const groups = ["a", "b", "a", "b", "b", "a"];
const weights = groupSoftmax(r.f64(6, -1, 1), { groups, backend: "js" });

/** Of one prompt after the other: the scores as a list, the definition without any shift. */
function definition(x: ArrayLike<number>, lengthNormalize: boolean): number {
  const scores = groups.map((_, b) => {
    const kept = [0, 1, 2, 3, 4].filter((t) => mask[5 * b + t]).map((t) => x[5 * b + t]!);
    const sum = kept.reduce((a, c) => a + c, 0);
    return lengthNormalize ? sum / kept.length : sum;
  });
  const ofPrompt = (name: string) => groups.flatMap((group, b) => (group === name ? [b] : []));
  const loss = (rows: number[]) =>
    rows.reduce(
      (sum, b) => sum + weights[b]! * Math.log(rows.reduce((total, c) => total + Math.exp(scores[c]! - scores[b]!), 0)),
      0,
    );
  return (loss(ofPrompt("a")) + loss(ofPrompt("b"))) / 2;
}

eachBackend((backend) => {
  describe.each([true, false])("lengthNormalize %p", (lengthNormalize) => {
    const options = { shape, mask, groups, lengthNormalize, backend } as const;

    test("the loss equals its definition", () => {
      expect(listwisePolicyLoss(logProbs, weights, options).loss).toBeCloseTo(
        definition(logProbs, lengthNormalize),
        12,
      );
    });

    test("the gradient is the central difference of the definition", () => {
      const { gradLogProbs } = listwisePolicyLoss(logProbs, weights, options);
      const h = 1e-5;
      const numeric = Array.from(logProbs, (_, i) => {
        const moved = (by: number) =>
          definition(
            logProbs.map((x, j) => (j === i ? x + by : x)),
            lengthNormalize,
          );
        return (moved(h) - moved(-h)) / (2 * h);
      });
      // h^2 of the third derivative, and rounding over h.
      expect(gradLogProbs).toBeAllClose(numeric, { atol: 1e-10, rtol: 1e-7 });
      mask.forEach((flag, i) => flag === 0 && expect(gradLogProbs[i]).toBe(0));
    });

    test("what lies under the mask is not read, and padding columns change nothing", () => {
      const poisoned = logProbs.map((x, i) => (mask[i] ? x : NaN));
      expect(listwisePolicyLoss(poisoned, weights, options)).toEqual(listwisePolicyLoss(logProbs, weights, options));
      const wide = { ...options, shape: [6, 7] as const, mask: new Uint8Array(42) };
      const padded = new Float64Array(42).fill(NaN);
      for (let b = 0; b < 6; ++b) {
        padded.set(logProbs.subarray(5 * b, 5 * b + 5), 7 * b);
        wide.mask.set(mask.subarray(5 * b, 5 * b + 5), 7 * b);
      }
      const { loss, gradLogProbs } = listwisePolicyLoss(padded, weights, wide);
      const plain = listwisePolicyLoss(logProbs, weights, options);
      expect(loss).toBe(plain.loss);
      expect(gradLogProbs.filter((_, i) => i % 7 < 5)).toEqual(plain.gradLogProbs);
    });

    test("ragged rows equal padded ones", () => {
      const kept = [...logProbs].filter((_, i) => mask[i]);
      const offsets = Int32Array.from({ length: 7 }, (_, b) => mask.subarray(0, 5 * b).reduce((a, c) => a + c, 0));
      const ragged = listwisePolicyLoss(Float64Array.from(kept), weights, {
        offsets,
        groups,
        lengthNormalize,
        backend,
      });
      const padded = listwisePolicyLoss(logProbs, weights, options);
      expect(ragged.loss).toBeCloseTo(padded.loss, 13);
      expect(ragged.gradLogProbs).toBeAllClose(
        [...padded.gradLogProbs].filter((_, i) => mask[i]),
        F64,
      );
    });

    test("other labels for the groups, and float32, change nothing but the rounding", () => {
      const renamed = { ...options, groups: groups.map((name) => (name === "a" ? 9 : -9)) };
      expect(listwisePolicyLoss(logProbs, weights, renamed)).toEqual(listwisePolicyLoss(logProbs, weights, options));
      const narrow = listwisePolicyLoss(Float32Array.from(logProbs), Float32Array.from(weights), options);
      expect(narrow.gradLogProbs).toBeInstanceOf(Float32Array);
      expect(narrow.gradLogProbs).toBeAllClose(listwisePolicyLoss(logProbs, weights, options).gradLogProbs, {
        atol: 1e-7,
        rtol: 1e-5,
      });
    });
  });

  test("at its own distribution a policy has the entropy as loss and no gradient", () => {
    const own = listwisePolicyLoss(logProbs, weights, { shape, groups, backend }).policyWeights;
    const { losses, gradLogProbs } = listwisePolicyLoss(logProbs, own, { shape, groups, backend });
    expect(losses).toBeAllClose(groupEntropy(own, { groups, backend }).entropies, F64);
    expect(gradLogProbs).toBeAllClose(new Float64Array(30), { atol: 1e-16, rtol: 0 });
  });

  test("only differences within a prompt count: the gradients of a prompt's scores sum to 0", () => {
    const { gradLogProbs } = listwisePolicyLoss(logProbs, weights, { shape, groups, backend });
    for (const name of ["a", "b"]) {
      const sum = groups.reduce((total, group, b) => (group === name ? total + gradLogProbs[5 * b]! : total), 0);
      expect(sum).toBeCloseTo(0, 15);
    }
  });

  test("empty prompts are not in the mean, a prompt of one has loss 0, and no prompt has loss 0", () => {
    const one = Float64Array.of(-1, -2, -0.5);
    const w = Float64Array.of(0.25, 0.75, 1);
    const full = listwisePolicyLoss(one, w, { shape: [3, 1], groupOffsets: Int32Array.of(0, 0, 2, 3, 3), backend });
    expect([...full.losses]).toEqual([0, expect.any(Number), 0, 0]);
    expect(full.loss).toBe(full.losses[1]! / 2);
    expect(full.gradLogProbs[2]).toBe(0);
    const nothing = listwisePolicyLoss(new Float64Array(0), new Float64Array(0), {
      shape: [0, 3],
      groupOffsets: Int32Array.of(0, 0),
      backend,
    });
    expect([nothing.loss, nothing.gradLogProbs.length]).toEqual([0, 0]);
  });

  test("an impossible completion is ignored at weight 0 and infinitely dear above it", () => {
    const x = Float64Array.of(-1, -Infinity);
    const options = { groups: "all", shape: [2, 1], backend } as const;
    const ignored = listwisePolicyLoss(x, Float64Array.of(1, 0), options);
    expect([ignored.loss, ...ignored.gradLogProbs]).toEqual([0, 0, 0]);
    expect(listwisePolicyLoss(x, Float64Array.of(0.5, 0.5), options).loss).toBe(Infinity);
  });

  test("what callers get wrong", () => {
    const code = (change: object, w: Float64Array | Float32Array = weights): string | undefined =>
      errorCode(() => listwisePolicyLoss(logProbs, w, { shape, groups, backend, ...change }));
    expect(code({ mask: new Uint8Array(30) })).toBe("ERR_SURPRISAL_SHAPE"); // no token is kept
    expect(code({ shape: [5, 5] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(code({ groups: ["a"] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(code({ shape: undefined })).toBe("ERR_SURPRISAL_OPTION");
    expect(code({}, new Float64Array(5))).toBe("ERR_SURPRISAL_SHAPE");
    expect(code({}, Int32Array.of(1, 2, 3, 4, 5, 6) as never)).toBe("ERR_SURPRISAL_DTYPE");
  });
});
