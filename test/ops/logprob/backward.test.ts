import { backendInfo, fromHalfBits, logprob, logprobBackward } from "../../../lib";
import { toHalfBits } from "../../../lib/core/half";
import { rowOracle, zOf } from "../../oracle/logprob";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import {
  type Batch,
  batchOf,
  hardBatch,
  LARGE_VOCAB,
  LOGIT_DTYPES,
  numbersOf,
  ROWS,
  SMALL_VOCABS,
  someTargets,
} from "./rows";

const LEVEL = backendInfo().backends.find(({ name }) => name === "cpu")?.device;
const MAPS = [{}, { temperature: 2.5, scale: 0.3 }, { softcap: 7, scale: 1.3, temperature: 0.6 }];

/** Gradients from the loss, of both signs. */
function lossGradients(batch: Batch, K: number, seed: number) {
  const r = rng(seed);
  return { gradLogProbs: r.normal(batch.N * K), gradEntropies: r.normal(batch.N) };
}

/**
 * Every column within 2e-6 of the row's largest term before rounding, and then within half a unit of the last place of the
 * logits' type: 2^-24, 2^-11 or 2^-8 of the value, or of the smallest number. 1e-38: below it float32 terms lose digits.
 */
function expectGradient(
  got: Float32Array | Uint16Array,
  batch: Batch,
  targets: Int32Array,
  K: number,
  given: { readonly gradLogProbs?: Float32Array; readonly gradEntropies?: Float32Array },
  map: (typeof MAPS)[number],
): void {
  const numbers = numbersOf(got, batch.dtype);
  const ulp = { float32: 2 ** -24, float16: 2 ** -11, bfloat16: 2 ** -8 }[batch.dtype];
  const smallest = { float32: 0, float16: 2 ** -25, bfloat16: 0 }[batch.dtype]; // the others' lie below 1e-38
  batch.rows.forEach((x, n) => {
    const oracle = rowOracle(x, map);
    const grads = given.gradLogProbs?.subarray(n * K, (n + 1) * K) ?? new Float32Array(0);
    const pairs = Array.from(grads, (a, k) => [targets[n * K + k]!, a] as const);
    const h = given.gradEntropies?.[n] ?? 0;
    const want = oracle.gradient(pairs, h);
    const parts = [oracle.gradient(pairs, 0), oracle.gradient([], h)];
    const largest = parts.reduce((top, part) => part.reduce((m, v) => Math.max(m, Math.abs(v)), top), 0);
    let worst = 0;
    want.forEach((w, j) => {
      const allowed = 2e-6 * largest + ulp * Math.abs(w) * 1.00001 + smallest + 1e-38;
      worst = Math.max(worst, Math.abs(numbers[n * batch.V + j]! - w) / allowed);
    });
    expect(worst).toBeLessThanOrEqual(1);
  });
}

eachBackend((backend) => {
  test("a gradient of bfloat16 is rounded down to 2^-126, and below it at most what it is", () => {
    const V = 96;
    // Probabilities from 2^-84 to 2^-132.
    const logits = toHalfBits(
      Float32Array.from({ length: V }, (_, j) => (j === 0 ? 0 : -(84 + j / 2) * Math.LN2)),
      "bfloat16",
    );
    const options = { shape: [1, V] as const, dtype: "bfloat16", backend } as const;
    const targets = Int32Array.of(0);
    const state = logprob(logits, targets, options);
    const got = fromHalfBits(
      logprobBackward(logits, targets, state, { ...options, gradLogProbs: Float32Array.of(1) }),
      "bfloat16",
    );
    const want = rowOracle(Float64Array.from(fromHalfBits(logits, "bfloat16")), {}).gradient([[0, 1]], 0);
    for (let j = 1; j < V; ++j) {
      const relative = got[j]! / want[j]!;
      if (want[j]! <= -(2 ** -126)) expect(relative).toBeGreaterThan(1 - 2 ** -7);
      expect(relative).toBeGreaterThanOrEqual(0);
      expect(relative).toBeLessThan(1 + (want[j]! <= -(2 ** -126) ? 2 ** -7 : 2 ** -3));
    }
  });

  describe.each(LOGIT_DTYPES)("%s logits", (dtype) => {
    test.each(MAPS)("every kind of row has the gradient of the definition with %j", (map) => {
      for (const V of SMALL_VOCABS) {
        const batch = hardBatch(V, dtype);
        const targets = someTargets(batch);
        const options = { shape: [batch.N, V] as const, dtype, backend, ...map };
        const state = logprob(batch.logits, targets, options);
        const both = lossGradients(batch, 1, V);
        for (const given of [both, { gradLogProbs: both.gradLogProbs }, { gradEntropies: both.gradEntropies }]) {
          const got = logprobBackward(batch.logits, targets, state, { ...options, ...given });
          expectGradient(got, batch, targets, 1, given, map);
        }
      }
    });

    test("in place equals out of place, and other logits are left alone", () => {
      const batch = hardBatch(33, dtype);
      const targets = someTargets(batch);
      const both = { shape: [batch.N, 33] as const, dtype, backend };
      const options = { ...both, ...lossGradients(batch, 1, 4) };
      const state = logprob(batch.logits, targets, both);
      const before = batch.logits.slice();
      const apart = logprobBackward(batch.logits, targets, state, options);
      expect(batch.logits).toEqual(before);
      expect(logprobBackward(batch.logits, targets, state, { ...options, out: batch.logits })).toBe(batch.logits);
      expect(batch.logits).toEqual(apart);
    });
  });

  test("any NaN of a caller makes a gradient of bfloat16 NaN, whatever its bits", () => {
    const [rows, V] = [5, 65];
    const logits = Uint16Array.from({ length: rows * V }, (_, i) => 0x3f80 + (i % 40));
    const targets = Int32Array.of(1, 2, 3, 4, 5);
    const options = { shape: [rows, V] as const, dtype: "bfloat16", backend } as const;
    const state = logprob(logits, targets, options);
    const gradLogProbs = new Float32Array(rows).fill(1);
    const [weights, sums] = [gradLogProbs, state.log1pSums].map((of) => new Uint32Array(of.buffer));
    // The two NaNs of all ones, in the second and third row and in the fourth and fifth.
    weights!.set([0x7fffffff, 0xffffffff], 1);
    sums!.set([0x7fffffff, 0xffffffff], 3);
    const got = logprobBackward(logits, targets, state, { ...options, gradLogProbs }) as Uint16Array;
    const isNaNBits = (bits: number): boolean => (bits & 0x7fff) > 0x7f80;
    for (let b = 0; b < rows; ++b)
      expect([...got.subarray(b * V, (b + 1) * V)].every((bits) => isNaNBits(bits) === b > 0)).toBe(true);
  });

  test("a real vocabulary has it too, with several targets a row", () => {
    const batch = batchOf([ROWS["random"]!(LARGE_VOCAB, 1), ROWS["peaked, H of 1e-5"]!(LARGE_VOCAB, 2)], "bfloat16");
    const K = 5;
    const targets = rng(9).i32(2 * K, 0, LARGE_VOCAB);
    const options = { shape: [2, LARGE_VOCAB] as const, dtype: "bfloat16" as const, backend };
    const given = lossGradients(batch, K, 3);
    const state = logprob(batch.logits, targets, options);
    expectGradient(
      logprobBackward(batch.logits, targets, state, { ...options, ...given }),
      batch,
      targets,
      K,
      given,
      {},
    );
  });

  test.each(MAPS)("the gradient is the slope of the values with %j", (map) => {
    const V = 19;
    const logits = rng(6).normal(V, 0, 2);
    const x = Array.from(logits);
    const target = 7;
    const [a, h] = [1.3, -0.7];
    // Central differences of float64 values by definition; softmax through zOf alone, nothing of the oracle's gradient.
    const loss = (at: number[]) => {
      const z = at.map((v) => zOf(v, map));
      const lse = Math.log(z.reduce((s, v) => s + Math.exp(v), 0));
      return z.reduce((s, v) => s - h * Math.exp(v - lse) * (v - lse), a * (z[target]! - lse));
    };
    const options = { shape: [1, V] as const, backend, ...map };
    const given = { gradLogProbs: Float32Array.of(a), gradEntropies: Float32Array.of(h) };
    const got = logprobBackward(logits, [target], logprob(logits, [target], options), { ...options, ...given });
    const step = 1e-5;
    const slopes = x.map((_, j) => {
      const [up, down] = [step, -step].map((d) => loss(Array.from(x, (v, i) => (i === j ? v + d : v))));
      return (up! - down!) / (2 * step);
    });
    expect(got).toBeAllClose(slopes, { atol: 1e-6 }); // of terms of size 1: float32 of a, h and the result, and step² of the slope
  });

  test("without a softcap every row of the gradient sums to zero", () => {
    const batch = hardBatch(1025, "float32");
    const targets = someTargets(batch);
    const both = { shape: [batch.N, 1025] as const, temperature: 0.8, backend };
    const options = { ...both, ...lossGradients(batch, 1, 11) };
    const got = logprobBackward(batch.logits, targets, logprob(batch.logits, targets, both), options);
    for (let n = 0; n < batch.N; ++n) {
      const row = Array.from(got.subarray(n * 1025, (n + 1) * 1025));
      const size = row.reduce((s, v) => s + Math.abs(v), 0);
      expect(Math.abs(row.reduce((s, v) => s + v, 0))).toBeLessThanOrEqual(1e-6 * size);
    }
  });

  test("the target of a nearly certain row keeps a relative gradient", () => {
    // 1 − p = 1e-10: formed from p it would be 0.
    const logits = Float32Array.of(0, 23, -4);
    const both = { shape: [1, 3] as const, backend };
    const options = { ...both, gradLogProbs: Float32Array.of(1) };
    const got = logprobBackward(logits, [1], logprob(logits, [1], both), options);
    const rest = Math.exp(-23) + Math.exp(-27);
    // Without a fused multiply-add the argument of exp, 33 bits, is rounded to 2e-6 of itself.
    const unfused = backend === "wasm" || (backend === "cpu" && LEVEL === "baseline");
    const rtol = unfused ? 2e-6 : 1e-6;
    expect(got).toBeAllClose([-Math.exp(-23), rest, -Math.exp(-27)], { rtol });
  });

  test("K targets add up: the same id twice is one with both gradients", () => {
    const logits = rng(2).normal(9);
    const options = { shape: [1, 9] as const, backend };
    const twice = [4, 2, 4];
    const state = logprob(logits, twice, options);
    const got = logprobBackward(logits, twice, state, { ...options, gradLogProbs: Float32Array.of(0.5, -1, 0.25) });
    const once = logprobBackward(logits, [4, 2], state, { ...options, gradLogProbs: Float32Array.of(0.75, -1) });
    expect(got).toBeAllClose(once, { rtol: 1e-6, atol: 1e-7 });
  });

  test("float64 gradients are accepted", () => {
    const logits = rng(2).normal(9);
    const options = { shape: [1, 9] as const, backend };
    const state = logprob(logits, [4], options);
    const [narrow, wide] = [Float32Array.of(0.5), Float64Array.of(0.5)].map((gradLogProbs) =>
      logprobBackward(logits, [4], state, { ...options, gradLogProbs }),
    );
    expect(wide).toEqual(narrow);
  });

  test("masked ids get exactly 0, unless they are the target", () => {
    const logits = Float32Array.of(1, -Infinity, 2, -Infinity);
    const options = { shape: [1, 4] as const, temperature: 2, backend };
    const given = { gradLogProbs: Float32Array.of(3), gradEntropies: Float32Array.of(5) };
    const got = logprobBackward(logits, [1], logprob(logits, [1], options), { ...options, ...given });
    expect(got[3]).toBe(0);
    expect(got[1]).toBe(1.5); // a·(1 − 0) / temperature
    expect(got[0]! + got[1]! + got[2]!).toBeCloseTo(0, 6);
    const capped = { ...options, softcap: 5 };
    expect(logprobBackward(logits, [1], logprob(logits, [1], capped), { ...capped, ...given })[1]).toBe(0); // tanh is flat there
  });

  test("rows without a finite logit get 0, rows with NaN or +∞ get NaN, neighbours their own", () => {
    const rows = [
      Float64Array.of(1, 2, 3),
      Float64Array.of(-Infinity, -Infinity, -Infinity),
      Float64Array.of(1, NaN, 2),
      Float64Array.of(1, Infinity, 2),
      Float64Array.of(1, 2, 3),
    ];
    for (const dtype of LOGIT_DTYPES) {
      const batch = batchOf(rows, dtype);
      const options = { shape: [5, 3] as const, dtype, backend };
      const given = { gradLogProbs: new Float32Array(5).fill(1), gradEntropies: new Float32Array(5).fill(1) };
      const targets = [2, 2, 2, 2, 2];
      const state = logprob(batch.logits, targets, options);
      const got = numbersOf(logprobBackward(batch.logits, targets, state, { ...options, ...given }), dtype);
      expect(got.subarray(3, 6)).toEqual(new Float32Array(3));
      expect(got.subarray(6, 12)).toEqual(new Float32Array(6).fill(NaN));
      expect(got.subarray(12)).toEqual(got.subarray(0, 3));
      expect(got.subarray(0, 3).every((v) => v !== 0)).toBe(true);
    }
  });

  test.each(["out of place", "in place"])("%s, padding and ignored rows are not read and get exactly 0", (where) => {
    const r = rng(12);
    const [N, V, stride] = [6, 33, 40];
    const mask = Uint8Array.of(1, 0, 1, 1, 0, 1);
    const targets = Int32Array.of(1, -100, 3, -100, 9, 32);
    const read = (n: number) => mask[n] === 1 && targets[n] !== -100;
    const logits = r
      .normal(N * stride)
      .map((x, i) => (i % stride < V && read(Math.floor(i / stride)) ? x : NaN)) as Float32Array;
    const options = { shape: [N, V] as const, stride, mask, ignoreIndex: -100, backend };
    const state = logprob(logits, targets, options);
    const gradLogProbs = r.normal(N).map((g, n) => (read(n) ? g : NaN)) as Float32Array;
    const given = { gradLogProbs, gradEntropies: gradLogProbs };
    const out = where === "in place" ? logits : new Float32Array(N * stride).fill(NaN);
    const got = logprobBackward(logits, targets, state, { ...options, ...given, out });
    got.forEach((g, i) => {
      const zero = i % stride >= V || !read(Math.floor(i / stride));
      expect([i, Object.is(g, 0)]).toEqual([i, zero]);
    });
  });

  // A masked target has the gradient a·scale, formed in float64 and rounded once: so every rounding can be asked for.
  test.each(["float16", "bfloat16"] as const)("a gradient becomes the nearest %s, ties to even", (dtype) => {
    const r = rng(20);
    const N = 5000;
    const gradLogProbs = Float32Array.from({ length: N }, (_, n) => {
      const x = (r.uniform() - 0.5) * 2 ** Math.floor(r.uniform() * 60 - 40);
      // Every other one has 12 significant bits: many are ties of a half type.
      const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - 11);
      return n % 2 ? x : Math.round(x / unit) * unit;
    });
    const logits = toHalfBits(
      Float64Array.from({ length: 2 * N }, (_, i) => (i % 2 ? -Infinity : 0)),
      dtype,
    );
    for (const scale of [1, 1.1]) {
      const options = { shape: [N, 2] as const, dtype, scale, backend };
      const targets = new Int32Array(N).fill(1);
      const got = logprobBackward(logits, targets, logprob(logits, targets, options), { ...options, gradLogProbs });
      const want = toHalfBits(
        Float64Array.from(gradLogProbs, (g) => g * scale),
        dtype,
      );
      expect(got.filter((_, i) => i % 2)).toEqual(want);
    }
  });

  // A row each. The emulated device starts a fiber a thread: it reads one pattern in 17, of every exponent.
  const step = backend === "emulated" ? 17 : 1;

  test.each(["float16", "bfloat16"] as const)("every %s pattern is read as its number", (dtype) => {
    const rows = Math.ceil(65536 / step);
    const logits = Uint16Array.from({ length: rows }, (_, i) => i * step);
    const { maxLogits } = logprob(logits, null, { shape: [rows, 1], dtype, backend });
    // A row of one NaN or +∞ is NaN; the sign of a zero is left open.
    const want = numbersOf(logits, dtype).map((x) => (x === Infinity ? NaN : x + 0));
    expect(maxLogits.map((x) => x + 0)).toEqual(want);
  });
});
