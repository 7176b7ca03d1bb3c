// The programs that the package is held to beside the Node at work, where `npm run nodes` installed them: other Node lines, Bun, Deno; and bundlers.
import { existsSync } from "node:fs";
import * as path from "node:path";

import { bundlers, node, programs } from "./runtimes.json";

export interface NodeLine {
  readonly line: string;
  /** The program; undefined where the line is not installed. */
  readonly program: string | undefined;
}

const SYSTEM = `${process.platform}-${process.arch}`;
const ROOT = path.join(__dirname, "..", "..", "build-nodes");

const firstOf = (files: readonly string[]): string | undefined => files.find((file) => existsSync(file));

export const nodeLines: readonly NodeLine[] = node.map((line) => {
  if (process.versions.node.startsWith(`${line}.`)) return { line, program: process.execPath };
  const folder = path.join(ROOT, line, "node_modules", `node-${SYSTEM}`);
  // node.exe stands at the root of some packages for Windows.
  return { line, program: firstOf(["bin/node", "bin/node.exe", "node.exe"].map((file) => path.join(folder, file))) };
});

/** A program that is no Node and runs its packages. */
export interface OtherRuntime {
  readonly name: keyof typeof programs;
  /** The program; undefined where it is not installed. */
  readonly program: string | undefined;
  /** What stands before the file that it runs. Deno asks for leave unless it has it, and installs packages unless they are there. */
  readonly run: readonly string[];
  /** The flag, behind those, with which `gc()` is there. */
  readonly exposeGc: string;
  /** What keeps its caches apart: from those of other clones, and of tests at work at the same time. */
  readonly env: Readonly<Record<string, string>>;
}

export const otherRuntimes: readonly OtherRuntime[] = (["Bun", "Deno"] as const).map((name) => {
  const { packages, run, exposeGc } = programs[name];
  const place = (packages as Readonly<Record<string, readonly string[]>>)[SYSTEM];
  const program = place && firstOf([path.join(ROOT, name, "node_modules", ...place)]);
  const cache = path.join(ROOT, name, `cache-${process.env["JEST_WORKER_ID"] ?? "1"}`);
  return { name, program, run, exposeGc, env: { DENO_DIR: cache } };
});

/** The program of a bundler, which Node runs; undefined where it is not installed. */
export const bundlerFile = (name: keyof typeof bundlers): string | undefined =>
  firstOf([path.join(ROOT, name, "node_modules", bundlers[name].file)]);
