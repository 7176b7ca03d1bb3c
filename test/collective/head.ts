// A linear head cut into shards of its ids, forward and backward. The program travels to workers and processes as text.
import * as surprisal from "../../lib";
import type { Collective, HeadDType } from "../../lib";
import { rng } from "../support/rng";

const ROWS = 6;
const DIM = 9;
export const IDS = 70;

type View = Float32Array | Float64Array | Uint16Array;

export interface HeadShard {
  readonly backend: surprisal.BackendChoice;
  readonly dtype: HeadDType;
  readonly hidden: View;
  readonly weight: View;
  readonly bias: View;
  readonly ids: number;
  readonly targets: Int32Array;
  readonly mask: Uint8Array;
  readonly map: { readonly temperature?: number; readonly scale?: number; readonly softcap?: number };
  readonly gradLogProbs: Float64Array;
  readonly gradEntropies: Float64Array;
}

/** Row 1 is nearly certain, row 3 left out by the mask, row 4 by its target. Id 5 is masked. Each shard has one row of padding. */
export function headShards(
  seed: number,
  dtype: HeadDType,
  backend: surprisal.BackendChoice,
  cuts: readonly number[],
  map: HeadShard["map"] = {},
): HeadShard[] {
  const r = rng(seed);
  const stored = (values: Float32Array): View => {
    if (dtype === "float64") return Float64Array.from(values);
    return dtype === "float32" ? values : surprisal.toHalfBits(values, dtype);
  };
  const hidden = r.normal(ROWS * DIM);
  const weight = r.normal(IDS * DIM);
  const bias = r.normal(IDS);
  for (let d = 0; d < DIM; ++d) hidden[DIM + d] = 3 * weight[20 * DIM + d]!;
  bias[5] = -Infinity;
  const targets = r.i32(ROWS, 6, IDS);
  targets[1] = 20;
  targets[4] = -100;
  const same = {
    backend,
    dtype,
    hidden: stored(hidden),
    targets,
    mask: Uint8Array.of(1, 1, 1, 0, 1, 1),
    map,
    gradLogProbs: Float64Array.from(r.normal(ROWS)),
    gradEntropies: Float64Array.from(r.normal(ROWS)),
  };
  return cuts.slice(1).map((end, i) => {
    const begin = cuts[i]!;
    const ids = end - begin;
    const padded = (values: Float32Array, width: number): View => {
      const own = new Float32Array((ids + 1) * width).fill(NaN);
      own.set(values.subarray(begin * width, end * width));
      return stored(own);
    };
    return { ...same, ids, weight: padded(weight, DIM), bias: padded(bias, 1) };
  });
}

/** With a collective together, without one alone. */
export function headForwardAndBackward(collective: Collective | undefined, s: typeof surprisal, p: HeadShard) {
  const { hidden, weight, targets, dtype, bias, mask, map, backend, ids: vocab, gradLogProbs, gradEntropies } = p;
  const shape = [targets.length, hidden.length / targets.length] as const;
  const options = { shape, dtype, bias, mask, ignoreIndex: -100, vocab, backend, ...map };
  const wanted = { gradLogProbs, gradEntropies };
  if (!collective) {
    const result = s.linearLogprob(hidden, weight, targets, options);
    const gradients = s.linearLogprobBackward(hidden, weight, targets, result, { ...options, ...wanted });
    return { result, gradients, vocabStart: 0, vocabSize: vocab };
  }
  const { vocabStart, vocabSize, ...result } = s.linearLogprobTogether(hidden, weight, targets, {
    ...options,
    collective,
  });
  const state = { ...result, vocabStart, vocabSize };
  const gradients = s.linearLogprobBackwardTogether(hidden, weight, targets, state, {
    ...options,
    ...wanted,
    collective,
  });
  return { result, gradients, vocabStart, vocabSize };
}

export type HeadAnswer = ReturnType<typeof headForwardAndBackward>;

/** The gradients of all ids as one head has them: without each shard's padding. */
export function joinedHead(answers: readonly HeadAnswer[], shards: readonly HeadShard[]) {
  const part = (values: ArrayLike<number>, ids: number, width: number): number[] =>
    Array.from(values).slice(0, ids * width);
  return {
    gradWeight: answers.flatMap(({ gradients }, r) => part(gradients.gradWeight!, shards[r]!.ids, DIM)),
    gradBias: answers.flatMap(({ gradients }, r) => part(gradients.gradBias!, shards[r]!.ids, 1)),
  };
}
