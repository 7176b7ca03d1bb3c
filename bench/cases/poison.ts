// What outputs hold before a run: whatever is not written stays wrong.

type Memory = Float32Array | Float64Array | Uint16Array | Int32Array | Uint8Array;

/** NaN, or of integers all bits set. bfloat16 bits all set are a NaN as well. */
export function poison(...arrays: readonly Memory[]): void {
  for (const array of arrays) new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(0xff);
}
