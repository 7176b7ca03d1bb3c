// The divergence ops as backends take them: native/include/surprisal/divergence.h, names in camelCase.
import type { DTypeCode } from "../../core/dtype";
import type { LogitArray } from "./logprob";

/** Logits in memory: numbers, or the bits of a half type. */
export type WideLogitArray = LogitArray | Float64Array;

/** What becomes of the ids outside a support; the index is the number of the native interface. */
export const OUTSIDE = ["dropped", "pooled"] as const;
export type Outside = (typeof OUTSIDE)[number];

export interface DivergenceRowsArgs {
  readonly dtype: DTypeCode;
  /** [N, studentStride], of which the first V columns count. */
  readonly student: WideLogitArray;
  /** [N, teacherStride]. */
  readonly teacher: WideLogitArray;
  /** [N]; 0 = not read. */
  readonly keep: Uint8Array | null;
  /** [N]; dL/dD. */
  readonly weight: Float64Array | null;
  /** [N,K]; null = the whole vocabulary. */
  readonly support: Int32Array | null;
  readonly N: number;
  readonly V: number;
  readonly studentStride: number;
  readonly teacherStride: number;
  readonly K: number;
  readonly beta: number;
  readonly temperature: number;
  /** Position in OUTSIDE. */
  readonly outside: number;
  readonly tailFloor: number;
  /** [N]. */
  readonly divergence: Float64Array | null;
  /** [N, studentStride]; without a support it may be the student's logits. */
  readonly grad: WideLogitArray | null;
}

export interface DivergenceTopArgs {
  readonly dtype: DTypeCode;
  readonly logits: WideLogitArray;
  readonly keep: Uint8Array | null;
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  readonly K: number;
  /** [N,K]. */
  readonly ids: Int32Array;
}

export interface DivergenceOps {
  divergenceRows(args: DivergenceRowsArgs): void;
  divergenceTop(args: DivergenceTopArgs): void;
}
