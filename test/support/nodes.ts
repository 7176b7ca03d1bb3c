// The Node lines that the package is held to, each with the program to run it by: this one, or what `npm run nodes` installed.
import { existsSync } from "node:fs";
import * as path from "node:path";

import lines from "./node-lines.json";

export interface NodeLine {
  readonly line: string;
  /** The program; undefined where the line is not installed. */
  readonly program: string | undefined;
}

export const nodeLines: readonly NodeLine[] = lines.map((line) => {
  if (process.versions.node.startsWith(`${line}.`)) return { line, program: process.execPath };
  const name = `node-${process.platform}-${process.arch}`;
  const folder = path.join(__dirname, "..", "..", "build-nodes", line, "node_modules", name, "bin");
  const program = path.join(folder, process.platform === "win32" ? "node.exe" : "node");
  return { line, program: existsSync(program) ? program : undefined };
});
