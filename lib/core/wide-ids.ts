// int64 ids without a BigInt for each: as the two halves they consist of.

/** Whether the low half stands first in memory. */
const LOW_FIRST = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The halves of id i lie at 2·i. Low ones are the ids themselves, where an id is an int32. */
export interface Halves {
  readonly low: Int32Array;
  readonly high: Int32Array;
}

export function halvesOf(wide: BigInt64Array): Halves {
  const halves = new Int32Array(wide.buffer, wide.byteOffset, 2 * wide.length);
  return { low: halves.subarray(LOW_FIRST ? 0 : 1), high: halves.subarray(LOW_FIRST ? 1 : 0) };
}

/** The first of the ids [begin, end) that is no int32, whose upper half repeats its sign, or is `id`; `end` if there is none. */
export function firstWideOr(id: number, { low, high }: Halves, begin: number, end: number): number {
  let i = (2 * begin) | 0;
  const last = (2 * end) | 0;
  for (const four = (last - 6) | 0; i < four; i = (i + 8) | 0) {
    const p = low[i]!;
    const q = low[i + 2]!;
    const r = low[i + 4]!;
    const s = low[i + 6]!;
    if (p === id || q === id || r === id || s === id) break;
    const bits =
      (high[i]! ^ (p >> 31)) | (high[i + 2]! ^ (q >> 31)) | (high[i + 4]! ^ (r >> 31)) | (high[i + 6]! ^ (s >> 31));
    if (bits !== 0) break;
  }
  while (i < last && low[i] !== id && high[i] === low[i]! >> 31) i = (i + 2) | 0;
  return i >> 1;
}
/** Whether one of the ids [begin, end) is no int32. */
function anyWide({ low, high }: Halves, begin: number, end: number): boolean {
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

/** The index of the first number that is no int32, -1 without one. */
function firstWide(halves: Halves, length: number): number {
  for (let begin = 0; begin < length; begin += PIECE) {
    const end = Math.min(begin + PIECE, length);
    if (!anyWide(halves, begin, end)) continue;
    for (let i = begin; ; ++i) if (anyWide(halves, i, i + 1)) return i;
  }
  return -1;
}

/** The low halves, and the index of the first number that is no int32, -1 without one. */
export function narrowIds(wide: BigInt64Array): { readonly ids: Int32Array; readonly wrong: number } {
  const halves = halvesOf(wide);
  const wrong = firstWide(halves, wide.length);
  const ids = new Int32Array(wide.length);
  if (wrong < 0) for (let i = 0; i < ids.length; ++i) ids[i] = halves.low[2 * i]!;
  return { ids, wrong };
}
