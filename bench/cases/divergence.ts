// Divergence of a teacher's rows of logits from a student's, its gradient, and the likeliest ids.
import type { Budget } from "../accuracy/measure";
import { exact } from "../accuracy/budgets";
import type { Library } from "../harness/build";
import type { Case, Subject } from "../harness/case";
import type { Errors } from "../record";
import { errorOf } from "../harness/check";
import { LOGITS } from "../shapes";
import { type LogitBatch, logitBatch } from "./logit-rows";
import { poison } from "./poison";

/** Ids of a row. */
const TOP = 64;
const BETAS = { "KL(teacher ‖ student)": 0, "Jensen–Shannon": 0.5 } as const;

const VALUES: Budget = { says: "1e-11·D", allowed: (want) => 1e-11 * want };

interface Pair extends LogitBatch {
  readonly logits: Float32Array;
  readonly teacher: Float32Array;
}

/** The teacher's row is the student's next one. */
function pairOf(rows: number, vocab: number): Pair {
  const batch = logitBatch(rows, vocab, "float32", "normal");
  const logits = batch.logits as Float32Array;
  const teacher = new Float32Array(logits.length);
  const period = batch.period * vocab;
  for (let begin = 0; begin < teacher.length; begin += period) {
    const end = Math.min(begin + period, teacher.length);
    teacher.set(logits.subarray(begin + vocab, end), begin);
    teacher.set(logits.subarray(begin, begin + vocab), end - vocab);
  }
  return { ...batch, logits, teacher };
}

function softmax(x: Float32Array): Float64Array {
  const top = x.reduce((most, value) => Math.max(most, value), -Infinity);
  const e = Float64Array.from(x, (value) => Math.exp(value - top));
  let [sum, lost] = [0, 0];
  for (const term of e) {
    const next = sum + (term - lost);
    lost = next - sum - (term - lost);
    sum = next;
  }
  return e.map((value) => value / sum);
}

/** Divergence and gradient of the rows of one period. */
function definition({ period, vocab, logits, teacher }: Pair, beta: number) {
  const gradient = new Float64Array(period * vocab);
  const divergences = Float64Array.from({ length: period }, (_, n) => {
    const [S, T] = [logits, teacher].map((x) => softmax(x.subarray(n * vocab, (n + 1) * vocab))) as [
      Float64Array,
      Float64Array,
    ];
    const mixed = S.map((s, j) => (1 - beta) * s + beta * T[j]!);
    const value =
      beta === 0
        ? S.reduce((sum, s, j) => sum + T[j]! * Math.log(T[j]! / s) - T[j]! + s, 0)
        : S.reduce(
            (sum, s, j) => sum + beta * T[j]! * Math.log(T[j]! / mixed[j]!) + (1 - beta) * s * Math.log(s / mixed[j]!),
            0,
          );
    const slopes = S.map((s, j) => (beta === 0 ? s - T[j]! : (1 - beta) * s * Math.log(s / mixed[j]!)));
    const total = slopes.reduce((sum, slope) => sum + slope, 0);
    S.forEach((s, j) => (gradient[n * vocab + j] = slopes[j]! - s * total));
    return value;
  });
  return { divergences, gradient };
}

type Definition = ReturnType<typeof definition>;

function divergenceSubject(pair: Pair, beta: number, withGradient: boolean): Subject {
  const { rows, vocab, logits, teacher } = pair;
  let found: Definition | undefined;
  const wanted = (): Definition => (found ??= definition(pair, beta));
  const options = { shape: [rows, vocab] as const, beta, backend: "cpu" as const };
  const out = new Float32Array(withGradient ? logits.length : 0);
  const scratch = new Float32Array(out.length);
  const weights = new Float64Array(rows).fill(1);
  const values = new Float64Array(rows);
  const ours = (lib: Library) => ({
    name: withGradient ? "divergenceBackward" : "divergence",
    prepare: () => poison(withGradient ? out : values),
    run: withGradient
      ? () => void lib.divergenceBackward(logits, teacher, weights, { ...options, out })
      : () => void lib.divergence(logits, teacher, { ...options, out: values }),
    check: (): Errors => {
      const { divergences, gradient } = wanted();
      if (!withGradient) return { divergences: errorOf(values, { values: divergences, budget: VALUES }) };
      const largest = gradient.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      return {
        gradient: errorOf(out, {
          values: gradient,
          budget: { says: "1e-6 of the largest", allowed: () => 1e-6 * largest },
        }),
      };
    },
  });
  return {
    ours,
    roof: withGradient
      ? {
          kind: "read and copy",
          bytes: 12 * logits.length,
          run: (roof, threads) => {
            roof.read([teacher], threads);
            roof.copyStreamed(scratch, logits, threads);
          },
        }
      : { kind: "read", bytes: 8 * logits.length, run: (roof, threads) => roof.read([logits, teacher], threads) },
  };
}

function topSubject(batch: LogitBatch): Subject {
  const { rows, vocab, period } = batch;
  const logits = batch.logits as Float32Array;
  const likeliest = (n: number): number[] => {
    const row = logits.subarray(n * vocab, (n + 1) * vocab);
    return Array.from(row.keys()).sort((i, j) => row[j]! - row[i]! || i - j).slice(0, TOP).sort((i, j) => i - j); // oxfmt-ignore
  };
  return {
    ours: (lib) => {
      let ids: Int32Array = new Int32Array(0);
      return {
        name: "topLogits",
        run: () => void (ids = lib.topLogits(logits, TOP, { shape: [rows, vocab], backend: "cpu" })),
        check: () => ({
          ids: errorOf(ids, { values: Array.from({ length: period }, (_, n) => likeliest(n)).flat(), budget: exact }),
        }),
      };
    },
    roof: { kind: "read", bytes: logits.byteLength, run: (roof, threads) => roof.read([logits], threads) },
  };
}

export function divergenceCases(): Case[] {
  const shape = LOGITS.qwen;
  const [rows, vocab] = shape.sizes;
  const n = rows * vocab;
  const common = { kernel: "divergence", dtype: "float32", rowKind: "normal", shape, threads: 1 } as const;
  return [
    ...Object.entries(BETAS).map(([name, beta]) => ({
      ...common,
      op: `divergence, ${name}`,
      quick: beta === 0,
      least: { bytes: 8 * n, formula: "8·rows·vocab" },
      prepare: () => divergenceSubject(pairOf(rows, vocab), beta, false),
    })),
    {
      ...common,
      op: "divergenceBackward, KL(teacher ‖ student)",
      least: { bytes: 12 * n, formula: "12·rows·vocab (4 + 4 read, 4 written)" },
      prepare: () => divergenceSubject(pairOf(rows, vocab), 0, true),
    },
    {
      ...common,
      op: `topLogits, ${TOP} of a row`,
      least: { bytes: 4 * n + 4 * TOP * rows, formula: `4·rows·vocab + ${4 * TOP}·rows` },
      prepare: () => topSubject(logitBatch(rows, vocab, "float32", "normal")),
    },
  ];
}
