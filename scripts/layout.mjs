// The layout of generated TypeScript: that of all code, by the formatter's own settings.

import { readFileSync } from "node:fs";
import { format } from "oxfmt";
import { at } from "./build/paths.mjs";

const text = readFileSync(at(".oxfmtrc.json"), "utf8").replace(/^\s*\/\/.*$/gm, "");
const { $schema: _, ignorePatterns: __, ...settings } = JSON.parse(text);

/** @returns the file's text, laid out */
export async function laidOut(path, source) {
  const { code, errors } = await format(path, source, settings);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  return code;
}
