// How many bytes of a mask are not 0, where a call of a backend would take longer than the count.

/** Of four bytes at a time, in four sums of a byte each that no 255 words overflow. */
function countWords(words: Int32Array): number {
  let marked = 0;
  for (let begin = 0; begin < words.length; begin += 255) {
    const end = Math.min(begin + 255, words.length);
    let sums = 0;
    for (let i = begin; i < end; ++i) {
      const word = words[i]!;
      sums = (sums + (((((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >>> 7) & 0x01010101)) | 0;
    }
    const pairs = (sums & 0x00ff00ff) + ((sums >>> 8) & 0x00ff00ff);
    marked += (pairs & 0xffff) + (pairs >>> 16);
  }
  return marked;
}

export function countMarked(mask: Uint8Array, n: number): number {
  const words = mask.byteOffset % 4 === 0 ? new Int32Array(mask.buffer, mask.byteOffset, n >> 2) : new Int32Array(0);
  let marked = countWords(words);
  for (let i = 4 * words.length; i < n; ++i) if (mask[i] !== 0) ++marked;
  return marked;
}
