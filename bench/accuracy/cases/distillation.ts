// Distillation on the ids that a teacher sent: values of rows and derivatives to the student's log-probs, forward, mixed and reverse.
import { supportDistillation, topKDistillation } from "../../../lib";
import { rowOracle } from "../../../test/oracle/logprob";
import { rng } from "../../../test/support/rng";
import { float64Sum } from "../budgets";
import { floats, sumOf, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Budget, Case } from "../measure";

const [N, K] = [6, 8];
const SPREADS: Readonly<Record<string, number>> = { near: 1e-3, random: 1, "far, 30 nats": 30 };

/** Log-probs of K ids that leave a tenth to the others. */
function teacher(seed: number): Float64Array {
  const x = rng(seed).normal(N * K, 0, 1.5);
  return Float64Array.from(x, (value, i) => {
    const row = Array.from(x.subarray(i - (i % K), i - (i % K) + K));
    return value - Math.log(sumOf(row.map(Math.exp))) + Math.log(0.9);
  });
}

/** Terms of a row by the definition: (1 − β) q (ln q − ln p) + β p (ln p − ln q), and their slopes to ln p. */
function defined(s: number, t: number, beta: number): readonly [term: number, slope: number] {
  const [p, q] = [Math.exp(s), Math.exp(t)];
  return [(1 - beta) * q * (t - s) + beta * p * (s - t), beta * p * (s - t + 1) - (1 - beta) * q];
}

function supportCase(input: string, dtype: WideFloat, beta: number): Case {
  const t = floats(dtype, teacher(61));
  const moved = rng(62).f64(N * K, -1, 0);
  const s = floats(
    dtype,
    Array.from(t, (x, i) => x + SPREADS[input]! * moved[i]!),
  );
  const terms = Array.from(s, (x, i) => defined(x, t[i]!, beta));
  const rows = Array.from({ length: N }, (_, n) => terms.slice(n * K, (n + 1) * K).map(([term]) => term));
  const weight = 1 / N;
  return {
    op: "supportDistillation",
    dtype,
    input: `${input}, beta ${beta}`,
    want: {
      values: {
        values: rows.map(sumOf),
        // Each term is a difference of log-probs times a probability: its parts, not the difference, bound what is lost.
        budget: float64Sum("float64", K, (_, n) => sumOf(rows[n]!.map((_, k) => sizeOf(s[n * K + k]!, t[n * K + k]!)))),
      },
      gradLogProbs: {
        values: terms.map(([, slope]) => weight * slope),
        budget: float64Sum(dtype, 1, (want, i) => Math.abs(want) + weight * sizeOf(s[i]!, t[i]!)),
      },
    },
    // In host memory, whatever the backend.
    run: () => {
      const { values, gradLogProbs } = supportDistillation(s, t, { shape: [N, K], beta });
      return { values, gradLogProbs };
    },
  };
}

const sizeOf = (s: number, t: number): number => (1 + Math.abs(s) + Math.abs(t)) * (Math.exp(s) + Math.exp(t));

function logitCase(input: string, beta: number, V: number): Case {
  const logits = rng(63).normal(N * V, 0, input === "peaked" ? 6 : 2);
  const ids = Int32Array.from({ length: N * K }, (_, i) => (Math.floor(i / K) + 5 * (i % K)) % V);
  const t = teacher(64);
  const oracles = Array.from({ length: N }, (_, n) =>
    rowOracle(Float64Array.from(logits.subarray(n * V, (n + 1) * V)), {}),
  );
  const terms = Array.from(ids, (id, i) => defined(oracles[Math.floor(i / K)]!.logprob(id), t[i]!, beta));
  const values = oracles.map((_, n) => sumOf(terms.slice(n * K, (n + 1) * K).map(([term]) => term)));
  // A log-prob is good to 1e-6 of itself, and moves its term with a slope of at most this.
  const slack = oracles.map((row, n) =>
    sumOf(
      Array.from(ids.subarray(n * K, (n + 1) * K), (id, k) => {
        const s = row.logprob(id);
        return 1e-6 * (Math.abs(s) + 1) * sizeOf(s, t[n * K + k]!);
      }),
    ),
  );
  const budget: Budget = { says: "1e-6 of each log-prob, by its slope", allowed: (_, n) => slack[n]! };
  const gradients = oracles.map((row, n) =>
    row.gradient(
      Array.from(ids.subarray(n * K, (n + 1) * K), (id, k) => [id, terms[n * K + k]![1] / N] as const),
      0,
    ),
  );
  return {
    op: "topKDistillation",
    dtype: "float32",
    input: `${input}, beta ${beta}`,
    want: {
      values: { values, budget },
      gradStudentLogits: {
        values: gradients.flatMap((row) => Array.from(row)),
        budget: {
          says: "3e-6 of the row's slopes",
          allowed: (_, i) => {
            const n = Math.floor(i / V);
            return (slack[n]! + 3e-6 * sumOf(terms.slice(n * K, (n + 1) * K).map(([, slope]) => Math.abs(slope)))) / N;
          },
        },
      },
    },
    run: (backend) => {
      const got = topKDistillation(logits, { ids, logProbs: t }, { shape: [N, V], beta, backend });
      return { values: got.values, gradStudentLogits: got.gradStudentLogits };
    },
  };
}

export default function distillationCases(reduced: boolean): Case[] {
  const V = reduced ? 47 : 301;
  return [0, 0.3, 1].flatMap((beta) => [
    ...WIDE_FLOATS.flatMap((dtype) => Object.keys(SPREADS).map((input) => supportCase(input, dtype, beta))),
    ...["random", "peaked"].map((input) => logitCase(input, beta, V)),
  ]);
}
