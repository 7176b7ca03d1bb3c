// Arrays of several dimensions as callers hold them: a typed array, or a tensor of another library that knows its own shape
// and type.
import { outputArray } from "./arena";
import { needLength } from "./arrays";
import { needDevice } from "./device-arguments";
import { allocateOn, DeviceArray } from "./device-array";
import { DTYPE_CODE, type DTypeCode, typedArrayName } from "./dtype";
import type { Stream } from "./stream";
import { dtypeError, shapeError, show } from "./errors";
import type { ArrayKind } from "./host-memory";

/** A Float16Array, which Node has from version 24 on. */
export interface Float16View extends ArrayBufferView {
  readonly length: number;
  readonly [Symbol.toStringTag]: "Float16Array";
}

/** Memory of a tensor; half types are bits in a Uint16Array, or a Float16Array. */
export type TensorView = Float32Array | Float64Array | Uint16Array | Float16View;
export type TensorDType = "float32" | "float16" | "bfloat16" | "float64";

interface Tensor {
  readonly data: unknown;
  readonly dims?: unknown;
  readonly shape?: unknown;
  readonly type?: unknown;
  readonly dtype?: unknown;
}

export interface ReadTensor<View extends TensorView> {
  /** What the caller gave, without its tensor. */
  readonly view: View;
  readonly dtype: TensorDType;
  /** The tensor's own shape: all dimensions but the last are rows. */
  readonly own: { readonly rows: number; readonly width: number } | undefined;
}

function asTensor(op: string, name: string, value: unknown): Tensor {
  if (ArrayBuffer.isView(value)) return { data: value };
  if (typeof value === "object" && value !== null && "data" in value && typeof value.data !== "function") return value;
  throw dtypeError(op, name, value, "a typed array, {data, shape, dtype} or {data, dims, type}");
}

const STORAGE: Readonly<Record<string, readonly TensorDType[]>> = {
  Float32Array: ["float32"],
  Float64Array: ["float64"],
  Float16Array: ["float16"],
  Uint16Array: ["float16", "bfloat16"],
};

function needDType(
  op: string,
  name: string,
  tensor: Tensor,
  option: unknown,
  allowed: readonly TensorDType[],
): TensorDType {
  const possible = (STORAGE[typedArrayName(tensor.data) ?? ""] ?? []).filter((dtype) => allowed.includes(dtype));
  if (possible.length === 0) {
    const floats = allowed.includes("float64") ? "a Float32Array or Float64Array" : "a Float32Array";
    throw dtypeError(op, name, tensor.data, `${floats}, or half types as Uint16Array or Float16Array`);
  }
  const named = tensor.dtype ?? tensor.type;
  if (option !== undefined && named !== undefined && named !== option)
    throw dtypeError(op, "dtype", option, `that of the tensor, ${show(named)}`);
  const dtype = option ?? named ?? (possible.length === 1 ? possible[0] : undefined);
  if (!possible.includes(dtype as TensorDType))
    throw dtypeError(
      op,
      "dtype",
      dtype,
      `${possible.map((word) => `"${word}"`).join(" or ")} for a ${String(typedArrayName(tensor.data))}`,
    );
  return dtype as TensorDType;
}

/** A size: an integer from 0 to `limit`. */
export function needSize(op: string, name: string, value: unknown, limit = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= limit) return value as number;
  throw shapeError(op, name, value, limit < 2 ** 31 ? `an integer in [0, ${limit}]` : "an integer >= 0");
}

function ownShape(op: string, name: string, tensor: Tensor): ReadTensor<TensorView>["own"] {
  const dims = tensor.shape ?? tensor.dims;
  if (dims === undefined) return undefined;
  if (!Array.isArray(dims) || dims.length === 0)
    throw shapeError(op, `${name}.shape`, dims, "the sizes of its dimensions, the last one that of a row");
  const sizes = dims.map((size, i) => needSize(op, `${name}.shape[${i}]`, size));
  return { rows: sizes.slice(0, -1).reduce((product, size) => product * size, 1), width: sizes.at(-1)! };
}

/** The same of a DeviceArray, under the type of the view that it stands for. One dimension says nothing of rows. */
function readDevice<View extends TensorView>(
  op: string,
  name: string,
  array: DeviceArray,
  option: unknown,
  allowed: readonly TensorDType[],
): ReadTensor<View> {
  needDevice(op, name, array, allowed);
  if (option !== undefined && option !== array.dtype)
    throw dtypeError(op, "dtype", option, `that of the array, ${show(array.dtype)}`);
  const { shape } = array;
  const own =
    shape.length < 2
      ? undefined
      : { rows: shape.slice(0, -1).reduce((product, size) => product * size, 1), width: shape.at(-1)! };
  return { view: array as unknown as View, dtype: array.dtype as TensorDType, own };
}

/** Memory, type and shape of what a caller gave. `option` is the type that the call names, if it does. */
export function readTensor<View extends TensorView>(
  op: string,
  name: string,
  value: unknown,
  option: unknown,
  allowed: readonly TensorDType[],
): ReadTensor<View> {
  if (DeviceArray.is(value)) return readDevice(op, name, value, option, allowed);
  const tensor = asTensor(op, name, value);
  const dtype = needDType(op, name, tensor, option, allowed);
  return { view: tensor.data as View, dtype, own: ownShape(op, name, tensor) };
}

/** A view as backends take it: a Float16Array by its bits, in the same memory. */
export function bitsOf<View extends TensorView>(view: View): Exclude<View, Float16View> {
  const array =
    typedArrayName(view) === "Float16Array" ? new Uint16Array(view.buffer, view.byteOffset, view.length) : view;
  return array as Exclude<View, Float16View>;
}

/** An output of the same kind and length. */
function emptyLike(view: TensorView): TensorView {
  const kind = typedArrayName(view);
  if (kind === "Float32Array") return outputArray(Float32Array, view.length);
  if (kind === "Float64Array") return outputArray(Float64Array, view.length);
  if (kind === "Uint16Array") return outputArray(Uint16Array, view.length);
  const { Float16Array } = globalThis as unknown as { Float16Array: ArrayKind<Float16View> };
  return outputArray(Float16Array, view.length);
}

/** The same on the stream of a call. */
function needDeviceLike(
  op: string,
  name: string,
  value: unknown,
  like: LikeTensor,
  of: string,
  stream: Stream,
): DeviceArray {
  const dtype = DTYPES.find((word) => DTYPE_CODE[word] === like.dtype)!;
  if (value == null) return allocateOn(stream, dtype, DeviceArray.is(like.view) ? like.view.shape : [like.view.length]);
  if (!DeviceArray.is(value)) throw dtypeError(op, name, value, `a DeviceArray of ${dtype}, as the ${of} are`);
  needDevice(op, name, value, [dtype]);
  needLength(op, name, value as unknown as TensorView, like.view.length, `as many as ${of}`);
  return value;
}

const DTYPES: readonly TensorDType[] = ["float32", "float16", "bfloat16", "float64"];

/** A checked tensor whose kind and length another has to have. */
interface LikeTensor<View extends TensorView = TensorView> {
  readonly view: View;
  readonly dtype: DTypeCode;
}

/** Memory of the kind and length of a view: the caller's where given, or new; on the stream of a call where it has one. */
export function needLike<View extends TensorView>(
  op: string,
  name: string,
  value: unknown,
  like: LikeTensor<View>,
  of: string,
  stream: Stream | null,
): View {
  if (stream) return needDeviceLike(op, name, value, like, of, stream) as unknown as View;
  const { view } = like;
  if (value == null) return emptyLike(view) as View;
  const kind = String(typedArrayName(view));
  if (typedArrayName(value) !== kind) throw dtypeError(op, name, value, `a ${kind}, as the ${of} are`);
  needLength(op, name, value as TensorView, view.length, `as many as ${of}`);
  return value as View;
}
