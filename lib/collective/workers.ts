// Worker threads of one process, over shared memory.
import { optionError } from "../core/errors";
import { Endpoint } from "./endpoint";
import { World } from "./group";
import type { OpenedCollective } from "./opened";
import { type CollectiveHandle, endRank, memoryOf } from "./shared-memory";

/** What is needed of a `Worker` of node:worker_threads. */
export interface WatchedWorker {
  once(event: "exit", listener: (exitCode: number) => void): unknown;
}

export function openWorkers(handle: unknown): OpenedCollective {
  const memory = typeof handle === "object" && handle !== null ? (handle as CollectiveHandle).memory : undefined;
  if (Object.prototype.toString.call(memory) !== "[object SharedArrayBuffer]")
    throw optionError("openCollective", "handle", handle, "one that createCollective made");
  return new World("workers", new Endpoint(handle as CollectiveHandle));
}

/**
 * Watches the worker that got a handle: when it ends, the ranks that wait for it get an error, also where the worker could not
 * report its end (it never opened its collective, it was terminated, it ran out of memory).
 */
export function watchWorker(worker: WatchedWorker, handle: CollectiveHandle): void {
  const memory = memoryOf(handle);
  worker.once("exit", (code) => endRank(memory, handle.rank, { reason: "exited", cause: handle.rank, code }));
}
