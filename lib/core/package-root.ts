// Where this package lies, and what Node finds from there. Asked when it is needed: a bundle of somebody else's may have no place.
import { existsSync, readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { dirname, join } from "node:path";

const NAME = "surprisal";
let root: string | undefined;

/** This file, or the bundle that it became part of; a file of the working directory where a bundle does not know its own. */
function here(): string {
  let own: string | undefined;
  try {
    own = import.meta.filename;
  } catch {
    // an ES module made of a CommonJS file
  }
  return own ?? join(process.cwd(), "bundle.js");
}

/** The nearest folder above this file that has a package.json. */
function nearest(): string {
  let folder = dirname(here());
  while (!existsSync(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function isThisPackage(folder: string): boolean {
  try {
    return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name?: unknown }).name === NAME;
  } catch {
    return false;
  }
}

/** The folder of the package: that of this file, or, in a bundle, the installed one. */
export function packageRoot(): string {
  if (root !== undefined) return root;
  const folder = nearest();
  if (isThisPackage(folder)) return (root = folder);
  try {
    return (root = dirname(requireHere().resolve(`${NAME}/package.json`)));
  } catch {
    return (root = folder);
  }
}

/** A built file by its path in dist/: what a worker or another process runs, and what the report carries in itself. */
export const builtFile = (...path: readonly string[]): string => join(packageRoot(), "dist", ...path);

type CreateRequire = (file: string) => NodeJS.Require;

declare const module: { readonly constructor: { readonly createRequire?: CreateRequire } } | undefined;

/** That of the class of this very module where Node made it one: to load node:module takes longer than to load the native addon. */
function ownCreateRequire(): CreateRequire | undefined {
  return typeof module === "undefined" ? undefined : module.constructor.createRequire;
}

/** `require` as a file has it. Called by the name of its module, since webpack answers a `createRequire` imported by its own name itself. */
export const requireFrom: CreateRequire = (file) => ownCreateRequire()?.(file) ?? nodeModule.createRequire(file);

/** `require`, as a file of this package has it. */
export const requireHere = (): NodeJS.Require => requireFrom(here());
