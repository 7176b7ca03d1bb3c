import { linearLogprob, logprob, type HeadDType, type LinearLogprobOptions, type LinearSums } from "surprisal";
import { headOracle, logitsOf } from "../../oracle/linear";
import { type BackendName, eachBackend } from "../../support/each-backend";
import { once } from "../../support/once";
import { CHUNK_SHAPE, HEAD_DTYPES, MAPS, problem, type Shape, SHAPES, stored } from "./problems";

/**
 * float64 throughout, up to its rounding; a float32 result one rounding. Products of float32: each logit within 2.3e-6 of
 * sum |hidden weight|, which is below 15 in these problems, and the scale of no map is above 2.2. In bfloat16 parts: within 1.6e-5.
 */
function tolerance(dtype: HeadDType, exact: boolean, sums: LinearSums) {
  if (dtype === "float32" && sums === "bfloat16x3") return { rtol: 1e-6, atol: 2.5e-4 };
  if (dtype === "float64") return { rtol: 1e-12, atol: 1e-12 };
  return exact ? { rtol: 1.2e-7, atol: 1e-12 } : { rtol: 1e-6, atol: 3.5e-5 };
}

const definition = once((shape: Shape, dtype: HeadDType, map: (typeof MAPS)[number], withBias: boolean) => {
  const p = problem(shape, dtype);
  const { N, D, V, targets, hidden, weight, bias } = p;
  return {
    p,
    want: headOracle({
      ...{ N, D, V, map, targets },
      hidden: hidden.numbers,
      weight: weight.numbers,
      ...(withBias && { bias: bias.numbers }),
    }),
  };
});

const onDevice = (backend: BackendName) => backend === "cuda" || backend === "emulated";

eachBackend((backend) => {
  describe.each(HEAD_DTYPES)("%s", (dtype) => {
    const sums: readonly LinearSums[] = ["float32", onDevice(backend) ? "bfloat16x3" : "float64"];
    test.each(MAPS.flatMap((map) => sums.map((of) => [map, of] as const)))(
      "rows are those of the definition with %j, sums in %s",
      (map, of) => {
        const exact = backend === "js" || of === "float64";
        for (const shape of [...SHAPES, ...(exact ? [CHUNK_SHAPE] : [])])
          for (const withBias of [true, false]) {
            const { p, want } = definition(shape, dtype, map, withBias);
            const { N, D, hidden, weight, bias, targets } = p;
            const got = linearLogprob(hidden.view, weight.view, targets, {
              shape: [N, D],
              dtype,
              ...(withBias && { bias: bias.view }),
              ...map,
              sums: of,
              backend,
            });
            const close = tolerance(dtype, exact, of);
            expect(got.logProbs).toBeAllClose(want.logProbs, close);
            expect(got.entropies).toBeAllClose(want.entropies, close);
            expect(got.logSumExps).toBeAllClose(want.logSumExps, close);
            expect(got.sumSquares).toBeAllClose(want.sumSquares, close);
            expect(got.maxLogits).toBeAllClose(
              want.logits.map((x) => Math.max(...x)),
              close,
            );
            const kind = dtype === "float64" ? Float64Array : Float32Array;
            expect(got.logProbs).toBeInstanceOf(kind);
            expect(got.entropies).toBeInstanceOf(kind);
          }
      },
    );
  });

  test.each(MAPS)("it is logprob of explicit logits with %j", (map) => {
    const { N, D, V, hidden, weight, bias, targets } = problem([20, 17, 300], "float32", 4);
    const explicit = logitsOf({ hidden: hidden.numbers, weight: weight.numbers, bias: bias.numbers, N, D, V });
    const logits = Float32Array.from(explicit.flatMap((row) => Array.from(row)));
    const want = logprob(logits, targets, { shape: [N, V], ...map, backend });
    const got = linearLogprob(hidden.view, weight.view, targets, { shape: [N, D], bias: bias.view, ...map, backend });
    // Explicit logits are rounded to float32: 6e-8 of at most 16.
    for (const name of [
      "logProbs",
      "entropies",
      "logSumExps",
      "maxLogits",
      "log1pSums",
      "meanGaps",
      "sumSquares",
    ] as const)
      expect(got[name]).toBeAllClose(want[name], { rtol: 1e-6, atol: 1e-5 });
  });

  test("a nearly certain row keeps its digits", () => {
    // Logits 23.5 and 0, 0: S' = 2 e^-23.5, H near 1e-9. Each is one product of numbers with few bits: exact on every backend.
    const result = linearLogprob(Float32Array.of(1, 0), Float32Array.of(0, 0, 23.5, 1, 0, -1), [1], {
      shape: [1, 2],
      backend,
    });
    const rest = 2 * Math.exp(-23.5);
    expect(result.logProbs).toBeAllClose([-Math.log1p(rest)], { rtol: 1e-6 });
    expect(result.entropies).toBeAllClose([Math.log1p(rest) + (rest * 23.5) / (1 + rest)], { rtol: 1e-6 });
  });

  test.each(["float32", onDevice(backend) ? "bfloat16x3" : "float64"] as const)(
    "chunks change no bit, and a row gives the same bits alone, sums in %s",
    (sums) => {
      // Dimensions past a run of 32 products and past four of them, and no multiple of four.
      const { N, D, V, hidden, weight, targets } = problem([150, 173, 70], "float32", 5);
      const run = (options: LinearLogprobOptions) =>
        linearLogprob(hidden.view, weight.view, targets, { shape: [N, D], sums, backend, ...options });
      const whole = run({});
      for (const chunkRows of [1, 7, 64, 100, 150, 10_000]) expect(run({ chunkRows })).toEqual(whole);
      const alone = linearLogprob((hidden.view as Float32Array).subarray(77 * D, 78 * D), weight.view, [targets[77]!], {
        shape: [1, D],
        vocab: V,
        sums,
        backend,
      });
      expect(alone.logProbs[0]).toBe(whole.logProbs[77]);
      expect(alone.meanGaps[0]).toBe(whole.meanGaps[77]);
    },
  );

  test("a device refuses sums in float64 of narrower numbers, and takes float64's", () => {
    const call = (numbers: Float32Array | Float64Array) =>
      linearLogprob(numbers, numbers, [0], { shape: [1, 2], sums: "float64", backend });
    expect(call(Float64Array.of(1, 2)).logProbs).toEqual(Float64Array.of(0));
    if (onDevice(backend)) expect(() => call(Float32Array.of(1, 2))).toThrow(/sums is float64: on a device/);
    else expect(call(Float32Array.of(1, 2)).logProbs).toEqual(Float32Array.of(0));
  });

  test("hosts take no leave of bfloat16x3: the bits of float32", () => {
    if (onDevice(backend)) return; // tensor.test.ts
    const { N, D, hidden, weight, targets } = problem([9, 40, 70], "float32", 11);
    const call = (sums: LinearSums) =>
      linearLogprob(hidden.view, weight.view, targets, { shape: [N, D], sums, backend });
    expect(call("bfloat16x3")).toEqual(call("float32"));
  });

  test("logits beyond the range of float32 are those of the definition", () => {
    if (onDevice(backend)) return; // which forms them in float32
    const hidden = Float32Array.of(1e30, -1e30, 1);
    const weight = Float32Array.of(1e20, 0, 1, 1e20, 1e20, 2, 3e38, 3e38, 3);
    const got = linearLogprob(hidden, weight, [0], { shape: [1, 3], backend });
    const top = Math.fround(1e30) * Math.fround(1e20) + 1;
    expect(got.maxLogits[0]).toBeCloseTo(top, -36);
    expect([Math.abs(got.logProbs[0]!), got.entropies[0]]).toEqual([0, 0]);
  });

  test("rows that are not kept and padding are not read; their results are 0", () => {
    const { N, D, V, hidden, weight, bias, targets } = problem([70, 6, 9], "float32", 6);
    const mask = Uint8Array.from({ length: N }, (_, n) => (n % 3 === 1 || n > 65 ? 0 : 1));
    const ids = targets.map((id, n) => (n % 5 === 0 ? -100 : mask[n] ? id : 2 ** 30));
    const read = (n: number) => mask[n] === 1 && n % 5 !== 0;
    const options = { shape: [N, D] as const, vocab: V, mask, ignoreIndex: -100, backend };
    const poisoned = Float32Array.from(hidden.view as Float32Array, (h, i) => (read(Math.floor(i / D)) ? h : NaN));
    const padded = Float32Array.from({ length: (V + 4) * D }, (_, i) =>
      i < V * D ? (weight.view as Float32Array)[i]! : NaN,
    );
    const paddedBias = Float32Array.from({ length: V + 4 }, (_, j) => (j < V ? (bias.view as Float32Array)[j]! : NaN));
    const got = linearLogprob(poisoned, padded, ids, { ...options, bias: paddedBias });
    const all = linearLogprob(hidden.view, weight.view, targets, { shape: [N, D], bias: bias.view, backend });
    for (const name of [
      "logProbs",
      "entropies",
      "logSumExps",
      "sumSquares",
      "maxLogits",
      "log1pSums",
      "meanGaps",
    ] as const)
      expect(Array.from(got[name])).toEqual(Array.from(all[name], (x, n) => (read(n) ? x : 0)));
  });

  test("a bias of −∞ masks an id; a row without a finite logit, or with NaN, is NaN", () => {
    const hidden = Float32Array.of(1, 2, NaN);
    const weight = Float32Array.of(0.5, -1, 2);
    const options = { shape: [3, 1] as const, backend };
    const masked = linearLogprob(hidden, weight, [0, 2, 0], { ...options, bias: Float32Array.of(0, 0, -Infinity) });
    const open = linearLogprob(hidden, weight.subarray(0, 2), [0, 0, 0], options);
    expect([masked.logProbs[0], masked.logProbs[1]]).toEqual([open.logProbs[0], -Infinity]);
    expect(masked.entropies).toEqual(open.entropies);
    expect([masked.entropies[2], masked.logProbs[2], masked.maxLogits[2]]).toEqual([NaN, NaN, NaN]);
    const none = linearLogprob(hidden, weight, null, { ...options, bias: new Float32Array(3).fill(-Infinity) });
    expect([none.maxLogits[0], none.entropies[0], none.logSumExps[0]]).toEqual([-Infinity, NaN, NaN]);
  });

  test("tensors know their shape; results go where the caller says; no targets give no log-probs", () => {
    const { N, D, V, hidden, weight, targets } = problem([6, 4, 5], "float16", 7);
    const tensors = [
      { data: hidden.view, shape: [2, 3, D], dtype: "float16" },
      { data: weight.view, dims: [V, D], type: "float16" },
    ] as const;
    const want = linearLogprob(hidden.view, weight.view, targets, { shape: [N, D], dtype: "float16", backend });
    const out = { entropies: new Float32Array(N), maxLogits: new Float64Array(N) };
    const got = linearLogprob(...tensors, targets, { out, backend });
    expect(got).toEqual(want);
    expect(got.entropies).toBe(out.entropies);
    expect(got.maxLogits).toBe(out.maxLogits);
    const without = linearLogprob(...tensors, null, { backend });
    expect(without.logProbs).toHaveLength(0);
    expect(without.entropies).toEqual(want.entropies);
  });

  test("no rows give empty results, no ids rows without a finite logit", () => {
    const weight = stored([1, 2, 3, 4], "float32").view;
    expect(linearLogprob(new Float32Array(0), weight, [], { shape: [0, 2], backend }).logProbs).toHaveLength(0);
    const none = linearLogprob(Float32Array.of(1, 2), new Float32Array(0), null, { shape: [1, 2], backend });
    expect([none.maxLogits[0], none.entropies[0]]).toEqual([-Infinity, NaN]);
  });
});
