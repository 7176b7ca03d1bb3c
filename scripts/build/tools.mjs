// What this machine can build with. Nothing is installed or downloaded here.

import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { run } from "./run.mjs";

/** The full path of a program on PATH (or in one of the extra folders), else undefined. */
export function findTool(name, extraFolders = []) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...extraFolders];
  for (const folder of folders) {
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // not in this folder
    }
  }
  return undefined;
}

/** CXX, as make and cmake read it, else the usual names. */
export const findCxx = () => findCompiler(process.env.CXX, ["g++", "clang++", "c++"]);

/** CC, likewise. */
export const findCc = () => findCompiler(process.env.CC, ["gcc", "clang", "cc"]);

function findCompiler(wanted, usual) {
  const names = wanted ? [wanted] : usual;
  for (const name of names) {
    const found = name.includes("/") ? name : findTool(name);
    if (found && existsSync(found)) return found;
  }
  return undefined;
}

export function findNvcc() {
  if (process.env.CUDACXX) return existsSync(process.env.CUDACXX) ? process.env.CUDACXX : undefined;
  const homes = [process.env.CUDA_HOME, process.env.CUDA_PATH, "/usr/local/cuda"];
  return findTool("nvcc", homes.filter(Boolean).map((home) => join(home, "bin")));
}

/** What a tool says about itself: part of a stamp, so that a new compiler rebuilds. */
export async function versionOf(tool) {
  const { stdout } = await run(`${tool} --version`, tool, ["--version"]);
  return stdout.trim();
}

/**
 * The prefix of a node that ships its own headers, which makes node-gyp work without a network.
 * Undefined lets node-gyp fetch the headers itself.
 */
export function nodeHeaders() {
  const prefix = dirname(dirname(process.execPath));
  return existsSync(join(prefix, "include", "node", "node_api.h")) ? prefix : undefined;
}
