// Arrays of several dimensions as tensor files hold them.
import { typedArrayName } from "../core/dtype";
import { dtypeError, SurprisalError } from "../core/errors";
import type { OwnBytes } from "./source";

/** Element types of tensor files. Half types are bits in a Uint16Array, 8-bit floats bits in a Uint8Array, bool 0 and 1. */
export type TensorFileDType =
  | "float64"
  | "float32"
  | "float16"
  | "bfloat16"
  | "float8_e4m3"
  | "float8_e5m2"
  | "int64"
  | "int32"
  | "int16"
  | "int8"
  | "uint64"
  | "uint32"
  | "uint16"
  | "uint8"
  | "bool";

export type TensorData =
  | Float64Array
  | Float32Array
  | Uint16Array
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Int16Array
  | Int8Array
  | Uint32Array
  | Uint8Array;

/** A tensor, row-major. Ops take it as it is: `logprob(tensor, …)` reads data, shape and dtype. */
export interface FileTensor {
  readonly dtype: TensorFileDType;
  /** Sizes of its dimensions; [] is a single number. */
  readonly shape: readonly number[];
  readonly data: TensorData;
}

interface ElementType {
  readonly bytes: number;
  /** The typed array that holds it. */
  readonly array: new (buffer: ArrayBuffer) => TensorData;
}

export const ELEMENT_TYPES: Readonly<Record<TensorFileDType, ElementType>> = {
  float64: { bytes: 8, array: Float64Array },
  float32: { bytes: 4, array: Float32Array },
  float16: { bytes: 2, array: Uint16Array },
  bfloat16: { bytes: 2, array: Uint16Array },
  float8_e4m3: { bytes: 1, array: Uint8Array },
  float8_e5m2: { bytes: 1, array: Uint8Array },
  int64: { bytes: 8, array: BigInt64Array },
  int32: { bytes: 4, array: Int32Array },
  int16: { bytes: 2, array: Int16Array },
  int8: { bytes: 1, array: Int8Array },
  uint64: { bytes: 8, array: BigUint64Array },
  uint32: { bytes: 4, array: Uint32Array },
  uint16: { bytes: 2, array: Uint16Array },
  uint8: { bytes: 1, array: Uint8Array },
  bool: { bytes: 1, array: Uint8Array },
};

/** Elements of a shape; undefined where a size is no integer >= 0, or the number of bytes is beyond 2^53. */
export function elementsOf(shape: readonly unknown[], dtype: TensorFileDType): number | undefined {
  let elements = 1;
  let empty = false;
  for (const size of shape) {
    if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) return undefined;
    if (size === 0) empty = true;
    else elements *= size;
    if (!Number.isSafeInteger(elements * ELEMENT_TYPES[dtype].bytes)) return undefined;
  }
  return empty ? 0 : elements;
}

/** Bytes as elements; `bytes` lies at the start of memory of its own. */
export function viewOf(dtype: TensorFileDType, bytes: OwnBytes): TensorData {
  return new ELEMENT_TYPES[dtype].array(bytes.buffer);
}

/** The bytes of a tensor, in its own memory. */
export function bytesOf({ data }: FileTensor): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** Refuses a tensor whose data is not what its dtype and shape say. */
export function checkTensor(op: string, name: string, tensor: FileTensor): void {
  const { dtype, shape, data } = tensor;
  if (!Object.hasOwn(ELEMENT_TYPES, dtype))
    throw dtypeError(op, `${name}.dtype`, dtype, `one of ${Object.keys(ELEMENT_TYPES).join(", ")}`);
  const wanted = ELEMENT_TYPES[dtype].array.name;
  if (typedArrayName(data) !== wanted) throw dtypeError(op, `${name}.data`, data, `a ${wanted} for ${dtype}`);
  const elements = elementsOf(shape, dtype);
  if (elements !== data.length)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: ${name}.shape [${shape.join(", ")}] is not that of ${data.length} elements`,
      {
        op,
        name: `${name}.shape`,
        got: shape,
        want: `sizes whose product is ${data.length}`,
      },
    );
}
