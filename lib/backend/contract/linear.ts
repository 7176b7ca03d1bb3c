// Generated from native/include/surprisal/linear.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray, WideLogitArray } from "../../core/dtype";

/** srp_linear_sums: a word's place is its number. */
export const LINEAR_SUMS = ["float32", "float64", "bfloat16x3"] as const;
export type LinearSums = (typeof LINEAR_SUMS)[number];

/** srp_linear_forward_args. */
export interface LinearForwardArgs {
  /** float32, float16, bfloat16 or float64: of hidden, weight and bias. */
  readonly dtype: DTypeCode;
  /** [N, D]. */
  readonly hidden: WideLogitArray;
  /** [padded, D]. */
  readonly weight: WideLogitArray;
  /** [padded] or null. */
  readonly bias: WideLogitArray | null;
  /** [N] or null without logProbs. */
  readonly targets: Int32Array | null;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  readonly N: number;
  readonly D: number;
  readonly V: number;
  readonly padded: number;
  /** rows; 0 = the backend's own. */
  readonly chunkRows: number;
  /** srp_linear_sums. */
  readonly sums: number;
  readonly temperature: number;
  readonly scale: number;
  readonly softcap: number;
  /** wide [N] or null. */
  readonly logProbs: FloatArray | null;
  /** wide [N] or null. */
  readonly entropies: FloatArray | null;
  /** wide [N] or null. */
  readonly logSumExps: FloatArray | null;
  /** wide [N] or null. */
  readonly sumSquares: FloatArray | null;
  /** [N] or null. */
  readonly maxLogits: Float64Array | null;
  /** [N] or null. */
  readonly log1pSums: Float64Array | null;
  /** [N] or null. */
  readonly meanGaps: Float64Array | null;
}

/** srp_linear_backward_args. */
export interface LinearBackwardArgs {
  /** float32, float16, bfloat16 or float64: of hidden, weight, bias and gradHidden. */
  readonly dtype: DTypeCode;
  /** [N, D]. */
  readonly hidden: WideLogitArray;
  /** [padded, D]. */
  readonly weight: WideLogitArray;
  /** [padded] or null. */
  readonly bias: WideLogitArray | null;
  /** [N] or null without gradLogProbs; ids of the whole vocabulary. */
  readonly targets: Int32Array | null;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  /** [N]. */
  readonly maxLogits: Float64Array;
  /** [N]. */
  readonly log1pSums: Float64Array;
  /** [N] or null without gradEntropies. */
  readonly meanGaps: Float64Array | null;
  /** wide [N] or null. */
  readonly gradLogProbs: FloatArray | null;
  /** wide [N] or null. */
  readonly gradEntropies: FloatArray | null;
  readonly N: number;
  readonly D: number;
  readonly V: number;
  readonly padded: number;
  readonly chunkRows: number;
  /** 0 and V for the whole vocabulary. */
  readonly vocabStart: number;
  /** 0 and V for the whole vocabulary. */
  readonly vocabSize: number;
  /** srp_linear_sums, as forward had them. */
  readonly sums: number;
  readonly temperature: number;
  readonly scale: number;
  readonly softcap: number;
  /** 1: gradWeight and gradBias are added to. */
  readonly accumulate: number;
  /** [N, D] or null. */
  readonly gradHidden: WideLogitArray | null;
  /** wide [padded, D] or null. */
  readonly gradWeight: FloatArray | null;
  /** wide [padded] or null. */
  readonly gradBias: FloatArray | null;
}

export interface LinearOps {
  linearForward(args: LinearForwardArgs): void;
  linearBackward(args: LinearBackwardArgs): void;
}
