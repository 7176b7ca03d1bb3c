// Logits as callers hold them: a typed array with a shape, or a tensor of another library that knows its own.
import type { LogitArray } from "../../backend/contract/logprob";
import { needLength } from "../../core/arrays";
import { DTYPE_CODE, type DTypeCode, typedArrayName } from "../../core/dtype";
import { argumentError, show } from "../../core/errors";

export type LogitDType = "float32" | "float16" | "bfloat16";

/** A Float16Array, which Node has from version 24 on. */
export interface Float16View extends ArrayBufferView {
  readonly length: number;
  readonly [Symbol.toStringTag]: "Float16Array";
}

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

interface Tensor {
  readonly data: unknown;
  readonly dims?: unknown;
  readonly shape?: unknown;
  readonly type?: unknown;
  readonly dtype?: unknown;
}

function asTensor(op: string, logits: unknown): Tensor {
  if (ArrayBuffer.isView(logits)) return { data: logits };
  if (typeof logits === "object" && logits !== null && "data" in logits) return logits;
  throw argumentError("ERR_SURPRISAL_DTYPE", op, "logits", logits, "a typed array, {data, shape, dtype} or {data, dims, type}");
}

const STORAGE: Readonly<Record<string, readonly LogitDType[]>> = {
  Float32Array: ["float32"],
  Float16Array: ["float16"],
  Uint16Array: ["float16", "bfloat16"],
};

function needDType(op: string, tensor: Tensor, option: LogitDType | undefined): LogitDType {
  const possible = STORAGE[typedArrayName(tensor.data) ?? ""];
  if (!possible)
    throw argumentError("ERR_SURPRISAL_DTYPE", op, "logits", tensor.data, "a Float32Array, or half types as Uint16Array or Float16Array");
  const named = tensor.dtype ?? tensor.type;
  if (option !== undefined && named !== undefined && named !== option)
    throw argumentError("ERR_SURPRISAL_DTYPE", op, "dtype", option, `that of the tensor, ${show(named)}`);
  const dtype = option ?? named ?? (possible.length === 1 ? possible[0] : undefined);
  if (!possible.includes(dtype as LogitDType))
    throw argumentError(
      "ERR_SURPRISAL_DTYPE",
      op,
      "dtype",
      dtype,
      `${possible.map((name) => `"${name}"`).join(" or ")} for a ${String(typedArrayName(tensor.data))}`,
    );
  return dtype as LogitDType;
}

function needSize(op: string, name: string, value: unknown, limit = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= limit) return value as number;
  throw argumentError("ERR_SURPRISAL_SHAPE", op, name, value, limit < 2 ** 31 ? `an integer in [0, ${limit}]` : "an integer >= 0");
}

/** Rows and width of a tensor's own shape. */
function tensorShape(op: string, tensor: Tensor): { rows: number; width: number } | undefined {
  const dims = tensor.shape ?? tensor.dims;
  if (dims === undefined) return undefined;
  if (!Array.isArray(dims) || dims.length === 0)
    throw argumentError("ERR_SURPRISAL_SHAPE", op, "logits.shape", dims, "[..., vocab]");
  const sizes = dims.map((size, i) => needSize(op, `logits.shape[${i}]`, size));
  return { rows: sizes.slice(0, -1).reduce((product, size) => product * size, 1), width: sizes.at(-1)! };
}

const MAX_IDS = 2 ** 31 - 1;

export function needLogits(op: string, logits: unknown, layout: LogitLayout): CheckedLogits {
  const tensor = asTensor(op, logits);
  const dtype = needDType(op, tensor, layout.dtype);
  const own = tensorShape(op, tensor);
  const shape: unknown = layout.shape ?? (own && [own.rows, own.width]);
  if (!Array.isArray(shape) || shape.length !== 2)
    throw argumentError("ERR_SURPRISAL_SHAPE", op, "shape", shape, "[rows, vocab]");
  const N = needSize(op, "shape[0]", shape[0]);
  const V = needSize(op, "shape[1]", shape[1], MAX_IDS);
  const stride = needSize(op, "stride", layout.stride ?? own?.width ?? V);
  if (stride < V) throw argumentError("ERR_SURPRISAL_SHAPE", op, "stride", stride, `the vocabulary ${V} or more`);
  const view = tensor.data as LogitView;
  const length = needSize(op, "rows * stride", N * stride);
  needLength(op, "logits", view, length, stride === V ? "rows * vocab" : "rows * stride");
  return { view, logits: bitsOf(view), dtype: DTYPE_CODE[dtype], N, V, stride };
}

/** A view as backends take it: a Float16Array by its bits, in the same memory. */
function bitsOf(view: LogitView): LogitArray {
  if (typedArrayName(view) !== "Float16Array") return view as LogitArray;
  return new Uint16Array(view.buffer, view.byteOffset, view.length);
}

/** A new array of the same kind and length. */
function emptyLike(view: LogitView): LogitView {
  const kind = typedArrayName(view);
  if (kind === "Float32Array") return new Float32Array(view.length);
  if (kind === "Uint16Array") return new Uint16Array(view.length);
  const { Float16Array } = globalThis as unknown as { Float16Array: new (length: number) => Float16View };
  return new Float16Array(view.length);
}

/** Memory for a gradient: the caller's, of the logits' kind and length, or new. */
export function needGradient(op: string, { view }: CheckedLogits, out: unknown): { view: LogitView; grad: LogitArray } {
  if (out == null) {
    const fresh = emptyLike(view);
    return { view: fresh, grad: bitsOf(fresh) };
  }
  if (typedArrayName(out) !== typedArrayName(view))
    throw argumentError("ERR_SURPRISAL_DTYPE", op, "out", out, `a ${String(typedArrayName(view))}, as the logits are`);
  needLength(op, "out", out as LogitView, view.length, "as many as logits");
  return { view: out as LogitView, grad: bitsOf(out as LogitView) };
}
