// How files are taken apart and put together again, so that a change deep inside of one is not refused by a checksum outside.
import { gunzipSync, gzipSync } from "node:zlib";
import { crc32 } from "../../../lib/io/crc32";

/** The parts of a file that may be changed, and the file with other parts. */
interface Layout {
  readonly parts: (file: Buffer) => Buffer[];
  readonly whole: (parts: readonly Buffer[], file: Buffer) => Buffer;
}

const plain: Layout = { parts: (file) => [file], whole: ([part]) => part! };

const gzip: Layout = {
  parts: (file) => [gunzipSync(file, { finishFlush: 2 })],
  whole: ([text]) => gzipSync(text!, { level: 1 }),
};

/** Eight bytes of length, the header in JSON, the data. */
const safetensors: Layout = {
  parts(file) {
    const length = Number(file.readBigUInt64LE(0));
    return [file.subarray(8, 8 + length), file.subarray(8 + length)];
  },
  whole([header, data]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header!.length));
    return Buffer.concat([length, header!, data!]);
  },
};

const LOCAL = 0x04034b50;
const DIRECTORY = 0x02014b50;
const END = 0x06054b50;

/** The members of an archive whose members are stored: name, content, name, content … */
const zip: Layout = {
  parts(file) {
    const parts: Buffer[] = [];
    for (let at = 0; at + 30 <= file.length && file.readUInt32LE(at) === LOCAL;) {
      const [size, name, extra] = [file.readUInt32LE(at + 18), file.readUInt16LE(at + 26), file.readUInt16LE(at + 28)];
      if (file.readUInt16LE(at + 8) !== 0 || size === 0xffffffff) throw new Error("not stored");
      const begin = at + 30 + name + extra;
      parts.push(file.subarray(at + 30, at + 30 + name), file.subarray(begin, begin + size));
      at = begin + size;
    }
    return parts;
  },
  whole(parts) {
    const bodies: Buffer[] = [];
    const entries: Buffer[] = [];
    let at = 0;
    for (let i = 0; i + 1 < parts.length; i += 2) {
      const [name, data] = [parts[i]!, parts[i + 1]!];
      const fields = Buffer.alloc(30);
      fields.writeUInt32LE(LOCAL, 0);
      fields.writeUInt16LE(20, 4);
      fields.writeUInt32LE(crc32(data), 14);
      fields.writeUInt32LE(data.length, 18);
      fields.writeUInt32LE(data.length, 22);
      fields.writeUInt16LE(name.length, 26);
      const entry = Buffer.alloc(46);
      entry.writeUInt32LE(DIRECTORY, 0);
      fields.copy(entry, 6, 4, 30);
      entry.writeUInt32LE(at, 42);
      bodies.push(fields, name, data);
      entries.push(entry, name);
      at += 30 + name.length + data.length;
    }
    const directory = Buffer.concat(entries);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(END, 0);
    end.writeUInt16LE(entries.length / 2, 8);
    end.writeUInt16LE(entries.length / 2, 10);
    end.writeUInt32LE(directory.length, 12);
    end.writeUInt32LE(at, 16);
    return Buffer.concat([...bodies, directory, end]);
  },
};

export const LAYOUTS = { plain, gzip, safetensors, zip } as const;
