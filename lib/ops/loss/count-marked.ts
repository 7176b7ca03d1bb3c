// How many bytes of a mask are not 0, where a call of a backend would take longer than the count.

const ONES = 0x01010101;

/** The bytes of a word that are not 0, as 1 each. */
const marksOf = (word: number): number => ((((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >>> 7) & ONES;

/** Four sums of a byte each, which no 255 words overflow. */
function sumsOf(words: Int32Array, begin: number, end: number): number {
  let sums = 0;
  let bits = 0;
  let i = begin | 0;
  for (const four = (end - 3) | 0; i < four; i = (i + 4) | 0) {
    const a = words[i]!;
    const b = words[i + 1]!;
    const c = words[i + 2]!;
    const d = words[i + 3]!;
    sums = (sums + (a + b + c + d)) | 0;
    bits |= a | b | c | d;
  }
  for (; i < end; ++i) {
    sums = (sums + words[i]!) | 0;
    bits |= words[i]!;
  }
  if ((bits & ~ONES) === 0) return sums;
  sums = 0;
  for (i = begin; i < end; ++i) sums = (sums + marksOf(words[i]!)) | 0;
  return sums;
}

function countWords(words: Int32Array): number {
  let marked = 0;
  for (let begin = 0; begin < words.length; begin += 255) {
    const sums = sumsOf(words, begin, Math.min(begin + 255, words.length));
    const pairs = (sums & 0x00ff00ff) + ((sums >>> 8) & 0x00ff00ff);
    marked += (pairs & 0xffff) + (pairs >>> 16);
  }
  return marked;
}

/** From here on four bytes at a time are worth another view of them. */
const MANY = 128;

export function countMarked(mask: Uint8Array, n: number): number {
  const words = n >= MANY && mask.byteOffset % 4 === 0 ? new Int32Array(mask.buffer, mask.byteOffset, n >> 2) : null;
  let marked = words ? countWords(words) : 0;
  for (let i = words ? 4 * words.length : 0; i < n; ++i) if (mask[i] !== 0) ++marked;
  return marked;
}
