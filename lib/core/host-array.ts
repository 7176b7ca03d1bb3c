// Host memory for each element type.
import type { DType } from "./dtype";
import { type ArrayKind, newArray } from "./host-memory";

/** The typed array that holds elements of a type; half types as bits. */
interface HostArrays {
  readonly float32: Float32Array;
  readonly float16: Uint16Array;
  readonly bfloat16: Uint16Array;
  readonly float64: Float64Array;
  readonly int32: Int32Array;
  readonly uint8: Uint8Array;
  readonly int64: BigInt64Array;
}
export type HostArray<D extends DType = DType> = HostArrays[D];

const MAKERS: { readonly [D in DType]: ArrayKind<HostArrays[D]> } = {
  float32: Float32Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float64: Float64Array,
  int32: Int32Array,
  uint8: Uint8Array,
  int64: BigInt64Array,
};

export const ELEMENT_BYTES: Readonly<Record<DType, number>> = {
  float32: 4,
  float16: 2,
  bfloat16: 2,
  float64: 8,
  int32: 4,
  uint8: 1,
  int64: 8,
};

/** A new array, all zeros. */
export function allocateHost<D extends DType>(dtype: D, length: number): HostArray<D> {
  return newArray(MAKERS[dtype] as ArrayKind<HostArray<D>>, length);
}

/** "Float32Array", as messages name the kind that holds a type. */
export function hostKind(dtype: DType): string {
  return MAKERS[dtype].name;
}
