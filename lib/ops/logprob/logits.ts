// Logits as callers hold them: a typed array with a shape, or a tensor of another library that knows its own.
import type { WideLogitArray } from "../../backend/contract/divergence";
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

/** Logits where float64 is taken as well. */
export type WideLogitDType = LogitDType | "float64";
export type WideLogitView = LogitView | Float64Array;
export type WideLogits =
  | Logits
  | Float64Array
  | { readonly data: Float64Array; readonly dims: readonly number[]; readonly type: string }
  | { readonly data: Float64Array; readonly shape: readonly number[]; readonly dtype: string };

/** The kind of array that a gradient to these logits is. */
export type LogitViewOf<L extends WideLogits> = L extends { readonly data: infer View } ? View : L;

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

export function needLogits(op: string, logits: unknown, layout: LogitLayout): CheckedLogits {
  const { view, dtype, own } = readTensor<LogitView>(op, "logits", logits, layout.dtype, LOGIT_DTYPES);
interface Tensor {
  readonly data: unknown;
  readonly dims?: unknown;
  readonly shape?: unknown;
  readonly type?: unknown;
  readonly dtype?: unknown;
}

function asTensor(op: string, name: string, logits: unknown): Tensor {
  if (ArrayBuffer.isView(logits)) return { data: logits };
  if (typeof logits === "object" && logits !== null && "data" in logits) return logits;
  throw argumentError("ERR_SURPRISAL_DTYPE", op, name, logits, "a typed array, {data, shape, dtype} or {data, dims, type}");
}

/** The types that an array can hold, by its kind. */
type Storage = Readonly<Record<string, readonly WideLogitDType[]>>;
const STORAGE: Storage = {
  Float32Array: ["float32"],
  Float16Array: ["float16"],
  Uint16Array: ["float16", "bfloat16"],
};
const WIDE_STORAGE: Storage = { ...STORAGE, Float64Array: ["float64"] };

function needDType(op: string, name: string, tensor: Tensor, option: WideLogitDType | undefined, storage: Storage): WideLogitDType {
  const possible = storage[typedArrayName(tensor.data) ?? ""];
  if (!possible)
    throw argumentError("ERR_SURPRISAL_DTYPE", op, name, tensor.data, "a Float32Array, or half types as Uint16Array or Float16Array");
  const named = tensor.dtype ?? tensor.type;
  if (option !== undefined && named !== undefined && named !== option)
    throw argumentError("ERR_SURPRISAL_DTYPE", op, "dtype", option, `that of the tensor, ${show(named)}`);
  const dtype = option ?? named ?? (possible.length === 1 ? possible[0] : undefined);
  if (!possible.includes(dtype as WideLogitDType))
    throw argumentError(
      "ERR_SURPRISAL_DTYPE",
      op,
      "dtype",
      dtype,
      `${possible.map((word) => `"${word}"`).join(" or ")} for a ${String(typedArrayName(tensor.data))}`,
    );
  return dtype as WideLogitDType;
}

function needSize(op: string, name: string, value: unknown, limit = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= limit) return value as number;
  throw argumentError("ERR_SURPRISAL_SHAPE", op, name, value, limit < 2 ** 31 ? `an integer in [0, ${limit}]` : "an integer >= 0");
}

/** Rows and width of a tensor's own shape. */
function tensorShape(op: string, name: string, tensor: Tensor): { rows: number; width: number } | undefined {
  const dims = tensor.shape ?? tensor.dims;
  if (dims === undefined) return undefined;
  if (!Array.isArray(dims) || dims.length === 0)
    throw argumentError("ERR_SURPRISAL_SHAPE", op, `${name}.shape`, dims, "[..., vocab]");
  const sizes = dims.map((size, i) => needSize(op, `${name}.shape[${i}]`, size));
  return { rows: sizes.slice(0, -1).reduce((product, size) => product * size, 1), width: sizes.at(-1)! };
}


function checkLogits(op: string, name: string, logits: unknown, layout: LogitLayout<WideLogitDType>, storage: Storage) {
  const tensor = asTensor(op, name, logits);
  const dtype = needDType(op, name, tensor, layout.dtype, storage);
  const own = tensorShape(op, name, tensor);
  const shape: unknown = layout.shape ?? (own && [own.rows, own.width]);
  if (!Array.isArray(shape) || shape.length !== 2)
    throw argumentError("ERR_SURPRISAL_SHAPE", op, "shape", shape, "[rows, vocab]");
  const N = needSize(op, "shape[0]", shape[0]);
  const V = needSize(op, "shape[1]", shape[1], MAX_IDS);
  const stride = needSize(op, "stride", layout.stride ?? own?.width ?? V);
  if (stride < V) throw argumentError("ERR_SURPRISAL_SHAPE", op, "stride", stride, `the vocabulary ${V} or more`);
  const view = tensor.data as WideLogitView;
  const length = needSize(op, "rows * stride", N * stride);
  needLength(op, name, view, length, stride === V ? "rows * vocab" : "rows * stride");
  return { view, logits: bitsOf(view), dtype: DTYPE_CODE[dtype], N, V, stride };
}

/** Memory for a gradient: the caller's, of the logits' kind and length, or new. */
export function needGradient(op: string, { view }: CheckedLogits, out: unknown): { view: LogitView; grad: LogitArray } {
  const gradient = needLike(op, "out", out, view, "logits");
  return { view: gradient, grad: bitsOf(gradient) };
export function needLogits(op: string, logits: unknown, layout: LogitLayout): CheckedLogits {
  return checkLogits(op, "logits", logits, layout, STORAGE) as CheckedLogits;
}

export type CheckedWideLogits = CheckedLogits<WideLogitView, WideLogitArray>;

/** As needLogits, of an argument of this name and with float64 among the types. */
export function needWideLogits(op: string, name: string, logits: unknown, layout: LogitLayout<WideLogitDType>): CheckedWideLogits {
  return checkLogits(op, name, logits, layout, WIDE_STORAGE);
}

/** A view as backends take it: a Float16Array by its bits, in the same memory. */
function bitsOf(view: WideLogitView): WideLogitArray {
  if (typedArrayName(view) !== "Float16Array") return view as WideLogitArray;
  return new Uint16Array(view.buffer, view.byteOffset, view.length);
}

/** A new array of the same kind and length. */
function emptyLike(view: WideLogitView): WideLogitView {
  const kind = typedArrayName(view);
  if (kind === "Float64Array") return new Float64Array(view.length);
  if (kind === "Float32Array") return new Float32Array(view.length);
  if (kind === "Uint16Array") return new Uint16Array(view.length);
  const { Float16Array } = globalThis as unknown as { Float16Array: new (length: number) => Float16View };
  return new Float16Array(view.length);
}

export function needGradient(op: string, logits: CheckedLogits, out: unknown): { view: LogitView; grad: LogitArray };
export function needGradient(op: string, logits: CheckedWideLogits, out: unknown): { view: WideLogitView; grad: WideLogitArray };
export function needGradient(op: string, { view }: CheckedWideLogits, out: unknown): { view: WideLogitView; grad: WideLogitArray } {
  if (out == null) {
    const fresh = emptyLike(view);
    return { view: fresh, grad: bitsOf(fresh) };
  }
  if (typedArrayName(out) !== typedArrayName(view))
    throw argumentError("ERR_SURPRISAL_DTYPE", op, "out", out, `a ${String(typedArrayName(view))}, as the logits are`);
  needLength(op, "out", out as WideLogitView, view.length, "as many as logits");
  return { view: out as WideLogitView, grad: bitsOf(out as WideLogitView) };
}
