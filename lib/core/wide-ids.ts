// int64 ids without a BigInt for each: as the two halves they consist of.

/** Whether the low half stands first in memory. */
const LOW_FIRST = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Whether one of the ids [begin, end) is no int32, whose upper half repeats its sign. Halves of id i lie at 2·i. */
function anyWide(low: Int32Array, high: Int32Array, begin: number, end: number): boolean {
  let bits = 0;
  let i = (2 * begin) | 0;
  const last = (2 * end) | 0;
  for (const four = (last - 6) | 0; i < four; i += 8)
    bits |=
      (high[i]! ^ (low[i]! >> 31)) |
      (high[i + 2]! ^ (low[i + 2]! >> 31)) |
      (high[i + 4]! ^ (low[i + 4]! >> 31)) |
      (high[i + 6]! ^ (low[i + 6]! >> 31));
  for (; i < last; i += 2) bits |= high[i]! ^ (low[i]! >> 31);
  return bits !== 0;
}

/** So many ids are looked at together: the one that is wrong is looked for among few. */
const PIECE = 1024;

/** The low half of id i at 2·i, and the index of the first number that is no int32, -1 without one. */
export function lowHalves(wide: BigInt64Array): { readonly ids: Int32Array; readonly wrong: number } {
  const halves = new Int32Array(wide.buffer, wide.byteOffset, 2 * wide.length);
  const ids = halves.subarray(LOW_FIRST ? 0 : 1);
  const high = halves.subarray(LOW_FIRST ? 1 : 0);
  for (let begin = 0; begin < wide.length; begin += PIECE) {
    const end = Math.min(begin + PIECE, wide.length);
    if (!anyWide(ids, high, begin, end)) continue;
    for (let i = begin; ; ++i) if (anyWide(ids, high, i, i + 1)) return { ids, wrong: i };
  }
  return { ids, wrong: -1 };
}

/** The low halves, and the index of the first number that is no int32, -1 without one. */
export function narrowIds(wide: BigInt64Array): { readonly ids: Int32Array; readonly wrong: number } {
  const { ids: low, wrong } = lowHalves(wide);
  const ids = new Int32Array(wide.length);
  if (wrong < 0) for (let i = 0; i < ids.length; ++i) ids[i] = low[2 * i]!;
  return { ids, wrong };
}
