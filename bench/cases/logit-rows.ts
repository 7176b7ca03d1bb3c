// Rows of logits as policies have them. A few different rows repeat down the batch, so that every element of every row can
// be held against its definition without hours of float64; memory does not notice that it holds equal rows.
import { toBFloat16Bits } from "../../lib/core/half";
import { fromHalfBits } from "../../lib/core/half";
import { type RowOracle, rowOracle } from "../../test/oracle/logprob";
import { rng } from "../../test/support/rng";

/** What a row looks like. */
export const ROW_KINDS = ["normal", "peaky", "masked"] as const;
export type RowKind = (typeof ROW_KINDS)[number];

export type LogitDType = "float32" | "bfloat16";
export type LogitMemory = Float32Array | Uint16Array;

/** Different rows of a batch. */
const PERIOD = 16;

export interface LogitBatch {
  readonly rows: number;
  readonly vocab: number;
  readonly dtype: LogitDType;
  readonly logits: LogitMemory;
  /** [rows]; with the period of the rows. */
  readonly targets: Int32Array;
  readonly gradLogProbs: Float32Array;
  readonly gradEntropies: Float32Array;
  /** Of the first `period` rows; the others repeat them. */
  readonly oracles: readonly RowOracle[];
  readonly period: number;
}

function drawRow(kind: RowKind, vocab: number, seed: number): { values: Float32Array; target: number } {
  const draw = rng(seed);
  const values = draw.normal(vocab, 0, kind === "peaky" ? 1 : 2.5);
  let target = Math.floor(draw.uniform() * vocab);
  if (kind === "peaky") {
    const top = Math.floor(draw.uniform() * vocab);
    values[top] = 24 + 2 * draw.uniform();
    if (seed % 2 === 0) target = top;
  }
  if (kind === "masked")
    for (let j = 0; j < vocab; ++j) if (j !== target && draw.uniform() < 0.9) values[j] = -Infinity;
  return { values, target };
}

/** Fills an array from its first elements. */
function repeat(array: LogitMemory | Int32Array, filled: number): void {
  for (let have = filled; have < array.length; have *= 2)
    array.copyWithin(have, 0, Math.min(have, array.length - have));
}

function periodic(length: number, period: number, draw: () => number): Float32Array {
  const first = Float32Array.from({ length: period }, draw);
  return Float32Array.from({ length }, (_, n) => first[n % period]!);
}

/** Logits with their targets, and the stored bits of the rows that repeat. */
export function logitRows(rows: number, vocab: number, dtype: LogitDType, kind: RowKind) {
  const period = Math.min(PERIOD, rows);
  const logits = dtype === "float32" ? new Float32Array(rows * vocab) : new Uint16Array(rows * vocab);
  const targets = new Int32Array(rows);
  const stored = Array.from({ length: period }, (_, n) => {
    const { values, target } = drawRow(kind, vocab, 1000 + n);
    targets[n] = target;
    const row = dtype === "float32" ? values : Uint16Array.from(values, toBFloat16Bits);
    logits.set(row, n * vocab);
    return row;
  });
  repeat(logits, period * vocab);
  repeat(targets, period);
  return { logits, targets, period, stored };
}

export function logitBatch(rows: number, vocab: number, dtype: LogitDType, kind: RowKind): LogitBatch {
  const { logits, targets, period, stored } = logitRows(rows, vocab, dtype, kind);
  const oracles = stored.map((row) =>
    rowOracle(Float64Array.from(dtype === "float32" ? row : fromHalfBits(row, "bfloat16")), {}),
  );
  const draw = rng(7);
  const gradLogProbs = periodic(rows, period, () => 2 * draw.uniform() - 1);
  const gradEntropies = periodic(rows, period, () => -0.01 * (1 + draw.uniform()));
  return { rows, vocab, dtype, logits, targets, gradLogProbs, gradEntropies, oracles, period };
}

export interface ForwardWanted {
  readonly logProbs: readonly number[];
  readonly entropies: readonly number[];
}

export function forwardWanted({ oracles, targets }: LogitBatch): ForwardWanted {
  return {
    logProbs: oracles.map((row, n) => row.logprob(targets[n]!)),
    entropies: oracles.map(({ entropy }) => entropy),
  };
}

/** The gradient of the first `period` rows, and each row's largest. */
export function gradientWanted(batch: LogitBatch): {
  readonly gradient: Float64Array;
  readonly largest: readonly number[];
} {
  const { oracles, vocab, targets, gradLogProbs, gradEntropies } = batch;
  const gradient = new Float64Array(oracles.length * vocab);
  const largest = oracles.map((row, n) => {
    const values = row.gradient([[targets[n]!, gradLogProbs[n]!]], gradEntropies[n]!);
    gradient.set(values, n * vocab);
    return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  });
  return { gradient, largest };
}
