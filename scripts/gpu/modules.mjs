// What a folder of compiled code needs of node_modules: packages that it names, and what those need in turn.

import { cpSync, existsSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { root } from "../build/paths.mjs";

const builtin = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);

/** "@scope/name/file" → "@scope/name"; undefined for a path or one of Node's own. */
function packageOf(specifier) {
  if (specifier.startsWith(".") || builtin.has(specifier)) return undefined;
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Packages that a compiled file asks for. */
export function packagesIn(code) {
  const found = [...code.matchAll(/\b(?:require|import)\(\s*["']([^"']+)["']\s*\)/g)].map(([, specifier]) =>
    packageOf(specifier),
  );
  return new Set(found.filter((name) => name !== undefined));
}

/** Where Node would find a package from a folder, or undefined. */
function folderOf(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return candidate;
    if (folder === root || folder === dirname(folder)) return undefined;
  }
}

/** Folders of the packages and of everything below them; optional ones only where they are installed. */
export function closure(names) {
  const found = new Set();
  const add = (name, from, optional) => {
    const folder = folderOf(name, from);
    if (folder === undefined) {
      if (!optional) throw new Error(`${name} is not installed: run npm ci`);
      return;
    }
    if (found.has(folder)) return;
    found.add(folder);
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    for (const dependency of Object.keys(dependencies)) add(dependency, folder, dependency in optionalDependencies);
    for (const dependency of Object.keys(optionalDependencies)) add(dependency, folder, true);
  };
  for (const name of names) add(name, root, false);
  return [...found];
}

// Neither types nor maps nor anybody's documents run.
const IDLE = /\.(?:d\.[cm]?ts|map|md|markdown|flow)$/;

export function copyPackages(folders, to) {
  for (const folder of folders) {
    const target = join(to, relative(root, folder));
    cpSync(folder, target, {
      recursive: true,
      dereference: true,
      filter: (file) =>
        !IDLE.test(file) && (file === folder || !relative(folder, file).split("/").includes("node_modules")),
    });
  }
}
