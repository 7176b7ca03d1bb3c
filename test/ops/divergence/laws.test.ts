import fc from "fast-check";
import { divergence, divergenceBackward, type DivergenceOptions, topLogits } from "../../../lib";
import { topOracle } from "../../oracle/divergence";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { numbersOf, stored, WIDE_DTYPES } from "./rows";

const RUNS = { numRuns: 25 };
const betas = fc.constantFrom(0, 0.2, 0.5, 1);
const forms = fc.constantFrom<"dropped" | "pooled" | undefined>(undefined, "dropped", "pooled");
const sizes = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 2, max: 40 }));

/** A batch of pairs, and a support where one is wanted. */
function batchOf([N, V]: [number, number], seed: number, beta: number, outside: "dropped" | "pooled" | undefined) {
  const r = rng(seed);
  const student = r.f64(N * V, -4, 4);
  const teacher = r.f64(N * V, -4, 4);
  const support = topLogits(student, Math.min(3, V), { shape: [N, V], backend: "js" });
  return { N, V, student, teacher, form: { beta, ...(outside && { support, outside }) } };
}

/**
 * What the sum of a row of the gradient may be off by. The mass of a pool is 1 less what the support holds: ulps of 1
 * against that mass. The largest that 120,000 rows showed was 4.3.
 */
function sumBound(student: Float64Array, { support, outside }: { support?: Int32Array; outside?: string }): number {
  if (outside !== "pooled") return 1e-13;
  const exps = student.map(Math.exp);
  const pool = exps.reduce((sum, e, id) => sum + (support!.includes(id) ? 0 : e), 0);
  return 1e-13 + (pool && (8 * 2 ** -53 * exps.reduce((sum, e) => sum + e)) / pool);
}

eachBackend((backend) => {
  const bothOf = (student: Float64Array, teacher: Float64Array, weights: Float64Array, options: DivergenceOptions) => ({
    values: divergence(student, teacher, { ...options, backend }),
    grad: divergenceBackward(student, teacher, weights, { ...options, backend }),
  });

  test("divergences are never negative, and every row of the gradient sums to zero", () => {
    fc.assert(
      fc.property(sizes, fc.integer(), betas, forms, (size, seed, beta, outside) => {
        const { N, V, student, teacher, form } = batchOf(size, seed, beta, outside);
        const { values, grad } = bothOf(student, teacher, new Float64Array(N).fill(1), { shape: [N, V], ...form });
        expect(values.every((x) => x >= 0)).toBe(true);
        const K = form.support ? form.support.length / N : 0;
        for (let n = 0; n < N; ++n) {
          const row = student.subarray(n * V, (n + 1) * V);
          const bound = sumBound(row, { ...form, support: form.support?.subarray(n * K, (n + 1) * K) });
          const sum = grad.subarray(n * V, (n + 1) * V).reduce((s, g) => s + g, 0);
          expect(Math.abs(sum)).toBeLessThanOrEqual(bound);
        }
      }),
      RUNS,
    );
  });

  test("a constant added to all logits of a side changes nothing", () => {
    fc.assert(
      fc.property(sizes, fc.integer(), betas, forms, (size, seed, beta, outside) => {
        const { N, V, student, teacher, form } = batchOf(size, seed, beta, outside);
        const weights = new Float64Array(N).fill(1);
        const plain = bothOf(student, teacher, weights, { shape: [N, V], ...form });
        const moved = bothOf(
          student.map((x) => x + 100),
          teacher.map((x) => x - 37),
          weights,
          { shape: [N, V], ...form },
        );
        // 1.4e-14 is an ulp of 100: of every logit.
        expect(moved.values).toBeAllClose(plain.values, { atol: 1e-12 });
        expect(moved.grad).toBeAllClose(plain.grad, { atol: 1e-12 });
      }),
      RUNS,
    );
  });

  test("the two KL are each other with the sides exchanged, the mixtures with 1 − beta", () => {
    fc.assert(
      fc.property(sizes, fc.integer(), betas, (size, seed, beta) => {
        const { N, V, student, teacher } = batchOf(size, seed, beta, undefined);
        const there = divergence(student, teacher, { shape: [N, V], beta, backend });
        const back = divergence(teacher, student, { shape: [N, V], beta: 1 - beta, backend });
        expect(there).toBeAllClose(back, { rtol: 1e-12, atol: 1e-15 });
      }),
      RUNS,
    );
  });

  test("permuting rows permutes the results, bit for bit", () => {
    fc.assert(
      fc.property(sizes, fc.integer(), betas, forms, (size, seed, beta, outside) => {
        const { N, V, student, teacher, form } = batchOf(size, seed, beta, outside);
        const weights = rng(seed + 1).f64(N, -1, 1);
        const whole = bothOf(student, teacher, weights, { shape: [N, V], ...form });
        for (let n = 0; n < N; ++n) {
          const one = (x: Float64Array) => x.slice(n * V, (n + 1) * V);
          const K = form.support ? form.support.length / N : 0;
          const alone = bothOf(one(student), one(teacher), weights.slice(n, n + 1), {
            shape: [1, V],
            ...form,
            ...(form.support && { support: form.support.slice(n * K, (n + 1) * K) }),
          });
          expect(alone.values[0]).toBe(whole.values[n]);
          expect(alone.grad).toEqual(one(whole.grad));
        }
      }),
      RUNS,
    );
  });

  test("what lies in rows left out and in the padding is not read, and gets exactly 0", () => {
    fc.assert(
      fc.property(sizes, fc.integer(), betas, forms, (size, seed, beta, outside) => {
        const { N, V, student, teacher, form } = batchOf(size, seed, beta, outside);
        const mask = rng(seed + 2).mask(N, 0.6);
        const weights = rng(seed + 3).f64(N, 0.5, 2);
        const clean = bothOf(student, teacher, weights, { shape: [N, V], mask, ...form });
        const K = form.support ? form.support.length / N : 0;
        const spread = (x: Float64Array, stride: number) =>
          Float64Array.from({ length: N * stride }, (_, i) => {
            const [n, j] = [Math.floor(i / stride), i % stride];
            return j < V && mask[n] === 1 ? x[n * V + j]! : NaN;
          });
        const poisoned = bothOf(
          spread(student, V + 3),
          spread(teacher, V + 1),
          weights.map((w, n) => (mask[n] ? w : NaN)),
          {
            shape: [N, V],
            stride: V + 3,
            teacherStride: V + 1,
            mask,
            ...form,
            ...(form.support && { support: form.support.map((id, i) => (mask[Math.floor(i / K)] ? id : -7)) }),
          },
        );
        expect(poisoned.values).toEqual(clean.values);
        clean.values.forEach((value, n) => {
          if (!mask[n]) expect(Object.is(value, 0)).toBe(true);
        });
        poisoned.grad.forEach((g, i) => {
          const [n, j] = [Math.floor(i / (V + 3)), i % (V + 3)];
          const want = j < V && mask[n] === 1 ? clean.grad[n * V + j] : 0;
          expect(g).toBe(want);
        });
      }),
      RUNS,
    );
  });

  test("a padded vocabulary equals one of masked ids", () => {
    const [student, teacher] = [rng(1).f64(12, -2, 2), rng(2).f64(12, -2, 2)];
    for (const beta of [0, 0.3, 1]) {
      const narrow = divergence(student, teacher, { shape: [2, 4], stride: 6, teacherStride: 6, beta, backend });
      const masked = (x: Float64Array) => x.map((v, i) => (i % 6 < 4 ? v : -Infinity));
      expect(divergence(masked(student), masked(teacher), { shape: [2, 6], beta, backend })).toEqual(narrow);
    }
  });

  test("a support of all ids is the vocabulary, in whatever order", () => {
    const V = 7;
    const [student, teacher] = [rng(3).f64(V, -2, 2), rng(4).f64(V, -2, 2)];
    for (const beta of [0, 0.5, 1]) {
      const whole = bothOf(student, teacher, Float64Array.of(1), { shape: [1, V], beta });
      for (const outside of ["dropped", "pooled"] as const) {
        const form = { shape: [1, V] as const, beta, support: [6, 0, 3, 1, 2, 5, 4], outside };
        const all = bothOf(student, teacher, Float64Array.of(1), form);
        // A pool with nothing in it stands at its floor of 1e-7 on both sides.
        const atol = outside === "pooled" ? 3e-7 : 1e-14;
        expect(all.values).toBeAllClose(whole.values, { atol });
        expect(all.grad).toBeAllClose(whole.grad, { atol });
      }
    }
  });

  test.each(WIDE_DTYPES)("in place equals out of place with %s logits", (dtype) => {
    const rows = (seed: number) => [0, 1].map((n) => Float64Array.from(rng(seed + n).normal(300, 0, 2)));
    const [student, teacher] = [stored(rows(5), dtype).logits, stored(rows(8), dtype).logits];
    const options = { shape: [2, 300] as const, dtype, beta: 0.4, backend };
    const apart = divergenceBackward(student, teacher, Float64Array.of(1, 2), options);
    expect(divergenceBackward(student, teacher, Float64Array.of(1, 2), { ...options, out: student })).toBe(student);
    expect(student).toEqual(apart);
  });

  test("the largest logits are those that a sort finds, of equals the smaller ids", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 70 }), fc.integer(), fc.constantFrom(...WIDE_DTYPES), (V, seed, dtype) => {
        const r = rng(seed);
        // Few different values, so that there are ties; 0 and −0 are one.
        const values = [-Infinity, -2, -0, 0, 1, 1.5, Infinity, 3];
        const { logits } = stored([Float64Array.from(r.i32(V, 0, 8), (i) => values[i]!)], dtype);
        const x = numbersOf(logits, dtype);
        for (const k of new Set([0, 1, Math.floor(V / 2), V]))
          if (k <= V)
            expect(Array.from(topLogits(logits, k, { shape: [1, V], dtype, backend }))).toEqual(topOracle(x, k));
      }),
      RUNS,
    );
  });

  test("a NaN among the logits of a row that is read is refused by name, wherever it lies", () => {
    for (const dtype of WIDE_DTYPES)
      for (const V of [3, 40, 1000])
        for (const at of [0, V >> 1, V - 1]) {
          const numbers = Float64Array.from(rng(V).normal(2 * V));
          numbers[V + at] = NaN;
          const { logits } = stored([numbers], dtype);
          const call = (k: number, mask?: Uint8Array) => topLogits(logits, k, { shape: [2, V], dtype, mask, backend });
          for (const k of [1, 2, V])
            expect(() => call(k)).toThrow(`topLogits: logits[${V + at}] is NaN, expected a number`);
          expect(() => call(0)).not.toThrow();
          expect(() => call(2, Uint8Array.of(1, 0))).not.toThrow();
        }
  });

  test("the largest of a real vocabulary, and zeros for a row that is left out", () => {
    const V = 151_936;
    const values = rng(9).normal(4099);
    const x = Float32Array.from({ length: 2 * V }, (_, i) => (i < V ? values[i % 4099]! : NaN));
    const got = topLogits(x, 64, { shape: [2, V], mask: Uint8Array.of(1, 0), backend });
    const threshold = Array.from(x.subarray(0, V)).sort((a, b) => b - a)[63]!;
    const ids = Array.from(got.subarray(0, 64));
    expect(ids.every((id, i) => x[id]! >= threshold && (i === 0 || id > ids[i - 1]!))).toBe(true);
    const ties = Array.from({ length: V }, (_, j) => j).filter((j) => x[j] === threshold);
    const taken = ids.filter((id) => x[id] === threshold);
    expect(taken).toEqual(ties.slice(0, taken.length));
    expect(got.subarray(64)).toEqual(new Int32Array(64));
  });
});
