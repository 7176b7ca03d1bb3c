// Zip archives as numpy makes them: stored or deflated members, ZIP64 where they are large. Read by the directory at the end.
import { promisify } from "node:util";
import { deflateRaw } from "node:zlib";
import type { AtomicFile } from "./atomic-file";
import { crc32 } from "./crc32";
import { malformed, unreadable } from "./place";
import type { ByteSource } from "./source";

export interface ZipSite {
  readonly op: string;
  readonly file: string;
  readonly line: 0;
}

export interface ZipEntry {
  readonly name: string;
  readonly deflated: boolean;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  /** Of the local header. */
  readonly offset: number;
}

const END = 0x06054b50;
const END_BYTES = 22;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const DIRECTORY = 0x02014b50;
export const LOCAL = 0x04034b50;
const MAX_DIRECTORY = 1 << 26;
/** Deflate cannot do better than 258 bytes in 2 bits. */
const DEFLATE_RATIO = 1032;

export async function readBuffer(source: ByteSource, offset: number, length: number): Promise<Buffer> {
  const bytes = await source.read(offset, length);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

interface Directory {
  readonly count: number;
  readonly bytes: number;
  readonly offset: number;
}

/** What the end of the archive says about its directory. */
async function directoryOf(site: ZipSite, source: ByteSource): Promise<Directory> {
  const tailBytes = Math.min(source.size, END_BYTES + 0xffff);
  const tail = await readBuffer(source, source.size - tailBytes, tailBytes);
  let at = tail.length - END_BYTES;
  while (at >= 0 && tail.readUInt32LE(at) !== END) --at;
  if (at < 0) throw unreadable(site, "has no end record: the file is cut off, or no zip archive");
  const end = {
    count: tail.readUInt16LE(at + 10),
    bytes: tail.readUInt32LE(at + 12),
    offset: tail.readUInt32LE(at + 16),
  };
  if (at < 20 || tail.readUInt32LE(at - 20) !== LOCATOR64) return end;
  const where = Number(tail.readBigUInt64LE(at - 20 + 8));
  if (where + 56 > source.size)
    throw malformed(site, "the ZIP64 end record's offset", where, `within the ${source.size} bytes of the file`);
  const end64 = await readBuffer(source, where, 56);
  if (end64.readUInt32LE(0) !== END64) throw unreadable(site, "has no ZIP64 end record where one is declared");
  return {
    count: Number(end64.readBigUInt64LE(32)),
    bytes: Number(end64.readBigUInt64LE(40)),
    offset: Number(end64.readBigUInt64LE(48)),
  };
}

/** Sizes that did not fit into 32 bits, from the ZIP64 field of an entry. */
function wideSizes(
  site: ZipSite,
  name: string,
  extra: Buffer,
  sizes: { packed: number; size: number; offset: number },
): void {
  for (let at = 0; at + 4 <= extra.length;) {
    const bytes = extra.readUInt16LE(at + 2);
    const field = extra.subarray(at + 4, at + 4 + bytes);
    if (extra.readUInt16LE(at) === 1) {
      let next = 0;
      for (const key of ["size", "packed", "offset"] as const) {
        if (sizes[key] !== 0xffffffff) continue;
        if (next + 8 > field.length) throw unreadable(site, `${name}: its ZIP64 field is too short`);
        sizes[key] = Number(field.readBigUInt64LE(next));
        next += 8;
      }
    }
    at += 4 + bytes;
  }
}

function entryOf(site: ZipSite, directory: Buffer, at: number, fileSize: number): { entry: ZipEntry; next: number } {
  if (at + 46 > directory.length || directory.readUInt32LE(at) !== DIRECTORY)
    throw unreadable(site, "its directory is damaged");
  const nameEnd = at + 46 + directory.readUInt16LE(at + 28);
  const extraEnd = nameEnd + directory.readUInt16LE(at + 30);
  const next = extraEnd + directory.readUInt16LE(at + 32);
  if (next > directory.length) throw unreadable(site, "its directory is damaged");
  const name = directory.toString("utf8", at + 46, nameEnd);
  const sizes = {
    packed: directory.readUInt32LE(at + 20),
    size: directory.readUInt32LE(at + 24),
    offset: directory.readUInt32LE(at + 42),
  };
  wideSizes(site, name, directory.subarray(nameEnd, extraEnd), sizes);
  const method = directory.readUInt16LE(at + 10);
  if ((directory.readUInt16LE(at + 8) & 1) !== 0) throw unreadable(site, `${name} is encrypted`);
  if (method !== 0 && method !== 8)
    throw malformed(site, `${name}: compression method`, method, "0 (stored) or 8 (deflated)");
  // Before memory is taken: what is declared must be able to come out of what is there.
  if (sizes.offset + 30 + sizes.packed > fileSize)
    throw malformed(site, `${name}: packed size`, sizes.packed, `within the ${fileSize} bytes of the file`);
  const most = method === 0 ? sizes.packed : sizes.packed * DEFLATE_RATIO;
  if (sizes.size > most || (method === 0 && sizes.size !== sizes.packed))
    throw malformed(site, `${name}: size`, sizes.size, `at most ${most} bytes, as ${sizes.packed} packed ones give`);
  return { entry: { name, deflated: method === 8, crc: directory.readUInt32LE(at + 16), ...sizes }, next };
}

export async function readDirectory(op: string, source: ByteSource): Promise<ZipEntry[]> {
  const site: ZipSite = { op, file: source.name, line: 0 };
  const { count, bytes, offset } = await directoryOf(site, source);
  if (bytes > MAX_DIRECTORY || offset + bytes > source.size)
    throw malformed(site, "the directory's size", bytes, `at most ${MAX_DIRECTORY} bytes, within the file`);
  if (count * 46 > bytes)
    throw malformed(
      site,
      "the number of members",
      count,
      `at most ${Math.floor(bytes / 46)}, which is what the directory has room for`,
    );
  const directory = await readBuffer(source, offset, bytes);
  const entries: ZipEntry[] = [];
  for (let at = 0; entries.length < count;) {
    const { entry, next } = entryOf(site, directory, at, source.size);
    entries.push(entry);
    at = next;
  }
  return entries;
}

const deflate = promisify<Uint8Array, Buffer>(deflateRaw);

/** The ZIP64 field with the numbers that do not fit into 32 bits. */
function wideField(numbers: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + 8 * numbers.length);
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(8 * numbers.length, 2);
  numbers.forEach((number, i) => field.writeBigUInt64LE(BigInt(number), 4 + 8 * i));
  return field;
}

const FULL32 = 0xffffffff;
/** 1980-01-01: the same archive every time. */
const DATE = 0x0021;

/** An archive that grows member by member. */
export class ZipWriter {
  readonly #file: AtomicFile;
  readonly #directory: Buffer[] = [];

  constructor(file: AtomicFile) {
    this.#file = file;
  }

  async add(name: string, parts: readonly Uint8Array[], compress: boolean): Promise<void> {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    const crc = parts.reduce((sum, part) => crc32(part, sum), 0);
    const stored = compress ? [await deflate(Buffer.concat(parts))] : parts;
    const packed = stored.reduce((sum, part) => sum + part.length, 0);
    const offset = this.#file.bytes;
    const nameBytes = Buffer.from(name, "utf8");
    const wide = size >= FULL32 || packed >= FULL32;
    const wideOffset = offset >= FULL32;

    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(wide || wideOffset ? 45 : 20, 0);
    shared.writeUInt16LE(1 << 11, 2); // names are UTF-8
    shared.writeUInt16LE(compress ? 8 : 0, 4);
    shared.writeUInt16LE(DATE, 8);
    shared.writeUInt32LE(crc, 10);
    shared.writeUInt32LE(wide ? FULL32 : packed, 14);
    shared.writeUInt32LE(wide ? FULL32 : size, 18);
    shared.writeUInt16LE(nameBytes.length, 22);

    const localExtra = wide ? wideField([size, packed]) : Buffer.alloc(0);
    const local = Buffer.concat([Buffer.alloc(4), shared]);
    local.writeUInt32LE(LOCAL, 0);
    local.writeUInt16LE(localExtra.length, 28);
    await this.#file.write(Buffer.concat([local, nameBytes, localExtra]));
    for (const part of stored) await this.#file.write(part);

    const wides = wide ? [size, packed] : [];
    if (wideOffset) wides.push(offset);
    const extra = wides.length > 0 ? wideField(wides) : Buffer.alloc(0);
    const central = Buffer.concat([Buffer.alloc(6), shared, Buffer.alloc(14)]);
    central.writeUInt32LE(DIRECTORY, 0);
    central.writeUInt16LE(45, 4);
    central.writeUInt16LE(extra.length, 30);
    central.writeUInt32LE(wideOffset ? FULL32 : offset, 42);
    this.#directory.push(Buffer.concat([central, nameBytes, extra]));
  }

  async finish(): Promise<void> {
    const offset = this.#file.bytes;
    const directory = Buffer.concat(this.#directory);
    await this.#file.write(directory);
    const count = this.#directory.length;
    const wide = offset + directory.length >= FULL32 || count >= 0xffff;
    if (wide) {
      const end64 = Buffer.alloc(56 + 20);
      end64.writeUInt32LE(END64, 0);
      end64.writeBigUInt64LE(44n, 4);
      end64.writeUInt16LE(45, 12);
      end64.writeUInt16LE(45, 14);
      [count, count, directory.length, offset].forEach((number, i) =>
        end64.writeBigUInt64LE(BigInt(number), 24 + 8 * i),
      );
      end64.writeUInt32LE(LOCATOR64, 56);
      end64.writeBigUInt64LE(BigInt(offset + directory.length), 64);
      end64.writeUInt32LE(1, 72);
      await this.#file.write(end64);
    }
    const end = Buffer.alloc(END_BYTES);
    end.writeUInt32LE(END, 0);
    end.writeUInt16LE(wide ? 0xffff : count, 8);
    end.writeUInt16LE(wide ? 0xffff : count, 10);
    end.writeUInt32LE(wide ? FULL32 : directory.length, 12);
    end.writeUInt32LE(wide ? FULL32 : offset, 16);
    await this.#file.write(end);
  }
}
