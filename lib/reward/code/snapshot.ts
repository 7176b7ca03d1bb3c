// What lets an interpreter start soon (python/realm.ts), made once in this process and handed to every later one as an open file without a name.
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const files = new Map<string, Promise<number>>();

/** A descriptor for reading. */
export function snapshotFile(folder: string, make: () => Promise<Uint8Array>): Promise<number> {
  let file = files.get(folder);
  if (!file) {
    file = make().then(keep);
    file.catch(() => files.delete(folder));
    files.set(folder, file);
  }
  return file;
}

function keep(snapshot: Uint8Array): number {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-"));
  const path = join(folder, "snapshot");
  try {
    writeFileSync(path, snapshot, { flag: "wx", mode: 0o600 });
    return openSync(path, "r");
  } finally {
    // On Windows the folder stays until the system clears it.
    rmSync(folder, { recursive: true, force: true, maxRetries: process.platform === "win32" ? 0 : 3 });
  }
}
