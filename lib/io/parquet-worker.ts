// The program of the thread in parquet-thread.ts: reads the row groups that it is asked for.
import { fstatSync, openSync, readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import * as zlib from "node:zlib";
import type * as Hyparquet from "hyparquet" with { "resolution-mode": "import" };

export interface ParquetTask {
  /** No rows: the sizes of the row groups. */
  readonly request: { readonly rowStart: number; readonly rowEnd: number };
  readonly data: { readonly url: string; readonly path?: string; readonly bytes?: Uint8Array };
}

const { url, path, bytes } = workerData as ParquetTask["data"];

const file = path === undefined ? undefined : openSync(path, "r");
const byteLength = file === undefined ? bytes!.length : fstatSync(file).size;
const slice = (start: number, end = byteLength): ArrayBuffer => {
  if (!(start >= 0 && start <= end && end <= byteLength))
    throw new Error(`it points to bytes ${start} to ${end}, and has ${byteLength}`);
  const part = new Uint8Array(end - start);
  if (file === undefined) part.set(bytes!.subarray(start, end));
  else
    for (let done = 0, read = 1; done < part.length && read > 0; done += read)
      read = readSync(file, part, done, part.length - done, start + done);
  return part.buffer;
};

// A page's declared size is the limit of what is unpacked, and is believed up to a ratio.
const limited =
  (unpack: (input: Uint8Array, limit: number) => Uint8Array) =>
  (input: Uint8Array, size: number): Uint8Array => {
    if (!(size >= 0 && size <= Math.min(2 ** 30, input.length * 4096 + 4096)))
      throw new Error(`a page of ${input.length} bytes declares ${size} unpacked ones`);
    return size === 0 ? new Uint8Array(0) : unpack(input, size);
  };
// Node has zstd from version 22.15 on.
const { zstdDecompressSync } = zlib as { zstdDecompressSync?: typeof zlib.gunzipSync };

const start = async (): Promise<(request: ParquetTask["request"]) => Promise<unknown>> => {
  const { parquetMetadataAsync, parquetReadObjects, snappyUncompress } = (await import(url)) as typeof Hyparquet;
  const compressors = {
    SNAPPY: limited((input, size) => {
      const output = new Uint8Array(size);
      snappyUncompress(input, output);
      return output;
    }),
    GZIP: limited((input, maxOutputLength) => zlib.gunzipSync(input, { maxOutputLength })),
    BROTLI: limited((input, maxOutputLength) => zlib.brotliDecompressSync(input, { maxOutputLength })),
    ZSTD: zstdDecompressSync && limited((input, maxOutputLength) => zstdDecompressSync(input, { maxOutputLength })),
  };
  const buffer = { byteLength, slice };
  const metadata = await parquetMetadataAsync(buffer);
  return async ({ rowStart, rowEnd }) => {
    if (rowEnd === rowStart)
      return metadata.row_groups.map((group) => ({ rows: group.num_rows, bytes: group.total_byte_size }));
    return parquetReadObjects({ file: buffer, metadata, rowStart, rowEnd, compressors });
  };
};

const started = start();
started.catch(() => undefined);
parentPort!.on("message", (request: ParquetTask["request"]) => {
  started
    .then((answer) => answer(request))
    .then(
      (value) => parentPort!.postMessage({ value }),
      (error: unknown) => parentPort!.postMessage({ error: (error as Error).message }),
    );
});
