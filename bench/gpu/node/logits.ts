// Logits: forward, backward, and a policy loss from the logits to their gradient.
import type { Budget } from "../../accuracy/measure";
import { roundingOf } from "../../accuracy/budgets";
import { readLossParameters, LOSS_FORM } from "../../../lib/backend/contract/loss";
import { fromHalfBits } from "../../../lib/core/half";
import { NO_KL } from "../../../lib/ops/loss/loss-inputs";
import { type LogitDType, logitRows, ROW_KINDS, type RowKind } from "../../cases/logit-rows";
import { LOGIT_BYTES } from "../../cases/logprob-forward";
import { MILLIONTH } from "../../harness/check";
import { LOGITS, type Shape } from "../../shapes";
import { rng } from "../../../test/support/rng";
import { type DeviceCase, type DeviceOutput, type Outputs, type Prepared, twice } from "./case";
import { codeOf } from "./memory";

const MAP = { temperature: 1, scale: 1, softcap: 0 } as const;

/** On peaky rows all of H hangs on competitors 24 nats below the maximum: the header promises 2e-6 of such. */
function relative(kind: RowKind): Budget {
  return twice(
    kind === "peaky" ? { says: "2e-6·|x| + 1e-12", allowed: (want) => 2e-6 * Math.abs(want) + 1e-12 } : MILLIONTH,
  );
}

function perRow(rows: number, kind: RowKind): DeviceOutput {
  return { dtype: "float32", length: rows, budget: () => relative(kind) };
}

/** Of a row's largest gradient, made larger by what the float32 log-prob moves the slope, and rounded on both sides. */
function gradientBudget(
  rows: number,
  vocab: number,
  dtype: LogitDType,
  grad: string,
  factors: (cpu: Outputs) => (row: number) => number,
) {
  return (cpu: Outputs): Budget => {
    const memory = cpu[grad] as Float32Array | Uint16Array;
    const factor = factors(cpu);
    const largest = Float64Array.from({ length: rows }, (_, n) => {
      const row = memory.subarray(n * vocab, (n + 1) * vocab);
      let most = 0;
      for (const value of dtype === "float32" ? row : fromHalfBits(row, "bfloat16"))
        most = Math.max(most, Math.abs(value));
      return most * factor(n);
    });
    return twice({
      says: "2e-6 of the row's largest, rounded",
      allowed: (want, i) => {
        const before = 2e-6 * largest[Math.floor(i / vocab)]! + 1e-38;
        return before + roundingOf(dtype, Math.abs(want) + before);
      },
    });
  };
}

interface Logits {
  readonly shape: Shape;
  readonly dtype: LogitDType;
  readonly kind: RowKind;
  /** Rows in host memory; the device has `times` as many. */
  readonly rows: number;
  readonly vocab: number;
  readonly times: number;
}

function common({ rows, vocab, times, dtype }: Logits): Pick<Prepared, "numbers" | "repeat"> {
  return {
    numbers: { dtype: codeOf({ dtype }), N: rows, V: vocab, stride: vocab, ...MAP },
    ...(times > 1 && { repeat: { times, count: "N" } }),
  };
}

function forward(where: Logits): DeviceCase {
  const { shape, dtype, kind, rows, vocab, times } = where;
  return {
    kernel: "logprob",
    op: "logprob",
    call: "logprobForward",
    dtype,
    rowKind: kind,
    shape,
    least: { bytes: times * rows * (LOGIT_BYTES[dtype] * vocab + 4 + 12), formula: "s V N + 4 K N + 4 N outputs" },
    prepare: () => {
      const { logits, targets } = logitRows(rows, vocab, dtype, kind);
      const { numbers, ...rest } = common(where);
      // ln Σ exp z at 10 nats and more: both round it to float32.
      const logSumExps: DeviceOutput = {
        ...perRow(rows, kind),
        budget: () => twice({ says: "1e-6·|x| + 1e-6", allowed: (want) => 1e-6 * Math.abs(want) + 1e-6 }),
      };
      return {
        numbers: { ...numbers, K: 1 },
        inputs: { logits, targets },
        outputs: { logProbs: perRow(rows, kind), entropies: perRow(rows, kind), logSumExps },
        ...rest,
      };
    },
  };
}

/** The state that a forward pass leaves, from the definition of a few rows that repeat. */
function stateOf(stored: readonly (Float32Array | Uint16Array)[], dtype: LogitDType, rows: number) {
  const each = stored.map((row) => {
    const values = dtype === "float32" ? (row as Float32Array) : fromHalfBits(row, "bfloat16");
    let [max, at] = [-Infinity, 0];
    values.forEach((x, i) => {
      if (x > max) [max, at] = [x, i];
    });
    let rest = 0;
    values.forEach((x, i) => {
      if (i !== at) rest += Math.exp(x - max);
    });
    return { max, log1p: Math.log1p(rest) };
  });
  const spread = (pick: (one: (typeof each)[number]) => number) =>
    Float32Array.from({ length: rows }, (_, n) => pick(each[n % each.length]!));
  return { maxLogits: spread(({ max }) => max), log1pSums: spread(({ log1p }) => log1p) };
}

function backward(where: Logits): DeviceCase {
  const { shape, dtype, kind, rows, vocab, times } = where;
  return {
    kernel: "logprob",
    op: "logprobBackward",
    call: "logprobBackward",
    dtype,
    rowKind: kind,
    shape,
    least: {
      bytes: times * rows * (2 * LOGIT_BYTES[dtype] * vocab + 16),
      formula: "2 s stride N + 4 K N + 4 N inputs",
    },
    prepare: () => {
      const { logits, targets, stored } = logitRows(rows, vocab, dtype, kind);
      const gradLogProbs = rng(7).f32(rows, -1, 1);
      const { numbers, ...rest } = common(where);
      return {
        numbers: { ...numbers, K: 1, vocabStart: 0, vocabSize: vocab },
        inputs: { logits, targets, ...stateOf(stored, dtype, rows), gradLogProbs },
        outputs: {
          gradLogits: {
            dtype,
            length: rows * vocab,
            budget: gradientBudget(rows, vocab, dtype, "gradLogits", () => () => 1),
          },
        },
        ...rest,
      };
    },
  };
}

const CLIP = {
  form: LOSS_FORM.clip,
  parameters: { ...readLossParameters({}, () => undefined), clipLow: 0.2, clipHigh: 0.28 },
  kl: NO_KL.parameters,
};

function fused(where: Logits): DeviceCase {
  const { shape, dtype, kind, rows, vocab, times } = where;
  return {
    kernel: "loss",
    op: "policyLossFromLogits",
    call: "lossLogits",
    dtype,
    rowKind: kind,
    shape,
    least: {
      bytes: times * rows * (2 * LOGIT_BYTES[dtype] * vocab + 4 + 16 + 4),
      formula: "2 s stride N + 4 N + 8 N inputs + 4 N outputs",
    },
    prepare: () => {
      const { logits, targets, stored, period } = logitRows(rows, vocab, dtype, kind);
      const { maxLogits, log1pSums } = stateOf(stored, dtype, period);
      const draw = rng(8);
      const now = Float64Array.from({ length: period }, (_, n) => {
        const [row, target] = [stored[n]!, targets[n]!];
        const x = dtype === "float32" ? row[target]! : fromHalfBits(row.subarray(target, target + 1), "bfloat16")[0]!;
        return x - maxLogits[n]! - log1pSums[n]!;
      });
      // Some ratios are outside of the clip range.
      const oldLogProbs = Float64Array.from(
        { length: rows },
        (_, n) => now[n % period]! + 0.6 * (draw.uniform() - 0.5),
      );
      const advantages = Float64Array.from({ length: rows }, () => 2 * draw.uniform() - 1);
      const { numbers, ...rest } = common(where);
      const moves = (cpu: Outputs) => (row: number) => 1 + Math.abs((cpu["logProbs"] as Float32Array)[row]!);
      return {
        numbers: { ...numbers, ...CLIP },
        inputs: { logits, targets, oldLogProbs, advantages },
        outputs: {
          logProbs: perRow(rows, kind),
          gradLogits: { dtype, length: rows * vocab, budget: gradientBudget(rows, vocab, dtype, "gradLogits", moves) },
        },
        ...rest,
      };
    },
  };
}

/** A shape of training; of its rows `held` at most are in host memory. */
function layout(
  name: string,
  rows: number,
  vocab: number,
  held = rows,
): Pick<Logits, "shape" | "rows" | "vocab" | "times"> {
  return {
    shape: { name, sizes: [rows, vocab] },
    rows: Math.min(rows, held),
    vocab,
    times: Math.max(1, Math.floor(rows / held)),
  };
}

const of = ({ name, sizes }: { readonly name: string; readonly sizes: readonly [number, number] }, held?: number) =>
  layout(name, sizes[0], sizes[1], held);

export function logitCases(tiny: boolean): DeviceCase[] {
  const { qwen, llama2, small, oneToken, fewTokens } = LOGITS;
  const shapes = tiny
    ? [layout("tiny", 8, 1000), layout("tiny", 4, 3000, 2)]
    : [
        layout(qwen.name, 2048, qwen.sizes[1], 512),
        of(qwen),
        of(llama2),
        of(small),
        layout("1024 columns", 65_536, 1024),
        of(fewTokens),
        of(oneToken),
      ];
  const kindsOf = (index: number): readonly RowKind[] => (index === 0 ? ROW_KINDS : ["normal"]);
  return (["bfloat16", "float32"] as const).flatMap((dtype) => [
    ...shapes.flatMap((shape, i) => kindsOf(i).map((kind) => forward({ ...shape, dtype, kind }))),
    ...shapes.map((shape) => backward({ ...shape, dtype, kind: "normal" })),
    ...shapes.map((shape) => fused({ ...shape, dtype, kind: "normal" })),
  ]);
}
