// The files of the repository as git sees them: tracked, or new and not ignored.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export const root = join(__dirname, "..", "..", "..");

/** Paths from the root, with forward slashes, sorted. */
export function repositoryFiles(): string[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  // A file deleted and not yet committed is still in git's list.
  const exists = (path: string): boolean => existsSync(join(root, path)) && statSync(join(root, path)).isFile();
  return [...new Set(list.split("\0"))].filter((path) => path !== "" && exists(path)).sort();
}

export const read = (path: string): string => readFileSync(join(root, path), "utf8");
