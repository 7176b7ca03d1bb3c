// Parquet is taken apart in a thread of its own. The format is nested and full of declared counts, and its reader believes them:
// a damaged byte can make it run or allocate for ever. A thread has a limit of memory and can be ended.
import { Worker } from "node:worker_threads";
import { pathToFileURL } from "node:url";
import { builtFile, requireHere } from "../core/package-root";
import type { ParquetTask } from "./parquet-worker";

/** Heap of the thread; V8 ends it beyond that, and nothing else. */
const HEAP_MIB = 4096;
/** How long a step may take: some seconds whatever its size, and more for more. */
const BASE_MS = 10_000;
const MS_PER_MIB = 2_000;

export interface GroupSize {
  readonly rows: bigint;
  readonly bytes: bigint;
}

/** The reader's own entry, as an address that import() takes anywhere. @throws where it is not installed */
const readerUrl = (): string => pathToFileURL(requireHere().resolve("hyparquet")).href;

export class ParquetThread {
  readonly #worker: Worker;
  #settle: { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void } | undefined;

  /** @throws Error where the package that reads Parquet is not installed */
  constructor(source: { readonly path: string } | { readonly bytes: Uint8Array }) {
    this.#worker = new Worker(builtFile("io", "parquet-worker.js"), {
      workerData: { ...source, url: readerUrl() },
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
    this.#worker.on("message", ({ value, error }: { value?: unknown; error?: string }) => {
      if (error === undefined) this.#settle?.resolve(value);
      else this.#settle?.reject(new Error(error));
    });
    this.#worker.on("error", (error) => this.#settle?.reject(error));
    this.#worker.on("exit", () => this.#settle?.reject(new Error("the thread that reads it has ended")));
  }

  async #ask(request: ParquetTask["request"], bytes: number, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    const limit = BASE_MS + (MS_PER_MIB * bytes) / 2 ** 20;
    let timer: NodeJS.Timeout | undefined;
    let abort = (): void => undefined;
    try {
      return await new Promise((resolve, reject: (error: Error) => void) => {
        this.#settle = { resolve, reject };
        timer = setTimeout(
          () => reject(new Error(`reading ${bytes} bytes took more than ${limit} ms: it declares more than it has`)),
          limit,
        );
        abort = () => reject(signal!.reason as Error);
        signal?.addEventListener("abort", abort, { once: true });
        this.#worker.postMessage(request);
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      this.#settle = undefined;
    }
  }

  /** The row groups of the file. */
  groups(bytes: number, signal: AbortSignal | undefined): Promise<GroupSize[]> {
    return this.#ask({ rowStart: 0, rowEnd: 0 }, bytes, signal) as Promise<GroupSize[]>;
  }

  /** Rows as objects of columns. */
  rows(
    rowStart: number,
    rowEnd: number,
    bytes: number,
    signal: AbortSignal | undefined,
  ): Promise<Record<string, unknown>[]> {
    return this.#ask({ rowStart, rowEnd }, bytes, signal) as Promise<Record<string, unknown>[]>;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
