// int64 ids without a BigInt for each: as the two halves they consist of.

/** Whether the low half stands first in memory. */
const LOW_FIRST = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The low halves, and the index of the first number that is no int32, -1 without one. */
export function narrowIds(wide: BigInt64Array): { readonly ids: Int32Array; readonly wrong: number } {
  const halves = new Int32Array(wide.buffer, wide.byteOffset, 2 * wide.length);
  const ids = new Int32Array(wide.length);
  const low = LOW_FIRST ? 0 : 1;
  for (let i = 0; i < ids.length; ++i) {
    const id = halves[2 * i + low]!;
    // The upper half of an int32 repeats its sign.
    if (halves[2 * i + 1 - low] !== id >> 31) return { ids, wrong: i };
    ids[i] = id;
  }
  return { ids, wrong: -1 };
}
