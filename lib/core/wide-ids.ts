// int64 ids without a BigInt for each: as the two halves they consist of, that of id i from 2·i on.

/** Where the halves of an id stand. The low one is the id itself, where it is an int32, whose upper half repeats its sign. */
export const LOW = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

export function halvesOf(wide: BigInt64Array): Int32Array {
  return new Int32Array(wide.buffer, wide.byteOffset, 2 * wide.length);
}

export const isWideId = (halves: Int32Array, i: number): boolean => halves[2 * i + HIGH] !== halves[2 * i + LOW]! >> 31;

/** The first of the ids [begin, end) that is no int32, or is `id`; `end` if there is none. */
export function firstWideOr(id: number, halves: Int32Array, begin: number, end: number): number {
  let i = (2 * begin) | 0;
  const last = (2 * end) | 0;
  for (const four = (last - 7) | 0; i < four; i = (i + 8) | 0) {
    const p = halves[i + LOW]!;
    const q = halves[i + 2 + LOW]!;
    const r = halves[i + 4 + LOW]!;
    const s = halves[i + 6 + LOW]!;
    if (p === id || q === id || r === id || s === id) break;
    const upper = halves[i + HIGH]! | halves[i + 2 + HIGH]! | halves[i + 4 + HIGH]! | halves[i + 6 + HIGH]!;
    if (upper !== 0 || (p | q | r | s) < 0) break; // negative ids, which are few, go one by one
  }
  i >>= 1;
  while (i < end && halves[2 * i + LOW] !== id && !isWideId(halves, i)) ++i;
  return i;
}

/** Whether one of the ids [begin, end) is no int32. */
function anyWide(halves: Int32Array, begin: number, end: number): boolean {
  let bits = 0;
  let i = (2 * begin) | 0;
  const last = (2 * end) | 0;
  for (const four = (last - 7) | 0; i < four; i += 8)
    bits |=
      (halves[i + HIGH]! ^ (halves[i + LOW]! >> 31)) |
      (halves[i + 2 + HIGH]! ^ (halves[i + 2 + LOW]! >> 31)) |
      (halves[i + 4 + HIGH]! ^ (halves[i + 4 + LOW]! >> 31)) |
      (halves[i + 6 + HIGH]! ^ (halves[i + 6 + LOW]! >> 31));
  for (; i < last; i += 2) bits |= halves[i + HIGH]! ^ (halves[i + LOW]! >> 31);
  return bits !== 0;
}

/** So many ids are looked at together: the one that is wrong is looked for among few. */
const PIECE = 1024;

/** The index of the first number that is no int32, -1 without one. */
function firstWide(halves: Int32Array, length: number): number {
  for (let begin = 0; begin < length; begin += PIECE) {
    const end = Math.min(begin + PIECE, length);
    if (!anyWide(halves, begin, end)) continue;
    for (let i = begin; ; ++i) if (isWideId(halves, i)) return i;
  }
  return -1;
}

/** The low halves, and the index of the first number that is no int32, -1 without one. */
export function narrowIds(wide: BigInt64Array): { readonly ids: Int32Array; readonly wrong: number } {
  const halves = halvesOf(wide);
  const wrong = firstWide(halves, wide.length);
  const ids = new Int32Array(wide.length);
  if (wrong < 0) for (let i = 0; i < ids.length; ++i) ids[i] = halves[2 * i + LOW]!;
  return { ids, wrong };
}
