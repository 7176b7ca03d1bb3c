// Numbers put into another order. None of these changes a value.
import type { FloatArray } from "../inputs";

interface Sliceable<A> {
  subarray(begin: number, end: number): A;
}

/** The chosen columns of a row-major table, `width` columns wide. */
export function columns(table: Int32Array, width: number, chosen: readonly number[]): Int32Array {
  return table.filter((_, i) => chosen.includes(i % width));
}

/** Packed rows as a list of arrays. */
export function unpack<A extends Sliceable<A>>(values: A, offsets: Int32Array): A[] {
  return Array.from(offsets.subarray(1), (end, b) => values.subarray(offsets[b]!, end));
}

/** A row-major [rows, columns] matrix as [columns, rows]. */
export function transpose(matrix: FloatArray, [rows, columns]: readonly [number, number]): FloatArray {
  return matrix.map((_, i) => matrix[(i % rows) * columns + Math.floor(i / rows)]!);
}

/** The same for a mask. */
export function transposeMask(mask: Uint8Array, [rows, columns]: readonly [number, number]): Uint8Array {
  return mask.map((_, i) => mask[(i % rows) * columns + Math.floor(i / rows)]!);
}

/** Where groups of these sizes begin and end, one behind the other. */
export function offsetsOfSizes(sizes: ArrayLike<number>): Int32Array {
  const offsets = new Int32Array(sizes.length + 1);
  for (let g = 0; g < sizes.length; ++g) offsets[g + 1] = offsets[g]! + sizes[g]!;
  return offsets;
}

/** 1 where a padding mask has 0. */
export function complement(padding: Uint8Array): Uint8Array {
  return padding.map((padded) => (padded === 0 ? 1 : 0));
}

/** 1 where both masks have it. */
export function intersection(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.map((kept, i) => (kept !== 0 && b[i] !== 0 ? 1 : 0));
}

/** The group number of each item, where groups of these sizes stand one behind the other. */
export function idsOfSizes(sizes: ArrayLike<number>): Int32Array {
  return Int32Array.from(Array.from(sizes).flatMap((size, g) => new Array<number>(size).fill(g)));
}
