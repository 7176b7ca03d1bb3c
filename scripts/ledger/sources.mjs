// What a CUDA source is compiled from: a hash of the file and of all that it includes, comments and blanks aside.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { at, filesBelow, shown } from "../build/paths.mjs";

const FOLDERS = ["native/cuda", "native", "native/include"];
const COMMENT_OR_TEXT = /\/\*[^]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"/g;

/** Of every .cu file, by its path. */
export const sourceHashes = () =>
  Object.fromEntries(filesBelow("native/cuda", [".cu"]).map((file) => [shown(file), hashOf(shown(file))]));

/** The .cu files that a kernel's file is compiled in: itself, or those that include the header. */
export const compiledIn = (file) =>
  file.endsWith(".cu")
    ? [file]
    : filesBelow("native/cuda", [".cu"])
        .map(shown)
        .filter((path) => includedIn(path).has(file));

/** @public Tests import it in a program of their own. */
export const bare = (text) =>
  text.replace(COMMENT_OR_TEXT, (found) => (found.startsWith('"') ? found : " ")).replace(/\s+/g, " ");

function hashOf(file) {
  const hash = createHash("sha256");
  for (const text of includedIn(file).values()) hash.update(bare(text));
  return hash.digest("hex").slice(0, 16);
}

/** The text of a file and of all that it includes, by path, in the order in which they are first included. */
function includedIn(file) {
  const seen = new Map();
  const add = (path) => {
    if (seen.has(path)) return;
    const text = readFileSync(at(path), "utf8");
    seen.set(path, text);
    for (const [, name] of text.matchAll(/^\s*#include "([^"]+)"/gm)) {
      const found = [dirname(path), ...FOLDERS].map((folder) => join(folder, name)).find((one) => existsSync(at(one)));
      if (found) add(found);
    }
  };
  add(file);
  return seen;
}
