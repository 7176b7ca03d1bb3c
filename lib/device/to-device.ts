// Arrays made on a device.
import { deviceBackend } from "../backend/select";
import { homeStream } from "../backend/streams";
import { allocateOn, DeviceArray } from "../core/device-array";
import { DTYPE_CODE, type DType, type FloatDType, typedArrayName } from "../core/dtype";
import { dtypeError, optionError, rangeError, shapeError } from "../core/errors";
import { toHalfBits } from "../core/half";
import { ELEMENT_BYTES } from "../core/host-array";
import { Stream } from "../core/stream";
import { bitsOf, type Float16View } from "../core/tensor";

/** Where an array is made. */
export interface DevicePlace {
  /** Default: what configure() or SURPRISAL_BACKEND say where that has a device, else `"cuda"`. */
  readonly backend?: "cuda" | "emulated";
  /** Number of the device. Default: what configure() says, else 0. */
  readonly device?: number;
  /** Default: the device's own. Gives backend and device, too. */
  readonly stream?: Stream;
}

/** Where an array is made, and how. */
export interface DeviceMemory extends DevicePlace {
  /**
   * Whether other processes may open it (`toIpcHandle`). Such an array has memory of the driver to itself, in pieces of 2 MiB;
   * others lie side by side in one piece. Default: false.
   */
  readonly shared?: boolean;
}

export interface ToDeviceOptions<D extends DType = DType> extends DeviceMemory {
  /**
   * Type on the device. Default: that of the array; a BigInt64Array of ids becomes int32, with a range check. Must be said of
   * a Uint16Array, which holds the bits of either half type. Other types are converted on the host.
   */
  readonly dtype?: D;
  /** Sizes of its dimensions. Default: those of a tensor, else one dimension. */
  readonly shape?: readonly number[];
}

type Numbers =
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint8Array
  | Uint8ClampedArray
  | BigInt64Array
  | Uint16Array
  | Float16View;
/** What can be sent: a typed array, or `{data, dims, type}` as ONNX Runtime has it, or `{data, shape, dtype}`. */
export type Sendable =
  | Numbers
  | { readonly data: Numbers; readonly dims: readonly number[]; readonly type: string }
  | { readonly data: Numbers; readonly shape: readonly number[]; readonly dtype: string };

/** What a typed array becomes where nothing is said. */
const OWN_DTYPE: Readonly<Record<string, DType>> = {
  Float32Array: "float32",
  Float64Array: "float64",
  Float16Array: "float16",
  Int32Array: "int32",
  Uint8Array: "uint8",
  Uint8ClampedArray: "uint8",
  BigInt64Array: "int32",
};

const INT32 = 2 ** 31;

/** The stream that a place names. */
export function needPlace(op: string, { backend, device, stream }: DevicePlace): Stream {
  if (stream === undefined) return homeStream(op, deviceBackend(op, backend, device));
  if (!(stream instanceof Stream)) throw optionError(op, "stream", stream, "what createStream() gave");
  if (backend !== undefined && backend !== stream.backend)
    throw optionError(op, "backend", backend, `"${stream.backend}", that of the stream`);
  if (device !== undefined && device !== stream.device)
    throw optionError(op, "device", device, `${stream.device}, that of the stream`);
  return stream;
}

function needShared(op: string, { shared = false }: DeviceMemory): boolean {
  if (typeof shared === "boolean") return shared;
  throw optionError(op, "shared", shared, "true or false");
}

/** Sizes of dimensions, checked; their product must be `length`, where that is known. */
export function needShape(op: string, shape: unknown, length?: number): readonly number[] {
  if (!Array.isArray(shape)) throw shapeError(op, "shape", shape, "the sizes of its dimensions");
  shape.forEach((size: unknown, i) => {
    if (!Number.isSafeInteger(size) || (size as number) < 0)
      throw shapeError(op, `shape[${i}]`, size, "an integer >= 0");
  });
  const product = (shape as readonly number[]).reduce((a, b) => a * b, 1);
  if (!Number.isSafeInteger(product) || (length !== undefined && product !== length))
    throw shapeError(
      op,
      "shape",
      shape,
      length === undefined ? "fewer elements" : `sizes whose product is ${length}, the number of elements`,
    );
  return shape as readonly number[];
}

/** One of the element types. */
export function needDType(op: string, dtype: unknown): DType {
  if (typeof dtype === "string" && Object.hasOwn(DTYPE_CODE, dtype)) return dtype as DType;
  throw dtypeError(op, "dtype", dtype, Object.keys(DTYPE_CODE).join(", "));
}

function toInt32(op: string, ids: ArrayLike<number | bigint>): Int32Array {
  const out = new Int32Array(ids.length);
  for (let i = 0; i < out.length; ++i) {
    const id = Number(ids[i]);
    if (!Number.isInteger(id) || id < -INT32 || id >= INT32)
      throw rangeError(op, `array[${i}]`, ids[i], "an integer of 32 bits");
    out[i] = id;
  }
  return out;
}

/** The elements in the type that the device gets: the array itself where it has it, else a copy. */
function asType(op: string, array: Numbers, from: DType | undefined, to: DType): ArrayBufferView {
  const kind = typedArrayName(array);
  const half = to === "float16" || to === "bfloat16";
  if (kind === "Uint16Array" && half && (from === undefined || from === to)) return array;
  if (kind === "Float16Array" && to === "float16") return bitsOf(array as Float16View);
  if (kind === "BigInt64Array" && to === "int64") return array;
  if (kind === "BigInt64Array" && to === "int32") return toInt32(op, array as BigInt64Array);
  if (OWN_DTYPE[kind ?? ""] === to) return array;
  const numbers = array as ArrayLike<number>;
  const floats = kind === "Float32Array" || kind === "Float64Array" || kind === "Float16Array";
  if (floats && half) return toHalfBits(numbers, to);
  if (floats && (to === "float32" || to === "float64"))
    return to === "float32" ? Float32Array.from(numbers) : Float64Array.from(numbers);
  if (kind === "Int32Array" && (to === "float32" || to === "float64"))
    return to === "float32" ? Float32Array.from(numbers) : Float64Array.from(numbers);
  throw dtypeError(op, "dtype", to, `a type that a ${String(kind)} converts to`);
}

interface Tensor {
  readonly data: unknown;
  readonly dims?: unknown;
  readonly shape?: unknown;
  readonly type?: unknown;
  readonly dtype?: unknown;
}

function unwrap(value: unknown): Tensor {
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && "data" in value) return value;
  return { data: value };
}

/**
 * Copies an array of host memory to a device. The copy is enqueued; the array may change afterwards.
 *
 * @param array a typed array, or a tensor of another library
 * @throws SurprisalError ERR_SURPRISAL_DTYPE, _SHAPE, _RANGE (an id beyond 32 bits), _OPTION, _BACKEND_UNAVAILABLE or
 * _OUT_OF_MEMORY
 */
export function toDevice(
  array: Float32Array,
  options?: ToDeviceOptions & { readonly dtype?: undefined },
): DeviceArray<"float32">;
export function toDevice(
  array: Float64Array,
  options?: ToDeviceOptions & { readonly dtype?: undefined },
): DeviceArray<"float64">;
export function toDevice(
  array: Int32Array | BigInt64Array,
  options?: ToDeviceOptions & { readonly dtype?: undefined },
): DeviceArray<"int32">;
export function toDevice(
  array: Uint8Array,
  options?: ToDeviceOptions & { readonly dtype?: undefined },
): DeviceArray<"uint8">;
export function toDevice(
  array: Float32Array | Float64Array,
  options?: ToDeviceOptions & { readonly dtype?: undefined },
): DeviceArray<FloatDType>;
export function toDevice<D extends DType>(
  array: Sendable,
  options: ToDeviceOptions<D> & { readonly dtype: D },
): DeviceArray<D>;
export function toDevice(array: Sendable, options?: ToDeviceOptions): DeviceArray;
export function toDevice(array: Sendable, options: ToDeviceOptions = {}): DeviceArray {
  const op = "toDevice";
  const { data, dims, shape, type, dtype } = unwrap(array);
  const kind = typedArrayName(data);
  if (kind === undefined || (OWN_DTYPE[kind] === undefined && kind !== "Uint16Array"))
    throw dtypeError(op, "array", data, "a typed array of a type that devices have, or a tensor around one");
  const named = dtype ?? type;
  const own = named === undefined ? undefined : needDType(op, named);
  const wanted = options.dtype ?? own ?? OWN_DTYPE[kind];
  if (wanted === undefined)
    throw dtypeError(op, "dtype", wanted, '"float16" or "bfloat16" for a Uint16Array, which holds the bits of either');
  const elements = asType(op, data as Numbers, own, needDType(op, wanted));
  const { length } = data as Numbers;
  const sizes = needShape(op, options.shape ?? shape ?? dims ?? [length], length);
  const there = allocateOn(needPlace(op, options), wanted, sizes, needShared(op, options));
  there.stream.runtime.write(there.handle(op, "array"), elements);
  return there;
}

/** New memory on a device for an op to fill: its content is unspecified. */
export function deviceEmpty<D extends DType>(
  dtype: D,
  shape: readonly number[] | number,
  options: DeviceMemory = {},
): DeviceArray<D> {
  const op = "deviceEmpty";
  needDType(op, dtype);
  const sizes = needShape(op, typeof shape === "number" ? [shape] : shape);
  return allocateOn(needPlace(op, options), dtype, sizes, needShared(op, options));
}

/** Whether a value is a DeviceArray. */
export function isDeviceArray(value: unknown): value is DeviceArray {
  return DeviceArray.is(value);
}

/** Elements that a typed array of a type holds in so many bytes; for what comes from elsewhere. */
export function bytesOf(dtype: DType, shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, ELEMENT_BYTES[dtype]);
}
