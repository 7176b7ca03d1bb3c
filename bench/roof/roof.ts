// What memory gives on this machine, in the same run and on the same buffers as what is measured.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** What a share is a share of. GPU results say `"device copy"`. */
export type RoofKind = "read" | "streamed copy" | "read and copy" | "copy" | "rewrite" | "device copy";

interface NativeRoof {
  read(bytes: Uint8Array, threads: number): void;
  copy(to: Uint8Array, from: Uint8Array, threads: number): void;
  copyStreamed(to: Uint8Array, from: Uint8Array, threads: number): void;
  rewrite(bytes: Uint8Array, threads: number): void;
  spin(steps: number, threads: number): void;
}

export interface Roof {
  /** The instruction set that the loops were compiled for. */
  readonly width: string;
  read(views: readonly ArrayBufferView[], threads: number): void;
  /** Ordinary stores: for what stays in a cache. */
  copy(to: ArrayBufferView, from: ArrayBufferView, threads: number): void;
  /** Stores past the caches: for what does not. */
  copyStreamed(to: ArrayBufferView, from: ArrayBufferView, threads: number): void;
  /** Loads and stores in place. Leaves every bit as it was. */
  rewrite(view: ArrayBufferView, threads: number): void;
  spin(steps: number, threads: number): void;
  /** Steps of `spin` that take about as long. */
  stepsIn(milliseconds: number): number;
}

const root = join(__dirname, "..", "..");
const folder = join(root, "build-bench");

function cpuFlags(): Set<string> {
  try {
    const line = /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"));
    return new Set(line?.[1]?.trim().split(/\s+/) ?? []);
  } catch {
    return new Set();
  }
}

function widest(): { readonly width: string; readonly options: readonly string[] } {
  const flags = cpuFlags();
  if (flags.has("avx512f")) return { width: "avx512", options: ["-mavx512f", "-mprefer-vector-width=512"] };
  if (flags.has("avx2")) return { width: "avx2", options: ["-mavx2"] };
  return { width: process.arch === "x64" ? "baseline" : process.arch, options: [] };
}

/** CXX, or what is on the path; undefined where nothing answers. */
export function findCompiler(): string | undefined {
  const own = process.env["CXX"];
  return (own ? [own] : ["g++", "clang++", "c++"]).find(
    (name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0,
  );
}

/** Compiles what is not compiled yet, with the system's compiler. */
function compiled(options: readonly string[]): string {
  const source = join(__dirname, "roof.cpp");
  const headers = join(root, "node_modules", "node-api-headers", "include");
  const cxx = findCompiler();
  if (cxx === undefined)
    throw new Error("the roofs of memory need a C++ compiler: g++, clang++, or the one that CXX names");
  const all = ["-std=c++17", "-O3", "-Wall", "-Wextra", "-fPIC", "-shared", "-pthread", ...options, `-I${headers}`];
  const print = createHash("sha256")
    .update([cxx, ...all, readFileSync(source, "utf8")].join("\n"))
    .digest("hex")
    .slice(0, 16);
  const output = join(folder, `roof-${print}.node`);
  if (existsSync(output)) return output;
  mkdirSync(folder, { recursive: true });
  const partial = `${output}.${process.pid}`;
  const { status, stderr } = spawnSync(cxx, [...all, source, "-o", partial], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${cxx} does not compile the roofs of memory: ${stderr}`);
  renameSync(partial, output);
  return output;
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function calibrate(native: NativeRoof): (milliseconds: number) => number {
  const trial = 1e6;
  native.spin(trial, 1);
  const began = performance.now();
  native.spin(trial, 1);
  const perMillisecond = trial / (performance.now() - began);
  return (milliseconds) => Math.round(milliseconds * perMillisecond);
}

export function loadRoof(): Roof {
  const { width, options } = widest();
  const native = createRequire(__filename)(compiled(options)) as NativeRoof;
  return {
    width,
    read: (views, threads) => views.forEach((view) => native.read(bytesOf(view), threads)),
    copy: (to, from, threads) => native.copy(bytesOf(to), bytesOf(from), threads),
    copyStreamed: (to, from, threads) => native.copyStreamed(bytesOf(to), bytesOf(from), threads),
    rewrite: (view, threads) => native.rewrite(bytesOf(view), threads),
    spin: (steps, threads) => native.spin(steps, threads),
    stepsIn: calibrate(native),
  };
}
