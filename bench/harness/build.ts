// Builds of the package as the bench loads them: each an instance of its own, with its own addon, so that two revisions or
// two instruction sets run side by side in one process.
import type * as library from "../../lib";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Library = typeof library;

export interface Build {
  readonly name: string;
  readonly lib: Library;
  /** The instruction set that the CPU backend says it runs. */
  readonly level: string;
  /** Sets how many threads the kernels use; false where this build has one only. */
  readonly setThreads: (threads: number) => boolean;
}

export interface BuildOptions {
  /** What SURPRISAL_CPU says while the build is loaded. Default: what it says now. */
  readonly level?: string;
}

const folders: string[] = [];
process.on("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A copy of the addon under another name: a library file is loaded once a process, with one choice of instructions. */
function copyOfAddon(packageRoot: string): string {
  const addon = join(packageRoot, "build", "Release", "surprisal.node");
  if (!existsSync(addon)) throw new Error(`no ${addon}; the bench measures the native CPU backend: npm run build`);
  const folder = mkdtempSync(join(tmpdir(), "surprisal-bench-"));
  folders.push(folder);
  mkdirSync(folder, { recursive: true });
  copyFileSync(addon, join(folder, "surprisal.node"));
  return folder;
}

function withEnvironment<T>(variables: Readonly<Record<string, string | undefined>>, work: () => T): T {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  const set = ([name, value]: readonly [string, string | undefined]): void => {
    if (value === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = value;
  };
  Object.entries(variables).forEach(set);
  try {
    return work();
  } finally {
    before.forEach(set);
  }
}

function threadSetter(lib: Library): (threads: number) => boolean {
  const configure: (options: object) => void = lib.configure;
  return (threads) => {
    try {
      configure({ threads });
      return true;
    } catch {
      return threads === 1; // a build without the option has one thread
    }
  };
}

/** Copies of the package share what they have opened. One that is loaded after this opens its own; those before keep theirs. */
function partFromCopies(): void {
  const shared = Object.getOwnPropertySymbols(globalThis).filter((key) =>
    key.description?.startsWith("surprisal.state."),
  );
  for (const key of shared) Reflect.deleteProperty(globalThis, key);
}

const loaded = new Set<string>();

/** Where a package can be loaded from that was not loaded yet: files that a build loads later must be its own. */
function freshCopy(packageRoot: string): string {
  if (!loaded.has(packageRoot)) {
    loaded.add(packageRoot);
    return packageRoot;
  }
  const folder = mkdtempSync(join(tmpdir(), "surprisal-bench-"));
  folders.push(folder);
  for (const part of ["package.json", "dist"]) cpSync(join(packageRoot, part), join(folder, part), { recursive: true });
  return folder;
}

/** Loads dist/ below `packageRoot` anew. */
export function loadBuild(name: string, packageRoot: string, { level }: BuildOptions = {}): Build {
  const folder = freshCopy(packageRoot);
  const load = createRequire(join(folder, "package.json"));
  partFromCopies();
  const variables = {
    SURPRISAL_NATIVE_PATH: copyOfAddon(packageRoot),
    ...(level !== undefined && { SURPRISAL_CPU: level }),
  };
  return withEnvironment(variables, () => {
    const lib = load(join(folder, "dist", "index.js")) as Library;
    const cpu = lib.backendInfo().backends.find((backend) => backend.name === "cpu");
    if (!cpu?.available) throw new Error(`${name}: the CPU backend cannot run: ${cpu?.reason ?? "unknown"}`);
    // The library asks the environment at its first call, not at loading alone.
    lib.logprob(new Float32Array(4), null, { shape: [1, 4], backend: "cpu" });
    const setThreads = threadSetter(lib);
    setThreads(1);
    return { name, lib, level: levelOf(cpu.device), setThreads };
  });
}

/** The words that SURPRISAL_CPU takes, the best first. */
export const LEVELS = ["avx512bf16", "avx512", "avx2", "neon", "baseline", "portable"] as const;

/** The level in what the backend says of its device. */
export function levelOf(device: string | undefined): string {
  return LEVELS.find((level) => device?.includes(level)) ?? "portable";
}
