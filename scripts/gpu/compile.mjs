// TypeScript of a folder as JavaScript below another, at the same places; what is not TypeScript is copied.

import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { transformFileSync } from "@swc/core";
import { filesBelow, shown } from "../build/paths.mjs";

const OPTIONS = {
  swcrc: false,
  jsc: { target: "es2022", parser: { syntax: "typescript" } },
  module: { type: "commonjs" },
};

/** Answers the code of every file that was compiled. */
export function compileFolder(folder, to, copied) {
  const codes = [];
  for (const file of filesBelow(folder, [".ts", ...copied])) {
    const place = join(to, shown(file));
    mkdirSync(dirname(place), { recursive: true });
    if (file.endsWith(".d.ts") || file.endsWith(".d.cts")) continue;
    if (!file.endsWith(".ts")) {
      copyFileSync(file, place);
      continue;
    }
    const { code } = transformFileSync(file, OPTIONS);
    codes.push(code);
    writeFileSync(place.replace(/\.ts$/, ".js"), code);
  }
  return codes;
}
