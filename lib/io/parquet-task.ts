// What the thread of parquet-thread.ts runs. The function is sent as text: it may use nothing but its arguments.
import type * as Fs from "node:fs";
import type * as Threads from "node:worker_threads";
import type * as Zlib from "node:zlib";
import type * as Hyparquet from "hyparquet" with { "resolution-mode": "import" };

export interface ParquetTask {
  /** No rows: the sizes of the row groups. */
  readonly request: { readonly rowStart: number; readonly rowEnd: number };
  readonly data: { readonly url: string; readonly path?: string; readonly bytes?: Uint8Array };
}

export function parquetTask(load: NodeJS.Require, importUrl: (url: string) => Promise<unknown>): void {
  const threads = load("node:worker_threads") as typeof Threads;
  const fs = load("node:fs") as typeof Fs;
  const zlib = load("node:zlib") as typeof Zlib;
  const { url, path, bytes } = threads.workerData as ParquetTask["data"];

  const file = path === undefined ? undefined : fs.openSync(path, "r");
  const byteLength = file === undefined ? bytes!.length : fs.fstatSync(file).size;
  const slice = (start: number, end = byteLength): ArrayBuffer => {
    if (!(start >= 0 && start <= end && end <= byteLength)) throw new Error(`it points to bytes ${start} to ${end}, and has ${byteLength}`);
    const part = new Uint8Array(end - start);
    if (file === undefined) part.set(bytes!.subarray(start, end));
    else for (let done = 0, read = 1; done < part.length && read > 0; done += read) read = fs.readSync(file, part, done, part.length - done, start + done);
    return part.buffer;
  };

  // A page's declared size is the limit of what is unpacked, and is believed up to a ratio.
  const limited =
    (unpack: (input: Uint8Array, limit: number) => Uint8Array) =>
    (input: Uint8Array, size: number): Uint8Array => {
      if (!(size >= 0 && size <= Math.min(2 ** 30, input.length * 4096 + 4096))) throw new Error(`a page of ${input.length} bytes declares ${size} unpacked ones`);
      return size === 0 ? new Uint8Array(0) : unpack(input, size);
    };
  // Node has zstd from version 22.15 on.
  const { zstdDecompressSync } = zlib as { zstdDecompressSync?: typeof Zlib.gunzipSync };

  const start = async (): Promise<(request: ParquetTask["request"]) => Promise<unknown>> => {
    const { parquetMetadataAsync, parquetReadObjects, snappyUncompress } = (await importUrl(url)) as typeof Hyparquet;
    const compressors = {
      SNAPPY: limited((input, size) => {
        const output = new Uint8Array(size);
        snappyUncompress(input, output);
        return output;
      }),
      GZIP: limited((input, maxOutputLength) => zlib.gunzipSync(input, { maxOutputLength })),
      BROTLI: limited((input, maxOutputLength) => zlib.brotliDecompressSync(input, { maxOutputLength })),
      ...(zstdDecompressSync && { ZSTD: limited((input, maxOutputLength) => zstdDecompressSync(input, { maxOutputLength })) }),
    };
    const buffer = { byteLength, slice };
    const metadata = await parquetMetadataAsync(buffer);
    return async ({ rowStart, rowEnd }) => {
      if (rowEnd === rowStart) return metadata.row_groups.map((group) => ({ rows: group.num_rows, bytes: group.total_byte_size }));
      return parquetReadObjects({ file: buffer, metadata, rowStart, rowEnd, compressors });
    };
  };

  const { parentPort } = threads;
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
}
