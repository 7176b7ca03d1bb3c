// A small file that is there whole or not at all.
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { optionError, SurprisalError } from "../core/errors";
import { destinationOf, unfinishedName, whatIs } from "../core/unfinished-file";

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "unknown";

function refused(op: string, path: string, verb: string, error: unknown): SurprisalError {
  const got = codeOf(error);
  return new SurprisalError(
    "ERR_SURPRISAL_FILE",
    `${op}: ${path} cannot be ${verb} (${got}: ${(error as Error).message})`,
    { op, name: "path", got, want: `a file that can be ${verb}` },
    { cause: error },
  );
}

function needPath(op: string, path: string): void {
  const given: unknown = path;
  if (typeof given !== "string" || given === "")
    throw optionError(op, "path", given, "the name of a file, or null for none");
}

/** Refuses a name under which there is something else than a file. */
function needFile(op: string, path: string, verb: string, found: Stats | undefined): void {
  if (!found || found.isFile()) return;
  throw new SurprisalError(
    "ERR_SURPRISAL_FILE",
    `${op}: ${path} cannot be ${verb}: it is ${whatIs(found)}; name a file`,
    { op, name: "path", got: whatIs(found), want: `a file that can be ${verb}` },
  );
}

/**
 * Replaces a file by a text, or makes it, with its folder; of a link, the file that it leads to. The text goes to a hidden name
 * beside it, to the disk, and is then renamed: a reader sees the old file or the new one, and so it is after a crash.
 */
export function replaceFile(op: string, path: string, text: string): void {
  needPath(op, path);
  let temporary: string | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    const place = destinationOf(path);
    needFile(op, path, "written", place.stats);
    temporary = unfinishedName(place.path);
    const file = openSync(temporary, "wx");
    try {
      writeFileSync(file, text);
      if (place.stats) fchmodSync(file, place.stats.mode & 0o7777);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, place.path);
  } catch (error) {
    try {
      if (temporary !== undefined) rmSync(temporary, { force: true });
    } catch {
      // The folder refuses this as well; the first error says why.
    }
    throw error instanceof SurprisalError ? error : refused(op, path, "written", error);
  }
}

/** The text of a file; null where there is none of that name. */
export function readTextFile(op: string, path: string): string | null {
  needPath(op, path);
  try {
    needFile(op, path, "read", statSync(path));
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof SurprisalError) throw error;
    if (codeOf(error) === "ENOENT") return null;
    throw refused(op, path, "read", error);
  }
}
