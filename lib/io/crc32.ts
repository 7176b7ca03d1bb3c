// CRC-32 (ISO 3309), four bytes at a time. Node has its own only from version 22 on.

function tables(): readonly Uint32Array[] {
  const all = Array.from({ length: 4 }, () => new Uint32Array(256));
  for (let n = 0; n < 256; ++n) {
    let crc = n;
    for (let k = 0; k < 8; ++k) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    all[0]![n] = crc;
  }
  for (let t = 1; t < 4; ++t)
    for (let n = 0; n < 256; ++n) {
      const before = all[t - 1]![n]!;
      all[t]![n] = (before >>> 8) ^ all[0]![before & 0xff]!;
    }
  return all;
}

let made: readonly Uint32Array[] | undefined;

/** The checksum of bytes that follow those with checksum `crc`. */
export function crc32(bytes: Uint8Array, crc = 0): number {
  const [t0, t1, t2, t3] = (made ??= tables()) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
  let c = ~crc;
  let i = 0;
  for (; i + 4 <= bytes.length; i += 4) {
    c ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    c = t3[c & 0xff]! ^ t2[(c >>> 8) & 0xff]! ^ t1[(c >>> 16) & 0xff]! ^ t0[c >>> 24]!;
  }
  for (; i < bytes.length; ++i) c = (c >>> 8) ^ t0[(c ^ bytes[i]!) & 0xff]!;
  return ~c >>> 0;
}
