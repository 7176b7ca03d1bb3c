// Is an output made of these very inputs? A stamp beside the output holds the hash of what it was
// made from: contents, not times, so a checkout or a copy does not rebuild what is the same.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { shown } from "./paths.mjs";

/** `facts` are strings such as flags and compiler versions, `files` are absolute paths. */
export function fingerprint(facts, files) {
  const hash = createHash("sha256");
  for (const fact of facts) hash.update(`fact ${fact}\n`);
  for (const file of files) {
    hash.update(`file ${shown(file)}\n`);
    hash.update(readFileSync(file));
  }
  return hash.digest("hex");
}

export function isFresh(outputs, stampFile, print) {
  return (
    outputs.every((output) => existsSync(output)) &&
    existsSync(stampFile) &&
    readFileSync(stampFile, "utf8").trim() === print
  );
}

export function writeStamp(stampFile, print) {
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, `${print}\n`);
}
