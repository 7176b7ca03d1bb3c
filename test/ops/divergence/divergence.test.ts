import { divergence, divergenceBackward, topLogits } from "surprisal";
import { type DivergenceOracleOptions, divergenceGradientOracle, divergenceOracle } from "../../oracle/divergence";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { BETAS, numbersOf, pairsOf, stored, VOCABS, WIDE_DTYPES } from "./rows";

// Half a unit in the last place of the gradient's type, and half its smallest number.
const ROUNDING = {
  float64: [0, 0],
  float32: [2 ** -24, 0],
  float16: [2 ** -11, 2 ** -25],
  bfloat16: [2 ** -8, 0],
} as const;
const FORMS = [undefined, "dropped", "pooled"] as const;

eachBackend((backend) => {
  describe.each(WIDE_DTYPES)("%s logits", (dtype) => {
    describe.each(FORMS)("over the vocabulary or a support, others %s", (outside) => {
      test.each(BETAS)("value and gradient are those of the definition, beta %d", (beta) => {
        for (const V of VOCABS) {
          const { student: s, teacher: t } = pairsOf(V);
          const [student, teacher] = [stored(s, dtype), stored(t, dtype)];
          const N = s.length;
          const K = Math.min(V, 3);
          const layout = { shape: [N, V] as const, dtype, backend };
          const support = topLogits(student.logits, K, layout);
          const options = { ...layout, beta, temperature: 0.7, ...(outside && { support, outside }) };
          const weights = rng(V).f64(N, -2, 2);
          const got = divergence(student.logits, teacher.logits, options);
          const grad = numbersOf(divergenceBackward(student.logits, teacher.logits, weights, options), dtype);
          for (let n = 0; n < N; ++n) {
            const oracle: DivergenceOracleOptions = {
              beta,
              temperature: 0.7,
              ...(outside && { outside, support: support.subarray(n * K, (n + 1) * K) }),
            };
            const [x, y] = [student.rows[n]!, teacher.rows[n]!];
            // The definition cancels: float64 terms of size 30, 300 of them, and logits of 1000 whose ulp is 1e-13.
            expect(got[n]).toBeCloseTo(divergenceOracle(x, y, oracle), 10);
            const want = divergenceGradientOracle(x, y, oracle).map((g) => g * weights[n]!);
            const [relative, absolute] = ROUNDING[dtype];
            const used = want.map(
              (g, j) => Math.abs(grad[n * V + j]! - g) / (1e-11 + 1.001 * relative * Math.abs(g) + absolute),
            );
            expect(used.reduce((a, b) => Math.max(a, b), 0)).toBeLessThanOrEqual(1);
          }
        }
      });
    });
  });

  test.each(FORMS)("the gradient is the slope of the values, others %s", (outside) => {
    const V = 9;
    const [student, teacher] = [rng(6).f64(V, -3, 3), rng(7).f64(V, -3, 3)];
    for (const beta of BETAS) {
      const options = {
        shape: [1, V] as const,
        temperature: 1.7,
        beta,
        backend,
        ...(outside && { support: [2, 7, 3], outside }),
      };
      const at = (x: Float64Array) => divergence(x, teacher, options)[0]!;
      const step = 1e-5;
      const slopes = student.map((_, j) => {
        const [up, down] = [step, -step].map((d) => at(student.map((v, i) => (i === j ? v + d : v))));
        return (up! - down!) / (2 * step);
      });
      expect(divergenceBackward(student, teacher, Float64Array.of(1), options)).toBeAllClose(slopes, { atol: 1e-9 });
    }
  });

  test("a pool at its floor is a constant, and the gradient is still the slope", () => {
    const [student, teacher] = [Float64Array.of(9, 8, -2, -3), Float64Array.of(0, 1, 2, -1)];
    for (const beta of BETAS) {
      // The pool of the student is 1e-5, of the teacher 0.7.
      for (const tailFloor of [0.1, 1e-7, 0.5]) {
        const options = {
          shape: [1, 4] as const,
          beta,
          backend,
          support: [0, 1],
          outside: "pooled" as const,
          tailFloor,
        };
        const want = divergenceOracle(student, teacher, options);
        // A pool of 2e-5 is what is left of 0.3, to 1e-16 of that: 3e-12 of itself.
        expect(divergence(student, teacher, options)[0]).toBeCloseTo(want, 11);
        const slopes = student.map((_, j) => {
          const [up, down] = [1e-5, -1e-5].map((d) =>
            divergenceOracle(
              student.map((v, i) => (i === j ? v + d : v)),
              teacher,
              options,
            ),
          );
          return (up! - down!) / 2e-5;
        });
        expect(divergenceBackward(student, teacher, Float64Array.of(1), options)).toBeAllClose(slopes, { atol: 1e-9 });
      }
    }
  });

  test.each(FORMS)("equal logits give exactly 0 and a gradient of exactly 0, others %s", (outside) => {
    for (const dtype of WIDE_DTYPES) {
      const { logits } = stored(pairsOf(33).student.slice(0, 2), dtype);
      const same = logits.slice();
      const layout = { shape: [2, 33] as const, dtype, backend };
      const support = topLogits(logits, 4, layout);
      for (const beta of BETAS) {
        const options = { ...layout, beta, ...(outside && { support, outside }) };
        expect(divergence(logits, same, options)).toEqual(new Float64Array(2));
        const grad = numbersOf(divergenceBackward(logits, same, Float64Array.of(3, -2), options), dtype);
        expect(grad.every((g) => g === 0)).toBe(true);
      }
    }
  });

  test("nearly equal logits keep their digits: half the variance of the difference", () => {
    const V = 50;
    const student = rng(3).f64(V, -2, 2);
    const [tiny, delta] = [2 ** -24, rng(4).i32(V, -8, 8)];
    // Multiples of 2^-20 exactly: the sum rounds nothing.
    const x = student.map((v) => Math.round(v * 2 ** 20) / 2 ** 20);
    const teacher = x.map((v, j) => v + tiny * delta[j]!);
    const e = x.map(Math.exp);
    const total = e.reduce((s, v) => s + v, 0);
    const mean = e.reduce((s, v, j) => s + v * delta[j]!, 0) / total;
    const variance = e.reduce((s, v, j) => s + v * (delta[j]! - mean) ** 2, 0) / total;
    for (const beta of BETAS) {
      const factor = beta === 0 || beta === 1 ? 0.5 : 0.5 * beta * (1 - beta);
      const want = factor * variance * tiny ** 2; // 1e-13; the next order is 1e-6 of it
      expect(divergence(x, teacher, { shape: [1, V], beta, backend })).toBeAllClose([want], { rtol: 3e-6 });
    }
  });

  test("masked ids: the mixture is finite, KL is infinite where its second argument lacks an id", () => {
    const student = Float64Array.of(0, Math.log(3), -Infinity, -Infinity);
    const teacher = Float64Array.of(0, -Infinity, 0, -Infinity);
    const at = (beta: number) => {
      const options = { shape: [1, 4] as const, beta, backend };
      return {
        value: divergence(student, teacher, options)[0]!,
        gradient: divergenceBackward(student, teacher, Float64Array.of(1), options),
      };
    };
    expect(at(0).value).toBe(Infinity);
    expect(at(0).gradient).toBeAllClose([0.25 - 0.5, 0.75, -0.5, 0], { atol: 1e-15 });
    expect(at(1).value).toBe(Infinity);
    expect(at(1).gradient).toEqual(Float64Array.of(NaN, NaN, 0, 0));
    for (const beta of [0.1, 0.5, 0.9]) {
      expect(at(beta).value).toBeCloseTo(divergenceOracle(student, teacher, { beta }), 13);
      expect(at(beta).gradient).toBeAllClose(divergenceGradientOracle(student, teacher, { beta }), { atol: 1e-14 });
      expect(at(beta).gradient[2]).toBe(0);
    }
    // Masked on both sides: as if they were not there.
    const both = { shape: [1, 3] as const, backend };
    for (const beta of BETAS) {
      const got = divergence(Float64Array.of(1, -Infinity, 2), Float64Array.of(0, -Infinity, 3), { ...both, beta });
      expect(got).toEqual(divergence(Float64Array.of(1, 2), Float64Array.of(0, 3), { shape: [1, 2], beta, backend }));
    }
  });

  test("rows without a finite logit are NaN with gradient 0, rows with NaN or +∞ are NaN, neighbours their own", () => {
    const good = [1, 2, 3];
    const none = [-Infinity, -Infinity, -Infinity];
    const student = Float32Array.from([good, none, good, [1, NaN, 2], good, good].flat());
    const teacher = Float32Array.from([[3, 1, 0], good, none, good, [1, Infinity, 2], [3, 1, 0]].flat());
    for (const beta of BETAS) {
      const options = { shape: [6, 3] as const, beta, backend };
      const got = divergence(student, teacher, options);
      expect(got.subarray(1, 5)).toEqual(new Float64Array(4).fill(NaN));
      expect(got[0]).toBeGreaterThan(0);
      expect(got[5]).toBe(got[0]);
      const grad = divergenceBackward(student, teacher, new Float64Array(6).fill(1), options);
      expect(grad.subarray(3, 9)).toEqual(new Float32Array(6));
      expect(grad.subarray(9, 15)).toEqual(new Float32Array(6).fill(NaN));
      expect(grad.subarray(15)).toEqual(grad.subarray(0, 3));
    }
  });

  test("a float32 gradient is accepted, and one of 0 gives a row of exactly 0 even where there is none", () => {
    const [student, teacher] = [Float32Array.of(0, 1, NaN, 2), Float32Array.of(0, -Infinity, 0, 0)];
    const options = { shape: [2, 2] as const, beta: 1, backend };
    expect(divergenceBackward(student, teacher, Float32Array.of(0, 0), options)).toEqual(new Float32Array(4));
    expect(divergenceBackward(student, teacher, Float32Array.of(1, 1), options)).toEqual(new Float32Array(4).fill(NaN));
  });

  test("an empty batch and an empty vocabulary work", () => {
    for (const beta of BETAS) {
      expect(divergence(new Float32Array(0), new Float32Array(0), { shape: [0, 7], beta, backend })).toEqual(
        new Float64Array(0),
      );
      expect(divergence(new Float32Array(0), new Float32Array(0), { shape: [2, 0], beta, backend })).toEqual(
        Float64Array.of(NaN, NaN),
      );
    }
  });
});
