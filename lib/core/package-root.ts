// Where this package lies, and what Node finds from there. Asked when it is needed: a bundle of somebody else's may have no place.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

let root: string | undefined;

/** The folder of the package: the nearest one above this file that has a package.json. */
export function packageRoot(): string {
  if (root !== undefined) return root;
  root = dirname(import.meta.filename);
  while (!existsSync(join(root, "package.json")) && dirname(root) !== root) root = dirname(root);
  return root;
}

/** A built file by its path in dist/: what a worker or another process runs, and what the report carries in itself. */
export const builtFile = (...path: readonly string[]): string => join(packageRoot(), "dist", ...path);

/** `require`, as a file of this package has it. */
export const requireHere = (): NodeJS.Require => createRequire(import.meta.filename);
