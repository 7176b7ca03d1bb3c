// Logits as callers hold them: a typed array with a shape, or a tensor of another library that knows its own.
import { needLength } from "../../core/arrays";
import type { DeviceArray } from "../../core/device-array";
import { DTYPE_CODE, type DTypeCode, type LogitArray, type WideLogitArray } from "../../core/dtype";
import { shapeError } from "../../core/errors";
import type { Stream } from "../../core/stream";
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

const WIDE_LOGIT_DTYPES = [...LOGIT_DTYPES, "float64"] as const;
/** Logits where float64 is taken as well. */
export type WideLogitDType = (typeof WIDE_LOGIT_DTYPES)[number];
export type WideLogitView = LogitView | Float64Array;
export type WideLogits =
  | Logits
  | Float64Array
  | { readonly data: Float64Array; readonly dims: readonly number[]; readonly type: string }
  | { readonly data: Float64Array; readonly shape: readonly number[]; readonly dtype: string };

/** The kind of array that a gradient to these logits is. */
export type LogitViewOf<L extends WideLogits> = L extends { readonly data: infer View } ? View : L;

/** Logits on a device. Of more than one dimension the last is the vocabulary. */
export type DeviceLogits = DeviceArray<LogitDType>;

/** The same where float64 is taken as well. */
export type DeviceWideLogits = DeviceArray<WideLogitDType>;

export interface LogitLayout<D extends WideLogitDType = LogitDType> {
  /** [rows, vocabulary]. Default: that of the tensor, all dimensions but the last being rows. */
  readonly shape?: readonly [rows: number, vocab: number];
  /** Type of the logits. Needed for a Uint16Array, which holds the bits of either half type. */
  readonly dtype?: D;
  /** Elements from one row to the next; a padded vocabulary has more than it counts. Default: the vocabulary. */
  readonly stride?: number;
}

export interface CheckedLogits<View extends WideLogitView = LogitView, Memory extends WideLogitArray = LogitArray> {
  /** What the caller gave, without its tensor. */
  readonly view: View;
  /** The same memory as a backend takes it. */
  readonly logits: Memory;
  readonly dtype: DTypeCode;
  readonly N: number;
  readonly V: number;
  readonly stride: number;
}

const MAX_IDS = 2 ** 31 - 1;

function checkLogits<View extends WideLogitView>(
  op: string,
  name: string,
  logits: unknown,
  layout: LogitLayout<WideLogitDType>,
  dtypes: readonly WideLogitDType[],
) {
  const { view, dtype, own } = readTensor<View>(op, name, logits, layout.dtype, dtypes);
  const shape: unknown = layout.shape ?? (own && [own.rows, own.width]);
  if (!Array.isArray(shape) || shape.length !== 2) throw shapeError(op, "shape", shape, "[rows, vocab]");
  const N = needSize(op, "shape[0]", shape[0]);
  const V = needSize(op, "shape[1]", shape[1], MAX_IDS);
  const stride = needSize(op, "stride", layout.stride ?? own?.width ?? V);
  if (stride < V) throw shapeError(op, "stride", stride, `the vocabulary ${V} or more`);
  const length = needSize(op, "rows * stride", N * stride);
  needLength(op, name, view, length, stride === V ? "rows * vocab" : "rows * stride");
  return { view, logits: bitsOf(view), dtype: DTYPE_CODE[dtype], N, V, stride };
}

export function needLogits(op: string, logits: unknown, layout: LogitLayout): CheckedLogits {
  return checkLogits<LogitView>(op, "logits", logits, layout, LOGIT_DTYPES);
}

export type CheckedWideLogits = CheckedLogits<WideLogitView, WideLogitArray>;

/** As needLogits, of an argument of this name and with float64 among the types. */
export function needWideLogits(
  op: string,
  name: string,
  logits: unknown,
  layout: LogitLayout<WideLogitDType>,
): CheckedWideLogits {
  return checkLogits<WideLogitView>(op, name, logits, layout, WIDE_LOGIT_DTYPES);
}

/** Memory for a gradient: the caller's, of the logits' kind and length, or new. */
export function needGradient(
  op: string,
  logits: CheckedLogits,
  out: unknown,
  stream: Stream | null,
): { view: LogitView; grad: LogitArray };
export function needGradient(
  op: string,
  logits: CheckedWideLogits,
  out: unknown,
  stream: Stream | null,
): { view: WideLogitView; grad: WideLogitArray };
export function needGradient(
  op: string,
  logits: CheckedWideLogits,
  out: unknown,
  stream: Stream | null,
): { view: WideLogitView; grad: WideLogitArray } {
  const gradient = needLike(op, "out", out, logits, "logits", stream);
  return { view: gradient, grad: bitsOf(gradient) };
}
