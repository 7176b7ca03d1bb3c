/** Element types, by their public names. Half types are bits in a Uint16Array. */
export type DType = "float32" | "float16" | "bfloat16" | "float64" | "int32" | "uint8" | "int64";

/** The same as numbers of the native interface (native/include/surprisal/dtype.h). */
export const DTYPE_CODE = {
  float32: 1,
  float16: 2,
  bfloat16: 3,
  float64: 4,
  int32: 5,
  uint8: 6,
  int64: 7,
} as const satisfies Record<DType, number>;

export type DTypeCode = (typeof DTYPE_CODE)[DType];

/** float32 or float64 data, in ordinary memory. */
export type FloatArray = Float32Array | Float64Array;
export type FloatDType = "float32" | "float64";
/** Logits: numbers, or the bits of a half type. */
export type LogitArray = Float32Array | Uint16Array;
/** The same where float64 is taken as well. */
export type WideLogitArray = LogitArray | Float64Array;

// The getter behind every typed array's tag: it looks into the object, not at its class, and costs 5 ns where
// Object.prototype.toString costs 100.
const { get: tagOf } = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
) as {
  get: (this: unknown) => string | undefined;
};

/**
 * The type name of a typed array ("Float32Array"), or undefined for anything else. By tag and not by instanceof: test
 * runners, vm contexts and other realms have classes of their own.
 */
export function typedArrayName(value: unknown): string | undefined {
  return tagOf.call(value);
}

export function isFloatArray(value: unknown): value is FloatArray {
  const name = typedArrayName(value);
  return name === "Float32Array" || name === "Float64Array";
}
