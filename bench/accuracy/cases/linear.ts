// A linear head: forward, and all gradients.
import {
  fromHalfBits,
  type HeadDType,
  type HeadView,
  linearLogprob,
  linearLogprobBackward,
  type LogitMapOptions,
  toHalfBits,
} from "../../../lib";
import { headOracle } from "../../../test/oracle/linear";
import { rng } from "../../../test/support/rng";
import { roundingOf, unstated } from "../budgets";
import type { Budget, Case, FloatName } from "../measure";

interface Kind {
  readonly map: LogitMapOptions;
  /** Of the weights: logits have that standard deviation. */
  readonly size: number;
}

const KINDS: Readonly<Record<string, Kind>> = {
  random: { map: {}, size: 3 },
  "random, softcap 30": { map: { softcap: 30, temperature: 0.7 }, size: 20 },
  "nearly flat": { map: {}, size: 0.01 },
};

const LOGIT = 2e-6; // of Σ |hidden · weight|: what a logit may be off

function stored(values: Float64Array, dtype: HeadDType): { readonly view: HeadView; readonly numbers: Float64Array } {
  if (dtype === "float64") return { view: values, numbers: values };
  if (dtype === "float32")
    return { view: Float32Array.from(values), numbers: Float64Array.from(Float32Array.from(values)) };
  const view = toHalfBits(values, dtype);
  return { view, numbers: Float64Array.from(fromHalfBits(view, dtype)) };
}

function numbersOf(view: HeadView, dtype: HeadDType): ArrayLike<number> {
  return dtype === "float16" || dtype === "bfloat16"
    ? fromHalfBits(view as Uint16Array, dtype)
    : (view as Float32Array);
}

function caseOf(
  input: string,
  { map, size }: Kind,
  dtype: HeadDType,
  [N, D, V]: readonly [number, number, number],
): Case[] {
  const r = rng(31);
  const hidden = stored(Float64Array.from(r.normal(N * D)), dtype);
  const weight = stored(Float64Array.from(r.normal(V * D, 0, size / Math.sqrt(D))), dtype);
  const targets = r.i32(N, 0, V);
  const [gradLogProbs, gradEntropies] = [r.f32(N, -2, 2), r.f32(N, -1, 1)];
  const oracle = headOracle({ N, D, V, map, targets, hidden: hidden.numbers, weight: weight.numbers });
  const gradients = oracle.gradients(gradLogProbs, gradEntropies);
  const wide: FloatName = dtype === "float64" ? "float64" : "float32";
  // Every |hidden · weight| summed, at most: what the error of a logit is a share of, in z.
  const absolute = { hidden: hidden.numbers.map(Math.abs), weight: weight.numbers.map(Math.abs) };
  const reach = Math.max(
    ...Array.from({ length: N * V }, (_, i) => {
      let sum = 0;
      for (let d = 0; d < D; ++d)
        sum += absolute.hidden[Math.floor(i / V) * D + d]! * absolute.weight[(i % V) * D + d]!;
      return sum;
    }),
  );
  const ofZ = dtype === "float64" ? 1e-14 * reach * D : (LOGIT * reach) / (map.temperature ?? 1);
  const exactly = dtype === "float64"; // sums and results: nothing but the logits' own error and a few operations
  const inRow: Budget = {
    says: "2e-6 of Σ |hidden·weight|, twice, rounded",
    allowed: (want) => 2 * ofZ + (exactly ? 1e-14 : 1e-6) * Math.abs(want) + roundingOf(wide, want),
  };
  // p moves by its share 2·ofZ, ln p + H by as much.
  const ofSum = (sizes: readonly number[], to: FloatName): Budget => ({
    says: "3e-6 of the terms' sizes beside p's error, rounded",
    allowed: (want, i) =>
      ((exactly ? 1e-13 : 3e-6) + 4 * ofZ) * sizes[i]! * (1 + Math.log(V)) + roundingOf(to, want) + 1e-38,
  });
  const options = { ...map, shape: [N, D] as const, dtype };
  return [
    {
      op: "linearLogprob",
      dtype,
      input,
      want: {
        logProbs: { values: oracle.logProbs, budget: inRow },
        entropies: { values: oracle.entropies, budget: inRow },
        logSumExps: { values: oracle.logSumExps, budget: unstated },
        sumSquares: { values: oracle.sumSquares, budget: unstated },
      },
      run: (backend) => ({ ...linearLogprob(hidden.view, weight.view, targets, { ...options, backend }) }),
    },
    {
      op: "linearLogprobBackward",
      dtype,
      input,
      want: {
        gradHidden: { values: gradients.hidden, budget: ofSum(gradients.sizes.hidden, dtype) },
        gradWeight: { values: gradients.weight, budget: ofSum(gradients.sizes.weight, wide) },
      },
      run: (backend) => {
        const state = linearLogprob(hidden.view, weight.view, targets, { ...options, backend });
        const got = linearLogprobBackward(hidden.view, weight.view, targets, state, {
          ...options,
          backend,
          gradLogProbs,
          gradEntropies,
        });
        return { gradHidden: numbersOf(got.gradHidden!, dtype), gradWeight: got.gradWeight! };
      },
    },
  ];
}

export default function linearCases(reduced: boolean): Case[] {
  return Object.entries(KINDS).flatMap(([input, kind]) =>
    (["float32", "float16", "bfloat16", "float64"] as const)
      .filter((dtype) => !reduced || dtype === "float32")
      // Past a tile of 64 rows and one of 64 ids, and two steps of 32 of a row.
      .flatMap((dtype) => caseOf(input, kind, dtype, reduced ? [5, 20, 70] : [70, 65, 200])),
  );
}
