// Tensors from and into safetensors, npz and npy files.
import { dtypeError, optionError, SurprisalError } from "../core/errors";
import { needWord } from "../core/option-checks";
import { type AtomicFile, writeAtomically } from "./atomic-file";
import { formatOf, HEAD_BYTES } from "./format";
import { readerOf } from "./byte-reader";
import { isNumpyDType, npyParts, readNpy } from "./npy";
import { malformed, unreadable } from "./place";
import { readEntry, readHeader, writeSafetensors } from "./safetensors";
import { type ByteSource, nameOf, openSource, pathOf } from "./source";
import { checkTensor, type FileTensor } from "./tensor-types";
import { readDirectory, ZipWriter } from "./zip";
import { readMember } from "./zip-member";

export type { FileTensor, TensorData, TensorFileDType } from "./tensor-types";

export type TensorFormat = "safetensors" | "npz" | "npy";
const FORMATS: readonly TensorFormat[] = ["safetensors", "npz", "npy"];

export interface ReadTensorsOptions {
  /** Only these; absent ones are an error. Default: all. The others are not read. */
  readonly names?: readonly string[];
  /** What messages call the source. Default: its path. */
  readonly name?: string;
  /** How many bytes the tensors that are read may take in all; a file that declares more is refused. Default 4 GiB. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface TensorFile {
  readonly format: TensorFormat;
  /** By name; the one array of an npy file is named "data". */
  readonly tensors: Readonly<Record<string, FileTensor>>;
  /** The strings that a safetensors file keeps beside its tensors; else empty. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface WriteTensorsOptions {
  /** Default: by the ending of the path. */
  readonly format?: TensorFormat;
  /** Strings to keep beside the tensors; safetensors only. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Deflate the members of an npz, as numpy's savez_compressed. Default false. */
  readonly compress?: boolean;
  readonly signal?: AbortSignal;
}

/** A file's members by name, each read when it is asked for. */
interface Members {
  readonly format: TensorFormat;
  readonly metadata: Readonly<Record<string, string>>;
  readonly names: readonly string[];
  /** As declared, and checked against the file. */
  bytes(name: string): number;
  read(name: string): Promise<FileTensor>;
}

async function membersOf(op: string, source: ByteSource): Promise<Members> {
  const site = { op, file: source.name, line: 0 } as const;
  const head = await source.read(0, Math.min(HEAD_BYTES, source.size));
  const format = formatOf(head);
  if (format === "safetensors") {
    const { entries, metadata } = await readHeader(op, source);
    return {
      format,
      metadata,
      names: [...entries.keys()],
      bytes: (name) => entries.get(name)!.bytes,
      read: (name) => readEntry(source, entries.get(name)!),
    };
  }
  if (format === "npz") {
    const entries = new Map(
      (await readDirectory(op, source)).map((entry) => [entry.name.replace(/\.npy$/, ""), entry]),
    );
    return {
      format,
      metadata: {},
      names: [...entries.keys()],
      bytes: (name) => entries.get(name)!.size,
      read: (name) => readMember(op, source, entries.get(name)!, (member) => readNpy(site, name, member)),
    };
  }
  if (head[0] === 0x93)
    return {
      format: "npy",
      metadata: {},
      names: ["data"],
      bytes: () => source.size,
      read: () => readNpy(site, "data", readerOf(source, 0, source.size)),
    };
  throw unreadable(site, "is no safetensors, npz or npy file");
}

/**
 * Reads tensors with the bits that the file has: float16 and bfloat16 as bits in a Uint16Array, int64 as BigInt64Array. Every
 * size that the file declares is checked against the file before memory is taken.
 *
 * @param source a path, a file: URL or bytes
 * @throws SurprisalError ERR_SURPRISAL_FILE naming the file and the tensor, _OPTION for a name that is not in it
 */
export async function readTensors(
  source: string | URL | Uint8Array,
  options: ReadTensorsOptions = {},
): Promise<TensorFile> {
  const op = "readTensors";
  const bytes = await openSource(op, source, nameOf(source, options.name));
  try {
    return await readTensorsOf(op, bytes, options);
  } finally {
    await bytes.close();
  }
}

/** The names of a file's tensors. */
export async function tensorNames(op: string, bytes: ByteSource): Promise<readonly string[]> {
  return (await membersOf(op, bytes)).names;
}

/** As `readTensors`, from an open source and in the name of the public function `op`. */
export async function readTensorsOf(op: string, bytes: ByteSource, options: ReadTensorsOptions): Promise<TensorFile> {
  const { signal, maxBytes = 2 ** 32 } = options;
  const members = await membersOf(op, bytes);
  const names = options.names ?? members.names;
  for (const name of names)
    if (!members.names.includes(name))
      throw optionError(op, "names", name, `names of the file (${members.names.slice(0, 20).join(", ")})`);
  const total = names.reduce((sum, name) => sum + members.bytes(name), 0);
  if (total > maxBytes)
    throw malformed(
      { op, file: bytes.name, line: 0 },
      "the tensors' size",
      total,
      `at most ${maxBytes} bytes`,
      "the option maxBytes allows more, names reads fewer",
    );
  const tensors: [string, FileTensor][] = [];
  for (const name of names) {
    signal?.throwIfAborted();
    tensors.push([name, await members.read(name)]);
  }
  return { format: members.format, metadata: members.metadata, tensors: Object.fromEntries(tensors) };
}

function formatOfTarget(op: string, target: unknown, given: TensorFormat | undefined): TensorFormat {
  if (given !== undefined) {
    needWord(op, "format", given, FORMATS);
    return given;
  }
  const ending = /\.(safetensors|npz|npy)$/i.exec(pathOf(target) ?? "")?.[1]?.toLowerCase();
  if (ending === undefined)
    throw optionError(op, "target", target, "a path that ends with .safetensors, .npz or .npy, or the option format");
  return ending as TensorFormat;
}

async function writeNpz(
  file: AtomicFile,
  tensors: Readonly<Record<string, FileTensor>>,
  { compress = false, signal }: WriteTensorsOptions,
): Promise<void> {
  const zip = new ZipWriter(file);
  for (const [name, tensor] of Object.entries(tensors)) {
    signal?.throwIfAborted();
    await zip.add(`${name}.npy`, npyParts(tensor), compress);
  }
  await zip.finish();
}

/** Writes tensors into an open file, in the name of the public function `op`. */
export async function writeTensorsTo(
  op: string,
  file: AtomicFile,
  format: TensorFormat,
  tensors: Readonly<Record<string, FileTensor>>,
  options: WriteTensorsOptions,
): Promise<void> {
  for (const [name, tensor] of Object.entries(tensors)) {
    checkTensor(op, `tensors.${name}`, tensor);
    if (format !== "safetensors" && !isNumpyDType(tensor.dtype))
      throw dtypeError(op, `tensors.${name}.dtype`, tensor.dtype, "a type that numpy has", "safetensors holds it");
  }
  if (options.metadata && format !== "safetensors")
    throw optionError(op, "metadata", options.metadata, "nothing: only safetensors has room for it");
  if (format === "safetensors") return writeSafetensors(file, tensors, options.metadata);
  if (format === "npz") return writeNpz(file, tensors, options);
  const [only, ...others] = Object.values(tensors);
  if (!only || others.length > 0)
    throw new SurprisalError(
      "ERR_SURPRISAL_OPTION",
      `${op}: an npy file holds one tensor, got ${Object.keys(tensors).length}; npz holds several`,
      { op, name: "tensors" },
    );
  for (const part of npyParts(only)) await file.write(part);
}

/**
 * Writes tensors: as numpy's `savez`, or as the safetensors package does. The file appears whole or not at all.
 *
 * @param target a path or a file: URL
 * @param tensors by name
 * @throws SurprisalError ERR_SURPRISAL_DTYPE or _SHAPE for data that is not what dtype and shape say, _OPTION, _FILE
 */
export async function writeTensors(
  target: string | URL,
  tensors: Readonly<Record<string, FileTensor>>,
  options: WriteTensorsOptions = {},
): Promise<{ readonly format: TensorFormat; readonly bytes: number }> {
  const op = "writeTensors";
  options.signal?.throwIfAborted();
  const format = formatOfTarget(op, target, options.format);
  return writeAtomically(op, target, async (file) => {
    await writeTensorsTo(op, file, format, tensors, options);
    options.signal?.throwIfAborted();
    return { format, bytes: file.bytes };
  });
}
