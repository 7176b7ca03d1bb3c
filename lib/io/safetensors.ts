// safetensors: 8 bytes with the length of a JSON header, the header, and the tensors without gaps.
import type { AtomicFile } from "./atomic-file";
import { isObject, type JsonObject } from "./fields";
import { malformed, unreadable } from "./place";
import type { ByteSource } from "./source";
import { bytesOf, ELEMENT_TYPES, elementsOf, type FileTensor, type TensorFileDType, viewOf } from "./tensor-types";

/** As the reference implementation limits it. */
const MAX_HEADER = 100_000_000;

const NAMES: Readonly<Record<TensorFileDType, string>> = {
  float64: "F64",
  float32: "F32",
  float16: "F16",
  bfloat16: "BF16",
  float8_e4m3: "F8_E4M3",
  float8_e5m2: "F8_E5M2",
  int64: "I64",
  int32: "I32",
  int16: "I16",
  int8: "I8",
  uint64: "U64",
  uint32: "U32",
  uint16: "U16",
  uint8: "U8",
  bool: "BOOL",
};
const DTYPES = new Map(Object.entries(NAMES).map(([dtype, name]) => [name, dtype as TensorFileDType]));

/** Where a tensor lies in a file. */
export interface TensorEntry {
  readonly dtype: TensorFileDType;
  readonly shape: readonly number[];
  /** In the file. */
  readonly begin: number;
  readonly bytes: number;
}

export interface SafetensorsHeader {
  readonly entries: ReadonlyMap<string, TensorEntry>;
  readonly metadata: Readonly<Record<string, string>>;
}

interface Site {
  readonly op: string;
  readonly file: string;
  readonly line: 0;
}

async function headerOf(site: Site, source: ByteSource): Promise<{ header: JsonObject; begin: number }> {
  if (source.size < 8)
    throw unreadable(site, `has ${source.size} bytes, too few for the length of a safetensors header`);
  const length = new DataView((await source.read(0, 8)).buffer).getBigUint64(0, true);
  const limit = Math.min(MAX_HEADER, source.size - 8);
  if (length > BigInt(limit))
    throw malformed(
      site,
      "the header's length",
      length,
      `at most ${limit} bytes`,
      "the file is cut off, or no safetensors file",
    );
  const text = Buffer.from(await source.read(8, Number(length))).toString("utf8");
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch (error) {
    throw unreadable(site, `the header is no JSON (${(error as Error).message})`, error);
  }
  if (!isObject(header)) throw malformed(site, "the header", header, "an object");
  return { header, begin: 8 + Number(length) };
}

function entryOf(site: Site, name: string, value: unknown, begin: number, size: number): TensorEntry {
  const field = (part: string): string => `${JSON.stringify(name.slice(0, 80))}.${part}`;
  if (!isObject(value)) throw malformed(site, field("entry"), value, "an object");
  const dtype = typeof value["dtype"] === "string" ? DTYPES.get(value["dtype"]) : undefined;
  if (dtype === undefined)
    throw malformed(site, field("dtype"), value["dtype"], `one of ${[...DTYPES.keys()].join(", ")}`);
  const shape: unknown = value["shape"];
  const elements = Array.isArray(shape) ? elementsOf(shape, dtype) : undefined;
  if (elements === undefined)
    throw malformed(site, field("shape"), shape, "sizes, integers >= 0 of which no more than 2^53 bytes come");
  const offsets: unknown = value["data_offsets"];
  const [from, to] = (Array.isArray(offsets) ? offsets : []) as unknown[];
  const bytes = elements * ELEMENT_TYPES[dtype].bytes;
  if (
    typeof from !== "number" ||
    typeof to !== "number" ||
    !Number.isSafeInteger(from) ||
    from < 0 ||
    to - from !== bytes ||
    begin + to > size
  )
    throw malformed(
      site,
      field("data_offsets"),
      offsets,
      `[begin, end] of ${bytes} bytes within the ${size - begin} that follow the header`,
    );
  return { dtype, shape: shape as number[], begin: begin + from, bytes };
}

/** Reads and checks the header: every size is that of the shape, and the tensors fill the file without gap or overlap. */
export async function readHeader(op: string, source: ByteSource): Promise<SafetensorsHeader> {
  const site: Site = { op, file: source.name, line: 0 };
  const { header, begin } = await headerOf(site, source);
  const entries = new Map<string, TensorEntry>();
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(header)) {
    if (name !== "__metadata__") {
      entries.set(name, entryOf(site, name, value, begin, source.size));
      continue;
    }
    if (!isObject(value) || !Object.values(value).every((item) => typeof item === "string"))
      throw malformed(site, "__metadata__", value, "an object of strings");
    metadata = value as Record<string, string>;
  }
  let at = begin;
  for (const [name, entry] of [...entries].sort(([, a], [, b]) => a.begin - b.begin || a.bytes - b.bytes)) {
    if (entry.begin !== at)
      throw malformed(
        site,
        `${JSON.stringify(name.slice(0, 80))}.data_offsets`,
        entry.begin - begin,
        `${at - begin}: tensors lie without gap or overlap`,
      );
    at += entry.bytes;
  }
  if (at !== source.size)
    throw malformed(site, "the file's size", source.size, `${at} bytes, where the last tensor ends`);
  return { entries, metadata };
}

export async function readEntry(source: ByteSource, { dtype, shape, begin, bytes }: TensorEntry): Promise<FileTensor> {
  return { dtype, shape, data: viewOf(dtype, await source.read(begin, bytes)) };
}

/** Writes tensors: the widest element types first, so that each lies at a multiple of its size. */
export async function writeSafetensors(
  file: AtomicFile,
  tensors: Readonly<Record<string, FileTensor>>,
  metadata: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  const order = Object.entries(tensors).sort(
    ([nameA, a], [nameB, b]) => ELEMENT_TYPES[b.dtype].bytes - ELEMENT_TYPES[a.dtype].bytes || (nameA < nameB ? -1 : 1),
  );
  let at = 0;
  const entries = order.map(([name, tensor]) => {
    const begin = at;
    at += tensor.data.byteLength;
    return [name, { dtype: NAMES[tensor.dtype], shape: tensor.shape, data_offsets: [begin, at] }] as [string, unknown];
  });
  if (metadata && Object.keys(metadata).length > 0) entries.unshift(["__metadata__", metadata]);
  const header: JsonObject = Object.fromEntries(entries);
  const text = Buffer.from(JSON.stringify(header), "utf8");
  // Spaces, so that the tensors begin at a multiple of 8.
  const padded = Buffer.concat([text, Buffer.alloc(-text.length & 7, " ")]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  await file.write(length);
  await file.write(padded);
  for (const [, tensor] of order) await file.write(bytesOf(tensor));
}
