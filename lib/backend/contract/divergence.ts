// Generated from native/include/surprisal/divergence.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, WideLogitArray } from "../../core/dtype";

/** srp_outside: a word's place is its number. */
export const OUTSIDES = ["dropped", "pooled"] as const;
export type Outside = (typeof OUTSIDES)[number];

/** srp_divergence_rows_args. */
export interface DivergenceRowsArgs {
  /** float32, float16, bfloat16 or float64: of student, teacher and gradStudent. */
  readonly dtype: DTypeCode;
  /** [N, studentStride]. */
  readonly student: WideLogitArray;
  /** [N, teacherStride]. */
  readonly teacher: WideLogitArray;
  /** [N] or null. */
  readonly mask: Uint8Array | null;
  /** [N] or null = 1; read with gradStudent. */
  readonly gradDivergences: Float64Array | null;
  /** [N, K] or null = the whole vocabulary, with K 0. */
  readonly support: Int32Array | null;
  /** independent rows. */
  readonly N: number;
  readonly V: number;
  readonly studentStride: number;
  readonly teacherStride: number;
  readonly K: number;
  readonly beta: number;
  readonly temperature: number;
  /** srp_outside; 0 without a support. */
  readonly outside: number;
  readonly tailFloor: number;
  /** [N] or null. */
  readonly divergences: Float64Array | null;
  /** [N, studentStride] or null, not both. Without a support it may be the memory of student. */
  readonly gradStudent: WideLogitArray | null;
}

/** srp_divergence_top_args. */
export interface DivergenceTopArgs {
  /** float32, float16, bfloat16 or float64: of logits. */
  readonly dtype: DTypeCode;
  /** [N, stride]. */
  readonly logits: WideLogitArray;
  /** [N] or null: ids of a row with mask 0 are 0. */
  readonly mask: Uint8Array | null;
  /** independent rows. */
  readonly N: number;
  /** K <= V. */
  readonly V: number;
  /** K <= V. */
  readonly stride: number;
  /** K <= V. */
  readonly K: number;
  /** [N, K]. */
  readonly ids: Int32Array;
}

export interface DivergenceOps {
  divergenceRows(args: DivergenceRowsArgs): void;
  divergenceTop(args: DivergenceTopArgs): void;
}
