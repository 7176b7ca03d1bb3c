// A vocabulary cut into shards, and its log-probs forward and backward. The program travels to workers and processes as text.
import * as surprisal from "../../lib";
import { rng } from "../support/rng";
import type { Collective } from "../../lib";

export const N = 5;
export const V = 70;
const BLOCK = 8;

export interface Shard {
  readonly backend: surprisal.BackendChoice;
  readonly logits: Float32Array | Uint16Array;
  readonly dtype: "float32" | "bfloat16";
  readonly columns: number;
  readonly stride: number;
  readonly targets: Int32Array;
  readonly gradLogProbs: Float32Array;
  readonly gradEntropies: Float32Array;
  readonly block: number;
}

/** Also where rows are padded: the stride is two more than the columns. */
export function shardsOf(
  seed: number,
  dtype: Shard["dtype"],
  backend: surprisal.BackendChoice,
  cuts: readonly number[],
  block = BLOCK,
): Shard[] {
  const r = rng(seed);
  const whole = r.normal(N * V, 0, 4);
  whole[3] = -Infinity;
  const targets = r.i32(2 * N, 0, V);
  targets.fill(-100, 4, 6); // row 2 is ignored
  const gradients = { gradLogProbs: r.normal(2 * N), gradEntropies: r.normal(N) };
  return cuts.slice(1).map((end, i) => {
    const begin = cuts[i]!;
    const columns = end - begin;
    const stride = columns + 2;
    const floats = new Float32Array(N * stride).fill(NaN);
    for (let n = 0; n < N; ++n) floats.set(whole.subarray(n * V + begin, n * V + end), n * stride);
    const logits = dtype === "float32" ? floats : surprisal.toHalfBits(floats, dtype);
    return { backend, logits, dtype, columns, stride, targets, block, ...gradients };
  });
}

export function forwardAndBackward(collective: Collective, s: typeof surprisal, p: Shard) {
  const options = {
    shape: [p.targets.length / 2, p.columns] as const,
    stride: p.stride,
    dtype: p.dtype,
    temperature: 0.8,
    ignoreIndex: -100,
    backend: p.backend,
  };
  const { vocabStart, vocabSize, ...result } = s.logprobTogether(p.logits, p.targets, {
    ...options,
    collective,
    block: p.block,
  });
  const { gradLogProbs, gradEntropies } = p;
  const gradient = s.logprobBackward(p.logits, p.targets, result, {
    ...options,
    vocabStart,
    vocabSize,
    gradLogProbs,
    gradEntropies,
  });
  const rows = Array.from({ length: p.targets.length / 2 }, (_, n) =>
    Array.from(gradient.subarray(n * p.stride, n * p.stride + p.columns)),
  );
  return { result, rows, vocabStart, vocabSize };
}
