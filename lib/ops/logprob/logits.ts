// Logits as callers hold them: a typed array with a shape, or a tensor of another library that knows its own.
import type { LogitArray } from "../../backend/contract/logprob";
import { needLength } from "../../core/arrays";
import { DTYPE_CODE, type DTypeCode } from "../../core/dtype";
import { argumentError } from "../../core/errors";
import { bitsOf, type Float16View, needLike, needSize, readTensor } from "../../core/tensor";

export type { Float16View } from "../../core/tensor";

const LOGIT_DTYPES = ["float32", "float16", "bfloat16"] as const;
export type LogitDType = (typeof LOGIT_DTYPES)[number];

/** float32 numbers, or half types: bits in a Uint16Array (say which in `dtype`), or a Float16Array. */
export type LogitView = Float32Array | Uint16Array | Float16View;

/** A view, or a tensor around one: `{data, dims, type}` as ONNX Runtime has it, or `{data, shape, dtype}`. */
export type Logits =
  | LogitView
  | { readonly data: LogitView; readonly dims: readonly number[]; readonly type: string }
  | { readonly data: LogitView; readonly shape: readonly number[]; readonly dtype: string };

/** The kind of array that a gradient to these logits is. */
export type LogitViewOf<L extends Logits> = L extends { readonly data: infer View } ? View : L;

export interface LogitLayout {
  /** [rows, vocabulary]. Default: that of the tensor, all dimensions but the last being rows. */
  readonly shape?: readonly [rows: number, vocab: number];
  /** Type of the logits. Needed for a Uint16Array, which holds the bits of either half type. */
  readonly dtype?: LogitDType;
  /** Elements from one row to the next; a padded vocabulary has more than it counts. Default: the vocabulary. */
  readonly stride?: number;
}

export interface CheckedLogits {
  /** What the caller gave, without its tensor. */
  readonly view: LogitView;
  /** The same memory as a backend takes it. */
  readonly logits: LogitArray;
  readonly dtype: DTypeCode;
  readonly N: number;
  readonly V: number;
  readonly stride: number;
}

const MAX_IDS = 2 ** 31 - 1;

export function needLogits(op: string, logits: unknown, layout: LogitLayout): CheckedLogits {
  const { view, dtype, own } = readTensor<LogitView>(op, "logits", logits, layout.dtype, LOGIT_DTYPES);
  const shape: unknown = layout.shape ?? (own && [own.rows, own.width]);
  if (!Array.isArray(shape) || shape.length !== 2)
    throw argumentError("ERR_SURPRISAL_SHAPE", op, "shape", shape, "[rows, vocab]");
  const N = needSize(op, "shape[0]", shape[0]);
  const V = needSize(op, "shape[1]", shape[1], MAX_IDS);
  const stride = needSize(op, "stride", layout.stride ?? own?.width ?? V);
  if (stride < V) throw argumentError("ERR_SURPRISAL_SHAPE", op, "stride", stride, `the vocabulary ${V} or more`);
  const length = needSize(op, "rows * stride", N * stride);
  needLength(op, "logits", view, length, stride === V ? "rows * vocab" : "rows * stride");
  return { view, logits: bitsOf(view), dtype: DTYPE_CODE[dtype], N, V, stride };
}

/** Memory for a gradient: the caller's, of the logits' kind and length, or new. */
export function needGradient(op: string, { view }: CheckedLogits, out: unknown): { view: LogitView; grad: LogitArray } {
  const gradient = needLike(op, "out", out, view, "logits");
  return { view: gradient, grad: bitsOf(gradient) };
}
