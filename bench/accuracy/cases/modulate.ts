// Weights of steps and sequences from their entropies, and step weights over spans.
import { modulateSpans, sequenceWeights, stepWeights } from "../../../lib";
import {
  modulateSpansOracle,
  sequenceWeightsOracle,
  type Step,
  stepWeightsOracle,
} from "../../../test/oracle/modulate";
import { rng } from "../../../test/support/rng";
import { exact, float64Sum } from "../budgets";
import { floats, largest, rowsOf, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Budget, Case } from "../measure";

const ENTROPIES: Readonly<Record<string, (n: number) => ArrayLike<number>>> = {
  random: (n) => rng(91).f64(n, 0, 3),
  "flat, 0.1": (n) => new Float64Array(n).fill(0.1),
  "nearly deterministic, 1e-9": (n) => rng(92).f64(n, 0, 1e-9),
  "offset 1e4": (n) => rng(93).f64(n, 1e4, 1e4 + 1),
  "one outlier, 1e6": (n) =>
    rng(94)
      .f64(n)
      .map((x, i) => (i === 5 ? 1e6 : x)),
};

const float64 = (terms: number, size: (want: number) => number): Budget => ({
  ...float64Sum("float64", terms, size),
  says: "float64 throughout",
});

function stepCase(input: string, entropies: Float64Array): Case {
  const k = 2;
  const kFuture = 1;
  const epsilon = 1e-8;
  const want = stepWeightsOracle(entropies, k, kFuture, epsilon);
  // Exponents up to k; the sum of the weights has as many terms as there are steps.
  const budget = float64(entropies.length, (x) => (1 + k) * Math.abs(x));
  return {
    op: "stepWeights",
    dtype: "float64",
    input,
    want: {
      entropyNorms: { values: want.entropyNorms, budget: float64(1, Math.abs) },
      scales: { values: want.scales, budget },
      clarities: { values: want.clarities, budget },
    },
    run: (backend) => ({ ...stepWeights(entropies, { k, kFuture, epsilon, backend }) }),
  };
}

function sequenceCase(dtype: WideFloat, input: string, make: (n: number) => ArrayLike<number>): Case {
  const B = 9;
  const T = 40;
  const labels = [0, 0, 0, 1, 1, 0, 1, 2, 2];
  const values = floats(dtype, make(B * T));
  const mask = rng(95).mask(B * T, 0.7);
  const keptRows = rowsOf(values, T).map((row, b) => row.filter((_, t) => mask[b * T + t] === 1));
  const conventions = { form: "ratio", epsilon: 1e-6, beta: 1, zClip: 3, varianceFloor: 0, bounds: [0.5, 2] } as const;
  const want = sequenceWeightsOracle(keptRows, labels, conventions);
  const sums = float64(T + B, Math.abs);
  return {
    op: "sequenceWeights",
    dtype,
    input,
    want: {
      weights: { values: want.weights, budget: float64(2 * (T + B), Math.abs) },
      entropyRatios: { values: want.entropyRatios, budget: float64(2 * (T + B), Math.abs) },
      sequenceEntropies: { values: want.sequenceEntropies, budget: sums },
      groupMeanEntropies: { values: want.groupMeanEntropies, budget: sums },
      lengths: { values: want.lengths, budget: exact },
      valid: { values: want.valid, budget: exact },
    },
    run: (backend) => ({
      ...sequenceWeights(values, { shape: [B, T], groups: labels, mask, ...conventions, backend }),
    }),
  };
}

const ADVANTAGES: Readonly<Record<string, (n: number) => ArrayLike<number>>> = {
  random: (n) => rng(96).f64(n, -2, 2),
  "flat, 0.1": (n) => new Float64Array(n).fill(0.1),
  "offset 1e6": (n) => rng(97).f64(n, 1e6, 1e6 + 1),
};

function spanCase(dtype: WideFloat, input: string, make: (n: number) => ArrayLike<number>): Case {
  const T = 40;
  // Two steps of row 0 overlap: their factors compound.
  const steps: readonly Step[] = [
    { row: 0, begin: 2, finish: 15 },
    { row: 0, begin: 10, finish: 30 },
    { row: 1, begin: 0, finish: 40 },
    { row: 3, begin: 5, finish: 6 },
    { row: 3, begin: 6, finish: 25 },
  ];
  const B = 4;
  const advantages = floats(dtype, make(B * T));
  const mask = rng(98).mask(B * T, 0.7);
  const scales = rng(99).f64(steps.length, 0.5, 2);
  const clarities = rng(100).f64(steps.length, 0, 1);
  const zeta = 0.3;
  const want = modulateSpansOracle(rowsOf(advantages, T), rowsOf(mask, T), steps, scales, clarities, zeta, "mask");
  const size = 4 * (1 + largest(advantages));
  return {
    op: "modulateSpans",
    dtype,
    input,
    want: {
      advantages: {
        values: want.advantages.flat(),
        budget: float64Sum(dtype, 2 * steps.length, () => size),
      },
      mean: { values: [want.mean], budget: float64(2 * steps.length, () => size) },
    },
    run: (backend) => {
      const spans = Int32Array.from(steps.flatMap(({ row, begin, finish }) => [row, begin, finish]));
      const got = modulateSpans(advantages, spans, {
        shape: [B, T],
        mask,
        scales,
        clarities,
        zeta,
        scope: "mask",
        backend,
      });
      return { advantages: got.advantages, mean: [got.mean] };
    },
  };
}

export default function modulateCases(reduced: boolean): Case[] {
  const S = reduced ? 100 : 1000;
  return [
    ...Object.entries(ENTROPIES).map(([input, make]) => stepCase(input, Float64Array.from(make(S)))),
    ...WIDE_FLOATS.flatMap((dtype) =>
      Object.entries(ENTROPIES).map(([input, make]) => sequenceCase(dtype, input, make)),
    ),
    ...WIDE_FLOATS.flatMap((dtype) => Object.entries(ADVANTAGES).map(([input, make]) => spanCase(dtype, input, make))),
  ];
}
