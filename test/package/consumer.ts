// Somebody else's project: the packed tarball installed into an empty folder, as npm does it.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { distFile } from "../support/dist";

const root = join(__dirname, "..", "..");

export interface Consumer {
  /** Paths in the tarball, without the leading package/. */
  readonly files: readonly string[];
  /** Size of the tarball. */
  readonly bytes: number;
  /** The folder with node_modules/surprisal in it. */
  readonly folder: string;
  /**
   * Runs a program of this project; its text goes into a file first, so both module formats are real files. `by` is the command that
   * runs files: this Node, if nothing is said.
   */
  run(fileName: string, program: string, env?: Readonly<Record<string, string>>, by?: readonly string[]): string;
  remove(): void;
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function pack(folder: string, destination: string): { tarball: string; files: string[] } {
  const json = npm(["pack", folder, "--json", "--ignore-scripts", "--pack-destination", destination], root);
  const [packed] = JSON.parse(json) as { filename: string; files: { path: string }[] }[];
  return { tarball: join(destination, packed!.filename), files: packed!.files.map((file) => file.path).sort() };
}

export function installTarball(): Consumer {
  distFile();
  const temporary = mkdtempSync(join(tmpdir(), "surprisal-consumer-"));
  const { tarball, files } = pack(root, temporary);
  // The one dependency comes from here as well: the test needs no network.
  const dependency = pack(join(root, "node_modules", "node-gyp-build"), temporary);
  const folder = join(temporary, "project");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true }));
  npm(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", tarball, dependency.tarball], folder);
  return {
    files,
    bytes: statSync(tarball).size,
    folder,
    run(fileName, program, env = {}, [command, ...args] = [process.execPath]) {
      const file = join(folder, fileName);
      writeFileSync(file, program);
      const options = { cwd: folder, encoding: "utf8", env: { ...process.env, ...env } } as const;
      return execFileSync(command!, [...args, file], options);
    },
    remove: () => rmSync(temporary, { recursive: true, force: true }),
  };
}

export const installedPackages = (folder: string): string[] =>
  readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."));
