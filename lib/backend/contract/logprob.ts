// Generated from native/include/surprisal/logprob.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, LogitArray } from "../../core/dtype";

/** Numbers of a state in front of its target logits: (max_logits, S', W, sum of squares). */
export const STATE_SUMS = 4;

/** S' in the state of an ignored row. */
export const STATE_IGNORED = -1;

/** srp_logprob_forward_args. */
export interface LogprobForwardArgs {
  /** float32, float16 or bfloat16: of logits. */
  readonly dtype: DTypeCode;
  /** [N, stride]. */
  readonly logits: LogitArray;
  /** [N, K] or null with K 0. */
  readonly targets: Int32Array | null;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  /** independent rows. */
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  readonly K: number;
  /** > 0. */
  readonly temperature: number;
  /** > 0. */
  readonly scale: number;
  /** > 0, or 0 = none. */
  readonly softcap: number;
  /** [N, K] or null. */
  readonly logProbs: Float32Array | null;
  /** [N] or null. */
  readonly entropies: Float32Array | null;
  /** [N] or null. */
  readonly logSumExps: Float32Array | null;
  /** [N] or null. */
  readonly maxLogits: Float32Array | null;
  /** [N] or null. */
  readonly log1pSums: Float32Array | null;
  /** [N] or null. */
  readonly meanGaps: Float32Array | null;
  /** [N] or null. */
  readonly sumSquares: Float32Array | null;
}

/** srp_logprob_backward_args. */
export interface LogprobBackwardArgs {
  /** float32, float16 or bfloat16: of logits and gradLogits. */
  readonly dtype: DTypeCode;
  /** [N, stride]. */
  readonly logits: LogitArray;
  /** [N, K] or null without gradLogProbs; ids of the whole vocabulary. */
  readonly targets: Int32Array | null;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  /** [N]. */
  readonly maxLogits: Float32Array;
  /** [N]. */
  readonly log1pSums: Float32Array;
  /** [N] or null without gradEntropies. */
  readonly meanGaps: Float32Array | null;
  /** [N, K] or null. */
  readonly gradLogProbs: Float32Array | null;
  /** [N] or null. */
  readonly gradEntropies: Float32Array | null;
  /** independent rows. */
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  readonly K: number;
  /** 0 and V for the whole vocabulary. */
  readonly vocabStart: number;
  /** 0 and V for the whole vocabulary. */
  readonly vocabSize: number;
  readonly temperature: number;
  readonly scale: number;
  readonly softcap: number;
  /** [N, stride], may be the memory of logits. */
  readonly gradLogits: LogitArray;
}

/** srp_logprob_partial_args. */
export interface LogprobPartialArgs {
  /** float32, float16 or bfloat16: of logits. */
  readonly dtype: DTypeCode;
  /** [N, stride] of this shard. */
  readonly logits: LogitArray;
  /** [N, K] or null with K 0; ids of the whole vocabulary. */
  readonly targets: Int32Array | null;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  /** independent rows. */
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  readonly K: number;
  readonly vocabStart: number;
  readonly vocabSize: number;
  readonly temperature: number;
  readonly scale: number;
  readonly softcap: number;
  /** [N, SRP_STATE_SUMS + K]. */
  readonly states: Float64Array;
}

/** srp_logprob_merge_args. */
export interface LogprobMergeArgs {
  /** [P, N, SRP_STATE_SUMS + K]. */
  readonly states: Float64Array;
  readonly P: number;
  readonly N: number;
  readonly K: number;
  readonly temperature: number;
  readonly scale: number;
  readonly softcap: number;
  /** [N, K] or null. */
  readonly logProbs: Float32Array | null;
  /** [N] or null. */
  readonly entropies: Float32Array | null;
  /** [N] or null. */
  readonly logSumExps: Float32Array | null;
  /** [N] or null. */
  readonly maxLogits: Float32Array | null;
  /** [N] or null. */
  readonly log1pSums: Float32Array | null;
  /** [N] or null. */
  readonly meanGaps: Float32Array | null;
  /** [N] or null. */
  readonly sumSquares: Float32Array | null;
}

/** srp_logprob_kept_forward_args. */
export interface LogprobKeptForwardArgs {
  /** float32, float16 or bfloat16: of logits. */
  readonly dtype: DTypeCode;
  /** [N, stride]. */
  readonly logits: LogitArray;
  /** [N]. */
  readonly targets: Int32Array;
  /** [K]. */
  readonly ids: Int32Array;
  /** [N + 1]. */
  readonly offsets: Int32Array;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  readonly K: number;
  readonly temperature: number;
  readonly scale: number;
  readonly softcap: number;
  /** [N] or null. */
  readonly logProbs: Float32Array | null;
  /** [N] or null. */
  readonly maxLogits: Float32Array | null;
  /** [N] or null. */
  readonly log1pSums: Float32Array | null;
}

/** srp_logprob_kept_backward_args. */
export interface LogprobKeptBackwardArgs {
  /** float32, float16 or bfloat16: of logits and gradLogits. */
  readonly dtype: DTypeCode;
  /** [N, stride]. */
  readonly logits: LogitArray;
  /** [N]. */
  readonly targets: Int32Array;
  /** [K]. */
  readonly ids: Int32Array;
  /** [N + 1]. */
  readonly offsets: Int32Array;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  /** [N]. */
  readonly keptMaxLogits: Float32Array;
  /** [N]. */
  readonly keptLog1pSums: Float32Array;
  /** [N] or null without gradEntropies. */
  readonly maxLogits: Float32Array | null;
  /** [N] or null without gradEntropies. */
  readonly log1pSums: Float32Array | null;
  /** [N] or null without gradEntropies. */
  readonly meanGaps: Float32Array | null;
  /** [N]. */
  readonly gradLogProbs: Float32Array;
  /** [N] or null. */
  readonly gradEntropies: Float32Array | null;
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  readonly K: number;
  readonly temperature: number;
  readonly scale: number;
  readonly softcap: number;
  /** [N, stride], may be the memory of logits. */
  readonly gradLogits: LogitArray;
}

export interface LogprobOps {
  logprobForward(args: LogprobForwardArgs): void;
  logprobBackward(args: LogprobBackwardArgs): void;
  logprobPartial(args: LogprobPartialArgs): void;
  logprobMerge(args: LogprobMergeArgs): void;
  logprobKeptForward(args: LogprobKeptForwardArgs): void;
  logprobKeptBackward(args: LogprobKeptBackwardArgs): void;
}
