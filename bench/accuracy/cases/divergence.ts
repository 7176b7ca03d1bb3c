// Pairs of rows of logits: divergences and their gradient, over the vocabulary and over the likeliest ids; the ids themselves.
import { divergence, divergenceBackward, fromHalfBits, toHalfBits, topLogits, type WideLogitDType } from "../../../lib";
import {
  divergenceGradientOracle,
  type DivergenceOracleOptions,
  divergenceOracle,
  topOracle,
} from "../../../test/oracle/divergence";
import { rng } from "../../../test/support/rng";
import { exact, roundingOf } from "../budgets";
import type { Budget, Case } from "../measure";

const N = 4;
const TEMPERATURE = 0.7;
const DTYPES = ["float32", "float64", "float16", "bfloat16"] as const;

type Sides = (V: number) => readonly [student: Float64Array, teacher: Float64Array];
const noise = (seed: number, V: number, mean: number, std: number) =>
  Float64Array.from(rng(seed).normal(N * V, mean, std));
const INPUTS: Readonly<Record<string, Sides>> = {
  random: (V) => [noise(31, V, 0, 2), noise(32, V, 0, 2)],
  peaked: (V) =>
    [noise(33, V, 0, 1), noise(34, V, 0, 1)].map((x, s) => x.map((v, i) => (i % V === 5 ? 11 + s : v))) as [
      Float64Array,
      Float64Array,
    ],
  "hot, 1e3": (V) => [noise(35, V, 1000, 3), noise(36, V, -500, 3)],
};
const FORMS = [undefined, "dropped", "pooled"] as const;

/** The numbers as the type holds them. */
function stored(x: Float64Array, dtype: WideLogitDType) {
  if (dtype === "float64") return { logits: x, numbers: x };
  const logits = dtype === "float32" ? Float32Array.from(x) : toHalfBits(x, dtype);
  return { logits, numbers: Float64Array.from(dtype === "float32" ? logits : fromHalfBits(logits, dtype)) };
}

const ofValue: Budget = { says: "1e-12·D + 1e-14", allowed: (want) => 1e-12 * want + 1e-14 };

function caseOf(input: string, sides: Sides, dtype: WideLogitDType, V: number, beta: number): Case[] {
  const [student, teacher] = sides(V).map((x) => stored(x, dtype)) as [
    ReturnType<typeof stored>,
    ReturnType<typeof stored>,
  ];
  const K = 4;
  const row = (x: Float64Array, n: number) => x.subarray(n * V, (n + 1) * V);
  const ids = Array.from({ length: N }, (_, n) => topOracle(row(student.numbers, n), K));
  const support = Int32Array.from(ids.flat());
  const weights = rng(37).f64(N, -2, 2);
  return FORMS.flatMap((outside): Case[] => {
    const oracleOf = (n: number): DivergenceOracleOptions => ({
      beta,
      temperature: TEMPERATURE,
      ...(outside && { support: ids[n]!, outside }),
    });
    const rows = Array.from(
      { length: N },
      (_, n) => [row(student.numbers, n), row(teacher.numbers, n), oracleOf(n)] as const,
    );
    const options = {
      shape: [N, V] as const,
      dtype,
      beta,
      temperature: TEMPERATURE,
      ...(outside && { support, outside }),
    };
    const name = `${input}, beta ${beta}${outside ? `, others ${outside}` : ""}`;
    // The pools of these rows are 1e-4 or more.
    const pool = outside === "pooled" ? 1e-11 : 0;
    const gradient: Budget = {
      says: outside === "pooled" ? "1e-11·weight / temperature, rounded" : "1e-12·weight / temperature, rounded",
      allowed: (want, i) => {
        const before = ((pool || 1e-12) * Math.abs(weights[Math.floor(i / V)]!)) / TEMPERATURE;
        return before + roundingOf(dtype, Math.abs(want) + before);
      },
    };
    return [
      {
        op: "divergence",
        dtype,
        input: name,
        want: {
          divergences: {
            values: rows.map(([x, y, oracle]) => divergenceOracle(x, y, oracle)),
            budget: outside === "pooled" ? { says: "1e-11 with such a pool", allowed: () => pool } : ofValue,
          },
        },
        run: (backend) => ({ divergences: divergence(student.logits, teacher.logits, { ...options, backend }) }),
      },
      {
        op: "divergenceBackward",
        dtype,
        input: name,
        want: {
          gradient: {
            values: rows.flatMap(([x, y, oracle], n) =>
              divergenceGradientOracle(x, y, oracle).map((g) => g * weights[n]!),
            ),
            budget: gradient,
          },
        },
        run: (backend) => {
          const got = divergenceBackward(student.logits, teacher.logits, weights, { ...options, backend });
          return { gradient: dtype === "float16" || dtype === "bfloat16" ? fromHalfBits(got, dtype) : got };
        },
      },
    ];
  });
}

function topCase(dtype: WideLogitDType, V: number): Case {
  const { logits, numbers } = stored(noise(38, V, 0, 2).map(Math.round), dtype); // with ties
  const K = 7;
  const values = Array.from({ length: N }, (_, n) => topOracle(numbers.subarray(n * V, (n + 1) * V), K)).flat();
  return {
    op: "topLogits",
    dtype,
    input: "integers",
    want: { ids: { values, budget: exact } },
    run: (backend) => ({ ids: topLogits(logits, K, { shape: [N, V], dtype, backend }) }),
  };
}

export default function divergenceCases(reduced: boolean): Case[] {
  const dtypes = reduced ? (["float32", "float64"] as const) : DTYPES;
  const V = reduced ? 41 : 300;
  const pairs = Object.entries(INPUTS).flatMap(([input, sides]) =>
    dtypes.flatMap((dtype) => [0, 0.5, 1].flatMap((beta) => caseOf(input, sides, dtype, V, beta))),
  );
  return [...pairs, ...dtypes.map((dtype) => topCase(dtype, V))];
}
