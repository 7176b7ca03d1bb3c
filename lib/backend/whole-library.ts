// Whether a library is whole. Linux loads one whose end is missing, such as a download that broke off, and the first read behind
// its end kills the process (SIGBUS).
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/**
 * What is missing of a 64-bit ELF library; undefined where nothing is, or where the file is something else. Linkers write the table
 * of sections last (System V ABI, chapter 4): its offset, the bytes of an entry and their number stand in the header.
 */
export function whatIsMissing(file: string): string | undefined {
  const header = Buffer.alloc(64);
  let size: number;
  try {
    const opened = openSync(file, "r");
    try {
      readSync(opened, header);
      size = fstatSync(opened).size;
    } finally {
      closeSync(opened);
    }
  } catch {
    return undefined; // what cannot be read is not opened either: the loader says why
  }
  const isElf64 = header.readUInt32BE() === 0x7f454c46 && header[4] === 2;
  const least = isElf64 ? Number(header.readBigUInt64LE(40)) + header.readUInt16LE(58) * header.readUInt16LE(60) : 0;
  return size < least ? `${file} is not whole: ${size} of at least ${least} bytes` : undefined;
}
