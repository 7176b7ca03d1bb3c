// A member of a zip archive, unpacked as it is read.
import { createInflateRaw } from "node:zlib";
import { type ByteReader, readerOf } from "./byte-reader";
import { crc32 } from "./crc32";
import { malformed, unreadable } from "./place";
import type { ByteSource } from "./source";
import { LOCAL, readBuffer, type ZipEntry, type ZipSite } from "./zip";
import { ZlibSteps } from "./zlib-steps";

/** Packed bytes read at a time. */
const PIECE = 256 * 1024;

interface Unpacking extends ByteReader {
  /** Refuses what comes behind the last byte. */
  end(): Promise<void>;
  close(): Promise<unknown>;
}

/** Where the data of a member begins. */
async function beginOf(site: ZipSite, source: ByteSource, { name, offset, packed }: ZipEntry): Promise<number> {
  const head = await readBuffer(source, offset, 30);
  if (head.readUInt32LE(0) !== LOCAL) throw unreadable(site, `${name} is not where the directory says`);
  const begin = offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
  if (begin + packed > source.size) throw unreadable(site, `${name} is cut off`);
  return begin;
}

async function* inflated(packed: ByteReader): AsyncGenerator<Uint8Array> {
  const steps = new ZlibSteps(createInflateRaw());
  try {
    for (let left = packed.size; left > 0 && !steps.error && !steps.over;) {
      const piece = new Uint8Array(Math.min(PIECE, left));
      await packed.fill(piece);
      left -= piece.length;
      yield* steps.push(piece);
    }
    if (steps.over) throw new Error("there are bytes behind its end");
    yield* steps.end();
    if (steps.error) throw steps.error;
  } finally {
    steps.close();
  }
}

function unpacking(site: ZipSite, { name, size }: ZipEntry, packed: ByteReader): Unpacking {
  const pieces = inflated(packed);
  let rest = new Uint8Array(0) as Uint8Array;
  let given = 0;
  const next = async (): Promise<boolean> => {
    try {
      const found = await pieces.next();
      if (found.done === true) return false;
      rest = found.value;
      return true;
    } catch (error) {
      throw unreadable(site, `${name}: its deflated data is damaged (${(error as Error).message})`, error);
    }
  };
  return {
    size,
    async fill(into) {
      for (let at = 0; at < into.length;) {
        const part = rest.subarray(0, into.length - at);
        into.set(part, at);
        at += part.length;
        given += part.length;
        rest = rest.subarray(part.length);
        if (at < into.length && !(await next()))
          throw malformed(site, `${name}: size`, given, `${size} bytes, as declared`);
      }
    },
    async end() {
      while (rest.length === 0 && (await next()));
      if (rest.length > 0) throw unreadable(site, `${name}: its data is longer than declared`);
    },
    close: () => pieces.return(undefined),
  };
}

/**
 * What `read` makes of a member, after a look at size and checksum. The bytes go from the file, or from the piece that is unpacked,
 * to the memory that they are asked into.
 */
export async function readMember<T>(
  op: string,
  source: ByteSource,
  entry: ZipEntry,
  read: (member: ByteReader) => Promise<T>,
): Promise<T> {
  const site: ZipSite = { op, file: source.name, line: 0 };
  const { name, size, deflated } = entry;
  const stored = readerOf(source, await beginOf(site, source, entry), entry.packed);
  const unpacked = deflated ? unpacking(site, entry, stored) : undefined;
  let crc = 0;
  try {
    const result = await read({
      size,
      async fill(into) {
        await (unpacked ?? stored).fill(into);
        crc = crc32(into, crc);
      },
    });
    await unpacked?.end();
    if (crc !== entry.crc) throw malformed(site, `${name}: checksum`, crc, `${entry.crc}: the data is damaged`);
    return result;
  } finally {
    await unpacked?.close();
  }
}
