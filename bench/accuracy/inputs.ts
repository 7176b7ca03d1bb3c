// Inputs that the families share.
import type { FloatArray } from "../../lib";
import type { FloatName } from "./measure";

export type WideFloat = Extract<FloatName, "float64" | "float32">;
export const WIDE_FLOATS: readonly WideFloat[] = ["float32", "float64"];

/** In the type of the op, so that the definition sees the very numbers that the op sees. */
export function floats(dtype: WideFloat, values: ArrayLike<number>): FloatArray {
  return dtype === "float32" ? Float32Array.from(values) : Float64Array.from(values);
}

export function largest(values: ArrayLike<number>): number {
  let found = 0;
  for (let i = 0; i < values.length; ++i) if (Number.isFinite(values[i])) found = Math.max(found, Math.abs(values[i]!));
  return found;
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, x) => sum + x, 0);
}

/** Rows of a padded array. */
export function rowsOf(values: ArrayLike<number>, width: number): number[][] {
  return Array.from({ length: values.length / width }, (_, b) =>
    Array.from({ length: width }, (_, t) => values[b * width + t]!),
  );
}
