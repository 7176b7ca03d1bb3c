// A small file that is there whole or not at all.
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { threadId } from "node:worker_threads";
import { argumentError, SurprisalError } from "../core/errors";

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
    throw argumentError("ERR_SURPRISAL_OPTION", op, "path", given, "the name of a file");
}

let written = 0;

/** No two writers share a name: process, thread and number of the write are in it. */
const temporaryName = (path: string): string => `${path}.${process.pid}-${threadId}-${++written}.tmp`;

/**
 * Replaces a file by a text, or makes it, with its folder. The text goes to a temporary name beside it, to the disk, and is then
 * renamed: a reader sees the old file or the new one, and so it is after a crash.
 */
export function replaceFile(op: string, path: string, text: string): void {
  needPath(op, path);
  const temporary = temporaryName(path);
  try {
    mkdirSync(dirname(path), { recursive: true });
    const file = openSync(temporary, "wx");
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    try {
      rmSync(temporary, { force: true });
    } catch {
      // The folder refuses this as well; the first error says why.
    }
    throw refused(op, path, "written", error);
  }
}

/** The text of a file; null where there is none of that name. */
export function readTextFile(op: string, path: string): string | null {
  needPath(op, path);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw refused(op, path, "read", error);
  }
}
