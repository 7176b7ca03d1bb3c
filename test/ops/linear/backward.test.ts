import {
  linearLogprob,
  linearLogprobBackward,
  logprob,
  logprobBackward,
  type HeadDType,
  type LinearLogprobBackwardOptions,
} from "../../../lib";
import { headOracle, logitsOf } from "../../oracle/linear";
import { zOf } from "../../oracle/logprob";
import { eachBackend } from "../../support/each-backend";
import { once } from "../../support/once";
import { rng } from "../../support/rng";
import { expectGradient, run } from "./gradients";
import { CHUNK_SHAPE, HEAD_DTYPES, MAPS, numbersOf, problem, type Problem, type Shape, SHAPES } from "./problems";

const definition = once((shape: Shape, dtype: HeadDType, map: (typeof MAPS)[number]) => {
  const p = problem(shape, dtype);
  return {
    p,
    oracle: headOracle({ ...p, hidden: p.hidden.numbers, weight: p.weight.numbers, bias: p.bias.numbers, map }),
  };
});

const gradients = once(
  (shape: Shape, dtype: HeadDType, map: (typeof MAPS)[number], ofLogProbs: boolean, ofEntropies: boolean) => {
    const { p, oracle } = definition(shape, dtype, map);
    return oracle.gradients(ofLogProbs ? p.gradLogProbs : undefined, ofEntropies ? p.gradEntropies : undefined);
  },
);

eachBackend((backend) => {
  describe.each(HEAD_DTYPES)("%s", (dtype) => {
    const onDevice = backend === "cuda" || backend === "emulated";
    const cases = MAPS.flatMap((map) =>
      onDevice ? [[map, "float32"] as const] : [[map, "float32"] as const, [map, "float64"] as const],
    );
    test.each(cases)("gradients are those of the definition with %j, sums in %s", (map, sums) => {
      const exact = backend === "js" || sums === "float64";
      for (const shape of [...SHAPES, ...(exact ? [CHUNK_SHAPE] : [])]) {
        const { p } = definition(shape, dtype, map);
        const wide = dtype === "float64" ? "float64" : "float32";
        const parts = shape[0] * shape[2] > 1000 ? [] : [{ gradEntropies: undefined }, { gradLogProbs: undefined }]; // large: once
        for (const given of [{}, ...parts] as Partial<LinearLogprobBackwardOptions>[]) {
          const got = run(p, backend, { dtype, sums, ...map, ...given });
          const want = gradients(shape, dtype, map, !("gradLogProbs" in given), !("gradEntropies" in given));
          expectGradient(numbersOf(got.gradHidden!, dtype), want.hidden, want.sizes.hidden, dtype, exact, wide);
          expectGradient(got.gradWeight!, want.weight, want.sizes.weight, wide, exact, wide);
          expectGradient(got.gradBias!, want.bias, want.sizes.bias, wide, exact, wide);
        }
      }
    });
  });

  test.each(MAPS)("gradients are the slopes of the values with %j", (map) => {
    const [N, D, V] = [3, 4, 5];
    const p = problem([N, D, V], "float64", 9);
    // Values by definition, float64; softmax through zOf alone.
    const loss = (hidden: Float64Array, weight: Float64Array, bias: Float64Array) =>
      logitsOf({ hidden, weight, bias, N, D, V }).reduce((total, x, n) => {
        const z = Array.from(x, (v) => zOf(v, map));
        const lse = Math.log(z.reduce((s, v) => s + Math.exp(v), 0));
        const entropy = z.reduce((s, v) => s - Math.exp(v - lse) * (v - lse), 0);
        return total + p.gradLogProbs[n]! * (z[p.targets[n]!]! - lse) + p.gradEntropies[n]! * entropy;
      }, 0);
    const at = [p.hidden.numbers, p.weight.numbers, p.bias.numbers] as const;
    const slopes = at.map((part, k) =>
      Array.from(part, (_, i) => {
        const moved = (step: number) =>
          loss(
            ...(at.map((x, m) => (m === k ? x.map((v, j) => (j === i ? v + step : v)) : x)) as [
              Float64Array,
              Float64Array,
              Float64Array,
            ]),
          );
        return (moved(1e-5) - moved(-1e-5)) / 2e-5;
      }),
    );
    const got = run(p, backend, map);
    expect([got.gradHidden, got.gradWeight, got.gradBias]).toBeAllClose(slopes, { rtol: 1e-7, atol: 1e-8 });
  });

  test("it is logprobBackward of explicit logits, multiplied by the head", () => {
    const p = problem([12, 9, 80], "float32", 4);
    const { N, D, V, targets, gradLogProbs, gradEntropies } = p;
    const explicit = logitsOf({ hidden: p.hidden.numbers, weight: p.weight.numbers, bias: p.bias.numbers, N, D, V });
    const logits = Float32Array.from(explicit.flatMap((row) => Array.from(row)));
    const options = { shape: [N, V] as const, softcap: 9, backend };
    const dx = logprobBackward(logits, targets, logprob(logits, targets, options), {
      ...options,
      gradLogProbs,
      gradEntropies,
    });
    const want = Array.from({ length: N * D }, (_, i) => {
      const [n, d] = [Math.floor(i / D), i % D];
      return Array.from({ length: V }, (__, j) => dx[n * V + j]! * p.weight.numbers[j * D + d]!).reduce(
        (a, b) => a + b,
        0,
      );
    });
    expect(run(p, backend, { softcap: 9 }).gradHidden).toBeAllClose(want, { rtol: 1e-5, atol: 1e-5 });
  });

  test("chunks change no bit", () => {
    const p = problem([150, 40, 70], "float32", 5);
    const whole = run(p, backend, {});
    for (const chunkRows of [1, 7, 64, 100, 150, 10_000]) expect(run(p, backend, { chunkRows })).toEqual(whole);
  });

  test("micro-batches add up to the whole", () => {
    const p = problem([20, 6, 11], "float64", 5);
    const part = (begin: number, end: number): Problem => {
      const [hidden, rest] = [
        p.hidden.numbers.subarray(begin * p.D, end * p.D),
        [p.targets, p.gradLogProbs, p.gradEntropies],
      ];
      const [targets, gradLogProbs, gradEntropies] = rest.map((x) => x.subarray(begin, end)) as [
        Int32Array,
        Float32Array,
        Float32Array,
      ];
      return { ...p, N: end - begin, hidden: { view: hidden, numbers: hidden }, targets, gradLogProbs, gradEntropies };
    };
    const whole = run(p, backend, {});
    const out = { gradWeight: new Float64Array(p.V * p.D).fill(NaN), gradBias: new Float64Array(p.V).fill(NaN) };
    const first = run(part(0, 13), backend, { out });
    expect(first.gradWeight).toBe(out.gradWeight);
    const second = run(part(13, 20), backend, { out, accumulate: true });
    expect([out.gradWeight, out.gradBias]).toBeAllClose([whole.gradWeight, whole.gradBias], {
      rtol: 1e-12,
      atol: 1e-13,
    });
    expect([...(first.gradHidden as Float64Array), ...(second.gradHidden as Float64Array)]).toEqual(
      Array.from(whole.gradHidden as Float64Array),
    );
  });

  test("a gradient that is not asked for is not computed, and the others are the same", () => {
    const p = problem([5, 4, 6], "bfloat16", 8);
    const whole = run(p, backend, { dtype: "bfloat16" });
    const only = (gradients: LinearLogprobBackwardOptions["gradients"]) =>
      run(p, backend, { dtype: "bfloat16", gradients: gradients! });
    expect(only(["hidden"])).toEqual({ gradHidden: whole.gradHidden, gradWeight: null, gradBias: null });
    expect(only(["weight"])).toEqual({ gradHidden: null, gradWeight: whole.gradWeight, gradBias: null });
    expect(only(["bias"])).toEqual({ gradHidden: null, gradWeight: null, gradBias: whole.gradBias });
    expect(only([])).toEqual({ gradHidden: null, gradWeight: null, gradBias: null });
    expect(run(p, backend, { dtype: "bfloat16", bias: undefined } as object).gradBias).toBeNull();
  });

  test("rows that are not kept are not read and add nothing; the padding gets 0, or stays when adding up", () => {
    const p = problem([70, 6, 9], "float32", 6);
    const { N, D, V } = p;
    const mask = Uint8Array.from({ length: N }, (_, n) => (n % 3 === 1 || n > 65 ? 0 : 1));
    const kept = Array.from(mask.keys()).filter((n) => mask[n]);
    const pick = <A extends Float32Array | Int32Array>(x: A, width = 1): A =>
      x.filter((_, i) => mask[Math.floor(i / width)] === 1) as A;
    const few = {
      ...p,
      N: kept.length,
      targets: pick(p.targets),
      gradLogProbs: pick(p.gradLogProbs),
      gradEntropies: pick(p.gradEntropies),
    };
    const alone = run({ ...few, hidden: { ...p.hidden, view: pick(p.hidden.view as Float32Array, D) } }, backend, {});

    const poison = (x: Float32Array, width: number) =>
      x.map((v, i) => (mask[Math.floor(i / width)] ? v : NaN)) as Float32Array;
    const pad = (x: Float32Array, width: number) =>
      Float32Array.from({ length: (V + 3) * width }, (_, i) => x[i] ?? NaN);
    const hidden = poison(p.hidden.view as Float32Array, D);
    const weight = pad(p.weight.view as Float32Array, D);
    const targets = p.targets.map((id, n) => (mask[n] ? id : -5));
    const options = { shape: [N, D] as const, vocab: V, mask, bias: pad(p.bias.view as Float32Array, 1), backend };
    const state = linearLogprob(hidden, weight, targets, options);
    for (const name of ["maxLogits", "log1pSums", "meanGaps"] as const)
      state[name].forEach((_, n) => mask[n] || (state[name][n] = NaN));
    const given = { gradLogProbs: poison(p.gradLogProbs, 1), gradEntropies: poison(p.gradEntropies, 1) };
    const got = linearLogprobBackward(hidden, weight, targets, state, { ...options, ...given });
    const near = backend === "js" || backend === "cpu" ? { rtol: 0, atol: 0 } : { rtol: 1e-5, atol: 1e-5 }; // other steps of 32 rows
    expect(got.gradWeight!.subarray(0, V * D)).toBeAllClose(alone.gradWeight, near);
    expect(got.gradBias!.subarray(0, V)).toBeAllClose(alone.gradBias, near);
    expect(pick(got.gradHidden as Float32Array, D)).toEqual(alone.gradHidden);
    (got.gradHidden as Float32Array).forEach((g, i) => {
      if (!mask[Math.floor(i / D)]) expect(Object.is(g, 0)).toBe(true);
    });
    expect([...got.gradWeight!.subarray(V * D), ...got.gradBias!.subarray(V)]).toEqual(new Array(3 * D + 3).fill(0));

    const out = { gradWeight: new Float32Array((V + 3) * D).fill(7), gradBias: new Float32Array(V + 3).fill(7) };
    linearLogprobBackward(hidden, weight, targets, state, { ...options, ...given, out, accumulate: true });
    expect([...out.gradWeight.subarray(V * D), ...out.gradBias.subarray(V)]).toEqual(new Array(3 * D + 3).fill(7));
  });

  test("permuting rows permutes the gradient of hidden", () => {
    const p = problem([7, 5, 12], "float32", 11);
    const order = [3, 6, 0, 2, 5, 1, 4];
    const take = <A extends Float32Array | Int32Array>(x: A, width = 1): A =>
      x.map((_, i) => x[order[Math.floor(i / width)]! * width + (i % width)]!) as A;
    const shuffled = {
      ...p,
      targets: take(p.targets),
      gradLogProbs: take(p.gradLogProbs),
      gradEntropies: take(p.gradEntropies),
    };
    const got = run(
      { ...shuffled, hidden: { ...p.hidden, view: take(p.hidden.view as Float32Array, p.D) } },
      backend,
      {},
    );
    const want = run(p, backend, {});
    expect(got.gradHidden).toEqual(take(want.gradHidden as Float32Array, p.D));
    expect(got.gradWeight).toBeAllClose(want.gradWeight, { rtol: 1e-5, atol: 1e-6 });
  });

  test("a masked id has no gradient, unless it is the target; a row without a finite logit has none", () => {
    const [hidden, weight] = [Float32Array.of(1, 2), Float32Array.of(0.5, -1, 2)];
    const options = {
      shape: [2, 1] as const,
      gradLogProbs: Float32Array.of(1, 1),
      gradEntropies: Float32Array.of(0.5, 0.5),
      backend,
    };
    const biased = (bias: Float32Array, targets: number[]) =>
      linearLogprobBackward(
        hidden,
        weight,
        targets,
        linearLogprob(hidden, weight, targets, { shape: [2, 1], bias, backend }),
        { ...options, bias },
      );
    const masked = biased(Float32Array.of(0, 0, -Infinity), [0, 1]);
    expect([masked.gradWeight![2], masked.gradBias![2]]).toEqual([0, 0]);
    expect(masked.gradWeight![0]).not.toBe(0);
    expect(biased(Float32Array.of(0, 0, -Infinity), [0, 2]).gradBias![2]).toBe(1);
    const none = biased(new Float32Array(3).fill(-Infinity), [0, 1]);
    expect([...(none.gradHidden as Float32Array), ...none.gradWeight!, ...none.gradBias!]).toEqual(
      new Array(8).fill(0),
    );
  });

  test("the target of a nearly certain row keeps a relative gradient", () => {
    // 1 − p = 1e-10: formed from p it would be 0.
    const [hidden, weight, options] = [
      Float32Array.of(1),
      Float32Array.of(0, 23, -4),
      { shape: [1, 1] as const, backend },
    ];
    const state = linearLogprob(hidden, weight, [1], options);
    const { gradBias } = linearLogprobBackward(hidden, weight, [1], state, {
      ...options,
      bias: new Float32Array(3),
      gradLogProbs: Float32Array.of(1),
    });
    const rest = Math.exp(-23) + Math.exp(-27);
    expect(gradBias).toBeAllClose([-Math.exp(-23), rest, -Math.exp(-27)], { rtol: 1e-6 });
  });

  test("no rows: the sums are 0, or stay when adding up; no ids: hidden gets 0", () => {
    const weight = rng(1).normal(6);
    const state = linearLogprob(new Float32Array(0), weight, [], { shape: [0, 2], backend });
    const options = { shape: [0, 2] as const, gradLogProbs: new Float32Array(0), backend };
    expect(linearLogprobBackward(new Float32Array(0), weight, [], state, options).gradWeight).toEqual(
      new Float32Array(6),
    );
    const out = { gradWeight: new Float32Array(6).fill(3) };
    linearLogprobBackward(new Float32Array(0), weight, [], state, { ...options, out, accumulate: true });
    expect(out.gradWeight).toEqual(new Float32Array(6).fill(3));
    const one = { shape: [1, 2] as const, backend };
    const nothing = linearLogprob(Float32Array.of(1, 2), new Float32Array(0), null, one);
    const got = linearLogprobBackward(Float32Array.of(1, 2), new Float32Array(0), null, nothing, {
      ...one,
      gradEntropies: Float32Array.of(1),
    });
    expect(got.gradHidden).toEqual(new Float32Array(2));
  });
});
