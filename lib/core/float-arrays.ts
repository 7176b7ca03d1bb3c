// The float arrays of a call, in host memory or on a device: their common type, and results of it.
import { outputArray } from "./arena";
import { refuseWidening } from "./device-arguments";
import { allocateOn, type DeviceArray } from "./device-array";
import { type FloatArray, type FloatDType, typedArrayName } from "./dtype";
import type { Stream } from "./stream";

/** A float array for an output; of a call on a device one there. Its content is unspecified. */
export function allocateFloat(dtype: FloatDType, length: number, stream: Stream | null = null): FloatArray {
  if (stream) return allocateOn(stream, dtype, [length]) as unknown as FloatArray;
  return dtype === "float64" ? outputArray(Float64Array, length) : outputArray(Float32Array, length);
}

export function floatDType(array: FloatArray): FloatDType {
  const name = typedArrayName(array);
  if (name === undefined) return (array as unknown as DeviceArray<FloatDType>).dtype;
  return name === "Float64Array" ? "float64" : "float32";
}

/** float64 if any of the arrays is, else float32: the type of an op's results. Missing arrays do not count. */
export function widestFloat(...arrays: readonly (FloatArray | null | undefined)[]): FloatDType {
  for (const array of arrays) if (array != null && floatDType(array) === "float64") return "float64";
  return "float32";
}

/** The array itself, or a float64 copy of it where the others of its call are float64. Refuses one of a device then. */
export function asFloat(array: FloatArray, dtype: FloatDType): FloatArray {
  if (dtype !== "float64" || floatDType(array) === "float64") return array;
  if (typedArrayName(array) === undefined) throw refuseWidening(array);
  return Float64Array.from(array);
}
