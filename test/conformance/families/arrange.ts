// Numbers of the newer families put into another order. None of these changes a value.
import type { FloatArray } from "../inputs";

/** The rows of a row-major matrix. */
export function matrixRows(matrix: FloatArray, [rows, columns]: readonly [number, number]): FloatArray[] {
  return Array.from({ length: rows }, (_, r) => matrix.slice(r * columns, (r + 1) * columns));
}

/** 1 for the first `lengths[b]` tokens of each row of `width`. */
export function leading(lengths: ArrayLike<number>, width: number): Uint8Array {
  return Uint8Array.from({ length: lengths.length * width }, (_, i) =>
    i % width < lengths[Math.floor(i / width)]! ? 1 : 0,
  );
}

/** Groups of `size` rows one behind the other. */
export function blocks(rows: number, size: number): Int32Array {
  return Int32Array.from({ length: rows }, (_, b) => Math.floor(b / size));
}
