// One numpy array: a magic number, a Python dictionary with type, order and shape, and the elements.
import type { ByteReader } from "./byte-reader";
import { malformed, unreadable } from "./place";
import { bytesOf, ELEMENT_TYPES, elementsOf, type FileTensor, type TensorFileDType, viewOf } from "./tensor-types";

interface Site {
  readonly op: string;
  readonly file: string;
  readonly line: 0;
}

/** Kind and size as numpy writes them, without the byte order. */
const DESCRIPTIONS: Readonly<Partial<Record<TensorFileDType, string>>> = {
  float64: "f8",
  float32: "f4",
  float16: "f2",
  int64: "i8",
  int32: "i4",
  int16: "i2",
  int8: "i1",
  uint64: "u8",
  uint32: "u4",
  uint16: "u2",
  uint8: "u1",
  bool: "b1",
};
const DTYPES = new Map(Object.entries(DESCRIPTIONS).map(([dtype, text]) => [text, dtype as TensorFileDType]));

const MAGIC = Buffer.from("\u0093NUMPY", "latin1");
const MAX_HEADER = 1 << 20;
/** Magic number, version and the longer kind of length: fewer bytes are no array. */
const START = 12;

interface NpyHeader {
  readonly dtype: TensorFileDType;
  readonly shape: readonly number[];
  readonly bigEndian: boolean;
  readonly fortran: boolean;
  /** Where the elements begin. */
  readonly begin: number;
  /** How many bytes they take. */
  readonly bytes: number;
}

/** The value behind a key of the header's dictionary. */
function entry(header: string, key: string, pattern: string): string | undefined {
  return new RegExp(`['"]${key}['"]\\s*:\\s*${pattern}`).exec(header)?.[1];
}

function shapeOf(site: Site, array: string, text: string | undefined): number[] {
  const parts = (text ?? "?").split(",").map((part) => part.trim());
  // (3,) has a comma at its end, () nothing at all.
  if (parts.at(-1) === "") parts.pop();
  if (parts.length > 64 || !parts.every((part) => /^\d{1,16}L?$/.test(part)))
    throw malformed(site, `${array}.shape`, text, "a tuple of sizes");
  return parts.map((part) => Number.parseInt(part, 10));
}

/** Reads the header. `array` is its name in messages. */
async function readHeader(site: Site, array: string, file: ByteReader): Promise<NpyHeader> {
  const start = Buffer.alloc(Math.min(START, file.size));
  await file.fill(start);
  if (start.length < START || !start.subarray(0, 6).equals(MAGIC)) throw unreadable(site, `${array} is no numpy array`);
  const version = start[6]!;
  if (version < 1 || version > 3) throw malformed(site, `${array}.version`, version, "1, 2 or 3");
  const wide = version >= 2;
  const length = wide ? start.readUInt32LE(8) : start.readUInt16LE(8);
  const begin = (wide ? 12 : 10) + length;
  if (length > MAX_HEADER || begin < START || begin > file.size)
    throw malformed(site, `${array}.header length`, length, `at most the ${file.size} bytes that are there`);
  const bytes = Buffer.alloc(begin);
  start.copy(bytes);
  await file.fill(bytes.subarray(START));
  const header = bytes.toString(version === 3 ? "utf8" : "latin1", wide ? 12 : 10, begin);
  const description = entry(header, "descr", "['\"]([^'\"]*)['\"]");
  const [, order, kind] = /^([<>|=]?)([a-z]\d+)$/.exec(description ?? "") ?? [];
  const dtype = kind === undefined ? undefined : DTYPES.get(kind);
  if (dtype === undefined)
    throw malformed(
      site,
      `${array}.descr`,
      description ?? header.slice(0, 40),
      `one of ${[...DTYPES.keys()].join(", ")}`,
      "objects, strings and structures are not read",
    );
  const fortran = entry(header, "fortran_order", "(True|False)");
  if (fortran === undefined) throw malformed(site, `${array}.fortran_order`, fortran, "True or False");
  const shape = shapeOf(site, array, entry(header, "shape", "\\(([^)]*)\\)"));
  const elements = elementsOf(shape, dtype);
  if (elements === undefined)
    throw malformed(site, `${array}.shape`, shape, "sizes of which no more than 2^53 bytes come");
  return {
    dtype,
    shape,
    bigEndian: order === ">",
    fortran: fortran === "True",
    begin,
    bytes: elements * ELEMENT_TYPES[dtype].bytes,
  };
}

function swapBytes(bytes: Uint8Array, width: number): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (width === 2) buffer.swap16();
  else if (width === 4) buffer.swap32();
  else if (width === 8) buffer.swap64();
}

/** Column-major bytes as row-major ones. */
function rowMajor(bytes: Uint8Array, shape: readonly number[], width: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(bytes.length);
  const strides = shape.map((_, d) => shape.slice(0, d).reduce((product, size) => product * size, 1));
  const index = shape.map(() => 0);
  for (let to = 0; to < out.length; to += width) {
    const from = index.reduce((sum, i, d) => sum + i * strides[d]!, 0) * width;
    for (let k = 0; k < width; ++k) out[to + k] = bytes[from + k]!;
    // Count up: the last dimension runs fastest.
    for (let d = shape.length - 1; d >= 0 && ++index[d]! === shape[d]; --d) index[d] = 0;
  }
  return out;
}

/** The tensor of an array, read into its own memory; one that is column-major takes that twice while it is turned. */
export async function readNpy(site: Site, array: string, file: ByteReader): Promise<FileTensor> {
  const { dtype, shape, bigEndian, fortran, begin, bytes } = await readHeader(site, array, file);
  if (file.size - begin !== bytes)
    throw malformed(
      site,
      `${array}.size`,
      file.size - begin,
      `${bytes} bytes, as [${shape.join(", ")}] of ${dtype} takes`,
    );
  let elements = new Uint8Array(bytes);
  await file.fill(elements);
  const width = ELEMENT_TYPES[dtype].bytes;
  if (bigEndian) swapBytes(elements, width);
  if (fortran && shape.length > 1) elements = rowMajor(elements, shape, width);
  return { dtype, shape, data: viewOf(dtype, elements) };
}

/** Types that numpy has. */
export function isNumpyDType(dtype: TensorFileDType): boolean {
  return DESCRIPTIONS[dtype] !== undefined;
}

/** An array as numpy's own save writes it: version 1.0, or 2.0 for a long header; elements at a multiple of 64. */
export function npyParts(tensor: FileTensor): readonly [header: Uint8Array, elements: Uint8Array] {
  const { dtype, shape } = tensor;
  const order = ELEMENT_TYPES[dtype].bytes === 1 ? "|" : "<";
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const text = `{'descr': '${order}${DESCRIPTIONS[dtype]}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const wide = text.length + 64 > 0xffff;
  const start = wide ? 12 : 10;
  const total = Math.ceil((start + text.length + 1) / 64) * 64;
  const header = Buffer.alloc(total, " ");
  MAGIC.copy(header);
  header[6] = wide ? 2 : 1;
  header[7] = 0;
  if (wide) header.writeUInt32LE(total - start, 8);
  else header.writeUInt16LE(total - start, 8);
  header.write(text, start, "latin1");
  header[total - 1] = 10;
  return [header, bytesOf(tensor)];
}
