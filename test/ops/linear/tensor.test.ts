// What a device makes of half types on tensor cores, and of float32 in bfloat16 parts: tiles of 128 rows and ids, of 128 dimensions in a gradient, slabs of 2048 rows
// and ids, steps of 16 and 32 terms; D that 16-byte copies take, and other. Where it takes them, warpgroups make tiles of 192 rows, in
// chunks of 2112, from a ring of five stages of 64 terms.
import { linearLogprob, linearLogprobBackward } from "../../../lib";
import { headOracle } from "../../oracle/linear";
import { eachBackend } from "../../support/each-backend";
import { expectGradient, expectInParts, run } from "./gradients";
import { MAPS, numbersOf, problem, type Problem, type Shape } from "./problems";

const SHAPES: readonly Shape[] = [
  [1, 8, 129],
  [17, 136, 15],
  [129, 37, 130],
  [3, 8, 2065],
  [2065, 3, 5],
  [193, 584, 130],
  [2120, 8, 70],
];

const KINDS = [
  { dtype: "float16", sums: "float32", nan: 0x7e00, minusInfinity: 0xfc00 },
  { dtype: "bfloat16", sums: "float32", nan: 0x7fc0, minusInfinity: 0xff80 },
  { dtype: "float32", sums: "bfloat16x3", nan: NaN, minusInfinity: -Infinity },
] as const;

type Bits = Uint16Array | Float32Array;
/** An array of the same kind. */
const like = <A extends Bits>(x: A, values: Iterable<number>): A =>
  (x.constructor as unknown as { from(values: Iterable<number>): A }).from(values);

const rowsOf = (p: Problem, rows: readonly number[]): Problem => {
  const each = <A extends Bits | Int32Array>(x: A, width = 1): A =>
    (x.constructor as unknown as { from(x: Iterable<number>): A }).from(
      rows.flatMap((n) => Array.from(x.subarray(n * width, (n + 1) * width))),
    );
  return {
    ...p,
    N: rows.length,
    hidden: { ...p.hidden, view: each(p.hidden.view as Bits, p.D) },
    targets: each(p.targets),
    gradLogProbs: each(p.gradLogProbs),
    gradEntropies: each(p.gradEntropies),
  };
};

eachBackend(
  (backend) => {
    describe.each(KINDS)("$dtype, sums in $sums", ({ dtype, sums, nan, minusInfinity }) => {
      test.each(SHAPES.map((shape, i) => [shape, MAPS[i % MAPS.length]!] as const))(
        "gradients of %j are those of the definition with %j",
        (shape, map) => {
          const p = problem(shape, dtype, 3);
          const oracle = headOracle({
            ...p,
            hidden: p.hidden.numbers,
            weight: p.weight.numbers,
            bias: p.bias.numbers,
            map,
          });
          const want = oracle.gradients(p.gradLogProbs, p.gradEntropies);
          const got = run(p, backend, { dtype, sums, ...map });
          const hidden = numbersOf(got.gradHidden!, dtype);
          if (sums === "bfloat16x3") {
            const gradients = { hidden, weight: got.gradWeight!, bias: got.gradBias! };
            expectInParts(p, oracle.logits, gradients, want, map);
          } else {
            expectGradient(hidden, want.hidden, want.sizes.hidden, dtype, false, "float32");
            expectGradient(got.gradWeight!, want.weight, want.sizes.weight, "float32", false, "float32");
            expectGradient(got.gradBias!, want.bias, want.sizes.bias, "float32", false, "float32");
          }
          const { N, D, targets } = p;
          const rows = linearLogprob(p.hidden.view, p.weight.view, targets, {
            ...map,
            shape: [N, D],
            dtype,
            sums,
            bias: p.bias.view,
            backend,
          });
          const atol = sums === "bfloat16x3" ? 3e-4 : 6e-5;
          expect(rows.logProbs).toBeAllClose(oracle.logProbs, { rtol: 1e-6, atol });
          expect(rows.entropies).toBeAllClose(oracle.entropies, { rtol: 1e-6, atol });
        },
      );

      // One id a row, whose logit is then the row's largest.
      test.each([8, 37, 600])("a logit is within what linear.h promises of its terms' sizes, D %d", (D) => {
        const p = problem([300, D, 1], dtype, 12);
        const { hidden, weight } = p;
        const got = linearLogprob(hidden.view, weight.view, p.targets, { shape: [p.N, D], dtype, sums, backend });
        const share = Math.min(D, 256) * 3e-8 + D * 2.4e-10;
        const promised = sums === "bfloat16x3" ? 1.2e-5 + share + D * 4.8e-10 : share;
        const off = Array.from(got.maxLogits, (x, n) => {
          const terms = Array.from({ length: D }, (_, d) => hidden.numbers[n * D + d]! * weight.numbers[d]!);
          const sum = (of: (x: number) => number) => terms.reduce((all, term) => all + of(term), 0);
          return Math.abs(x - sum((term) => term)) / sum(Math.abs);
        });
        expect(Math.max(...off)).toBeLessThanOrEqual(promised);
      });

      test.each([5, 8])(
        "a row has the same bits alone and among others, and with each choice of gradients and chunkRows, D %d",
        (D) => {
          const p = problem([2065, D, 70], dtype, 7);
          const whole = run(p, backend, { dtype, sums });
          const row = (n: number) => (whole.gradHidden as Bits).subarray(n * p.D, (n + 1) * p.D);
          for (const n of [77, 2047, 2064])
            expect(run(rowsOf(p, [n]), backend, { dtype, sums, gradients: ["hidden"] }).gradHidden).toEqual(row(n));
          const hidden = run(p, backend, { dtype, sums, gradients: ["hidden"], chunkRows: 1 });
          expect(hidden.gradHidden).toEqual(whole.gradHidden);
          const head = run(p, backend, { dtype, sums, gradients: ["weight", "bias"], chunkRows: 700 });
          expect(head.gradWeight).toEqual(whole.gradWeight);
          expect(head.gradBias).toEqual(whole.gradBias);
          const { N, hidden: states, weight, targets } = p;
          const forward = (chunkRows?: number) =>
            linearLogprob(states.view, weight.view, targets, { shape: [N, D], dtype, sums, backend, chunkRows });
          for (const chunkRows of [100, 200, 700]) expect(forward(chunkRows)).toEqual(forward());
        },
      );

      test("gradients of any size keep their digits: 2^-60 of the slopes is 2^-60 of them", () => {
        const p = problem([20, 9, 140], dtype, 8);
        const [small, gradients] = [2 ** -60, ["weight", "bias"] as const];
        const scaled = (x: Float32Array) => x.map((value) => value * small);
        const whole = run(p, backend, { dtype, sums, gradients });
        const part = run(p, backend, {
          dtype,
          sums,
          gradients,
          gradLogProbs: scaled(p.gradLogProbs),
          gradEntropies: scaled(p.gradEntropies),
        });
        expect(part.gradWeight).toEqual(scaled(whole.gradWeight as Float32Array));
        expect(part.gradBias).toEqual(scaled(whole.gradBias as Float32Array));
      });

      test("rows that are not kept and padding are not read; a bias of -infinity and a NaN stay where they belong", () => {
        const [N, D, V] = [300, 8, 133]; // the second tile of rows has none that is kept
        const p = problem([N, D, V], dtype, 9);
        const mask = Uint8Array.from({ length: N }, (_, n) => (n % 3 === 1 || (n > 127 && n < 256) ? 0 : 1));
        const kept = Array.from(mask.keys()).filter((n) => mask[n]);
        const pad = (x: Bits, width: number) =>
          like(
            x,
            Array.from({ length: (V + 3) * width }, (_, i) => x[i] ?? nan),
          );
        const bias = (p.bias.view as Bits).slice();
        bias[130] = minusInfinity;
        const weight = p.weight.view as Bits;
        const clean = { ...p, bias: { ...p.bias, view: bias } };
        const targets = p.targets.map((id, n) => (mask[n] ? id % 100 : -7));
        const few = run(rowsOf({ ...clean, targets }, kept), backend, { dtype, sums });
        const view = (p.hidden.view as Bits).map((x, i) => (mask[Math.floor(i / D)] ? x : nan));
        const lost = (x: Float32Array) => x.map((value, n) => (mask[n] ? value : NaN));
        const options = { shape: [N, D] as const, vocab: V, mask, dtype, sums, bias: pad(bias, 1), backend };
        const padded = pad(weight, D);
        const state = linearLogprob(view, padded, targets, options);
        const slopes = { gradLogProbs: lost(p.gradLogProbs), gradEntropies: lost(p.gradEntropies) };
        const got = linearLogprobBackward(view, padded, targets, state, { ...options, ...slopes });
        const own = (got.gradHidden as Bits).filter((_, i) => mask[Math.floor(i / D)]);
        expect(own).toEqual(few.gradHidden);
        (got.gradHidden as Bits).forEach((bits, i) => mask[Math.floor(i / D)] || expect(bits).toBe(0));
        const near = { rtol: 1e-5, atol: 1e-5 }; // other steps of 16 rows
        expect(got.gradWeight!.subarray(0, V * D)).toBeAllClose(few.gradWeight, near);
        expect(got.gradBias!.subarray(0, V)).toBeAllClose(few.gradBias, near);
        expect([...got.gradWeight!.subarray(130 * D, 131 * D), got.gradBias![130]]).toEqual(new Array(D + 1).fill(0));
        expect([...got.gradWeight!.subarray(V * D), ...got.gradBias!.subarray(V)]).toEqual(
          new Array(3 * D + 3).fill(0),
        );

        // One weight that is not a number: rows that are not kept stay 0, all others and their gradients are NaN.
        const poisoned = padded.slice();
        poisoned[5 * D + 2] = nan;
        const bad = linearLogprob(view, poisoned, targets, options);
        const all = linearLogprobBackward(view, poisoned, targets, bad, { ...options, ...slopes });
        numbersOf(all.gradHidden!, dtype).forEach((x, i) =>
          expect(Object.is(x, mask[Math.floor(i / D)] ? NaN : 0)).toBe(true),
        );
        expect([...all.gradWeight!.subarray(0, V * D)].every(Number.isNaN)).toBe(true);
      });
    });
  },
  ["cuda", "emulated"],
);
