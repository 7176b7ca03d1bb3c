// A file that appears whole under its name, or not at all.
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { optionError } from "../core/errors";
import { type Destination, destinationOf, unfinishedName, whatIs } from "../core/unfinished-file";
import { refusedBySystem, unreadable } from "./place";
import { pathOf } from "./source";

export interface AtomicFile {
  /** Bytes written so far. */
  readonly bytes: number;
  /** Waits until the system has taken the bytes. */
  write(bytes: Uint8Array | string): Promise<void>;
}

/** Where a file goes, with its folder, which is made. */
async function prepare(op: string, path: string): Promise<Destination> {
  try {
    await mkdir(dirname(path), { recursive: true });
    return destinationOf(path);
  } catch (error) {
    throw refusedBySystem(op, path, "written", error);
  }
}

/**
 * Makes or replaces a file, with its folder; of a link, the file that it leads to. What `fill` writes goes to a hidden name beside
 * it, to the disk, and is then renamed; where `fill` throws, nothing is left behind. Permissions stay as they were.
 */
export async function writeAtomically<T>(
  op: string,
  target: unknown,
  fill: (file: AtomicFile) => Promise<T>,
): Promise<T> {
  const path = pathOf(target);
  if (path === undefined || path === "") throw optionError(op, "target", target, "a path or a file: URL");
  const system = <R>(step: Promise<R>): Promise<R> =>
    step.catch((error: unknown) => {
      throw refusedBySystem(op, path, "written", error);
    });

  const place = await prepare(op, path);
  if (place.stats && !place.stats.isFile())
    throw unreadable(
      { op, file: path, line: 0 },
      `cannot be written: it is ${whatIs(place.stats)}, which no file can take the place of; name a file`,
    );
  const temporary = unfinishedName(place.path);
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
    if (place.stats) await system(file.chmod(place.stats.mode & 0o7777));
    await system(file.sync());
    await file.close();
    await system(rename(temporary, place.path));
    return result;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
