import { distillationLoss, divergence, topLogits } from "../../lib";
import { divergenceGradientOracle, divergenceOracle } from "../oracle/divergence";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";

eachBackend((backend) => {
  const [N, V] = [4, 6];
  const student = rng(1).f64(N * V, -2, 2);
  const teacher = rng(2).f64(N * V, -2, 2);
  const row = (x: Float64Array, n: number) => x.subarray(n * V, (n + 1) * V);
  const base = { shape: [N, V] as const, backend };
  const labels = [3, -100, 0, 5];
  const kept = [0, 2, 3];

  test.each([
    ["batchmean", 1 / 3],
    ["sum", 1],
    ["mean", 1 / 18],
  ] as const)("%s is the sum over the kept rows times its weight, with its gradient", (reduction, weight) => {
    for (const beta of [0, 0.5, 1]) {
      const got = distillationLoss(student, teacher, { ...base, beta, temperature: 1.5, reduction, labels });
      const oracle = { beta, temperature: 1.5 };
      const values = kept.map((n) => divergenceOracle(row(student, n), row(teacher, n), oracle));
      expect(got.loss).toBeCloseTo(weight * values.reduce((s, v) => s + v, 0), 12);
      expect(got.gradDivergences).toEqual(Float64Array.of(weight, 0, weight, weight));
      for (const n of kept) {
        const want = divergenceGradientOracle(row(student, n), row(teacher, n), oracle).map((g) => g * weight);
        expect(row(got.gradStudentLogits!, n)).toBeAllClose(want, { atol: 1e-13 });
      }
      expect(row(got.gradStudentLogits!, 1)).toEqual(new Float64Array(V));
      expect(got.divergences[1]).toBe(0);
      expect(got.metrics.tokens).toBe(3);
      expect(got.metrics.meanDivergence).toBeCloseTo(values.reduce((s, v) => s + v, 0) / 3, 12);
      expect(got.metrics.maxDivergence).toBeCloseTo(Math.max(...values), 12);
      expect(got.support).toBeNull();
    }
  });

  test("the gradient is the slope of the loss, also over the likeliest ids", () => {
    for (const form of [{}, { topK: 2, outside: "dropped" }, { topK: 2 }] as const)
      for (const beta of [0, 0.3, 1]) {
        const options = { ...base, beta, temperature: 0.8, labels, ...form };
        const got = distillationLoss(student, teacher, options);
        const slopes = student.map((_, j) => {
          const [up, down] = [1e-5, -1e-5].map((d) =>
            distillationLoss(
              student.map((v, i) => (i === j ? v + d : v)),
              teacher,
              { ...options, gradient: false },
            ),
          );
          expect(up!.support).toEqual(got.support); // no tie is that close
          return (up!.loss - down!.loss) / 2e-5;
        });
        expect(got.gradStudentLogits).toBeAllClose(slopes, { atol: 1e-9 });
      }
  });

  test("topK is topLogits of the student as a support, pooled by default", () => {
    const got = distillationLoss(student, teacher, { ...base, topK: 3, reduction: "sum" });
    const support = topLogits(student, 3, base);
    expect(got.support).toEqual(support);
    expect(got.divergences).toEqual(divergence(student, teacher, { ...base, beta: 0.5, support, outside: "pooled" }));
    expect(distillationLoss(student, teacher, { ...base, support, reduction: "sum" })).toEqual(got);
    // Three ids and the pool are four outcomes.
    expect(distillationLoss(student, teacher, { ...base, support, reduction: "mean" }).loss).toBeCloseTo(
      got.loss / 16,
      14,
    );
    const dropped = distillationLoss(student, teacher, { ...base, topK: 1, outside: "dropped" });
    expect([dropped.loss, ...dropped.divergences]).toEqual([0, 0, 0, 0, 0]); // one outcome is certain on both sides
  });

  test("labels and mask both leave rows out, unread", () => {
    const poison = (x: Float64Array) => x.map((v, i) => (i < 2 * V ? NaN : v));
    const mask = Uint8Array.of(0, 1, 1, 1);
    const clean = distillationLoss(student, teacher, { ...base, labels, mask });
    for (const form of [{}, { topK: 2 }] as const) {
      const want = distillationLoss(student, teacher, { ...base, labels, mask, ...form });
      expect(distillationLoss(poison(student), poison(teacher), { ...base, labels, mask, ...form })).toEqual(want);
    }
    expect(clean.metrics.tokens).toBe(2);
    expect(distillationLoss(student, teacher, { ...base, labels: [9, 1, 1, 1], ignoreIndex: 9 }).metrics.tokens).toBe(
      3,
    );
  });

  test("nothing that counts is a loss of 0 with a gradient of 0", () => {
    for (const reduction of ["batchmean", "sum", "mean"] as const) {
      const got = distillationLoss(student, teacher, { ...base, reduction, mask: new Uint8Array(N) });
      expect(got).toMatchObject({ loss: 0, metrics: { tokens: 0, meanDivergence: 0, maxDivergence: 0 } });
      expect(got.gradStudentLogits).toEqual(new Float64Array(N * V));
    }
    expect(distillationLoss(new Float32Array(0), new Float32Array(0), { shape: [0, 5], backend }).loss).toBe(0);
  });

  test("tensors with leading dimensions are rows, and the gradient can take the student's place", () => {
    const tensor = (data: Float64Array) => ({ data, shape: [2, 2, V], dtype: "float64" });
    const want = distillationLoss(student, teacher, { ...base, labels });
    const data = student.slice();
    const got = distillationLoss(tensor(data), tensor(teacher), { labels, backend, out: data });
    expect(got.gradStudentLogits).toBe(data);
    expect(got).toEqual(want);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["an unknown reduction", { reduction: "none" }, "ERR_SURPRISAL_OPTION"],
    ["labels of another length", { labels: [1, 2] }, "ERR_SURPRISAL_SHAPE"],
    ["float labels", { labels: new Float32Array(N) }, "ERR_SURPRISAL_DTYPE"],
    ["a mask of another length", { mask: new Uint8Array(3) }, "ERR_SURPRISAL_SHAPE"],
    ["topK of 0", { topK: 0 }, "ERR_SURPRISAL_OPTION"],
    ["topK beyond the vocabulary", { topK: V + 1 }, "ERR_SURPRISAL_OPTION"],
    ["topK and a support", { topK: 1, support: [0, 0, 0, 0] }, "ERR_SURPRISAL_OPTION"],
    ["outside without a support", { outside: "pooled" }, "ERR_SURPRISAL_OPTION"],
    ["a beta above 1", { beta: 2 }, "ERR_SURPRISAL_OPTION"],
    ["a fractional ignoreIndex", { ignoreIndex: 0.5 }, "ERR_SURPRISAL_OPTION"],
  ])("refuses %s", (_, change, code) => {
    expect(errorCode(() => distillationLoss(student, teacher, { ...base, ...change }))).toBe(code);
  });
});
