// A file that appears whole under its name, or not at all.
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { threadId } from "node:worker_threads";
import { argumentError } from "../core/errors";
import { refusedBySystem } from "./place";
import { pathOf } from "./source";

export interface AtomicFile {
  /** Bytes written so far. */
  readonly bytes: number;
  /** Waits until the system has taken the bytes. */
  write(bytes: Uint8Array | string): Promise<void>;
}

let written = 0;

/**
 * Makes or replaces a file, with its folder. What `fill` writes goes to a temporary name beside it, to the disk, and is then
 * renamed; where `fill` throws, nothing is left behind.
 */
export async function writeAtomically<T>(
  op: string,
  target: unknown,
  fill: (file: AtomicFile) => Promise<T>,
): Promise<T> {
  const path = pathOf(target);
  if (path === undefined || path === "")
    throw argumentError("ERR_SURPRISAL_OPTION", op, "target", target, "a path or a file: URL");
  // No two writers share a name.
  const temporary = `${path}.${process.pid}-${threadId}-${++written}.tmp`;
  const system = <R>(step: Promise<R>): Promise<R> =>
    step.catch((error: unknown) => {
      throw refusedBySystem(op, path, "written", error);
    });

  await system(mkdir(dirname(path), { recursive: true }));
  const file = await system(open(temporary, "wx"));
  let bytes = 0;
  try {
    const result = await fill({
      get bytes() {
        return bytes;
      },
      async write(data) {
        const chunk = typeof data === "string" ? Buffer.from(data, "utf8") : data;
        // A file handle may take a part only.
        for (let at = 0; at < chunk.length;)
          at += (await system(file.write(chunk, at, Math.min(chunk.length - at, 2 ** 30)))).bytesWritten;
        bytes += chunk.length;
      },
    });
    await system(file.sync());
    await file.close();
    await system(rename(temporary, path));
    return result;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
