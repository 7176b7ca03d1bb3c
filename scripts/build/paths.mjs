// Where things lie. Every path a build step uses starts here.

import { readdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export const at = (...parts) => join(root, ...parts);

/** A path as people and error messages know it: from the root, with forward slashes. */
export const shown = (path) => relative(root, path).split(sep).join("/");

/** Every file below a folder of the repository whose name ends as asked, in a stable order. */
export function filesBelow(folder, endings) {
  const entries = readdirSync(at(folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}
