// What a result says about where it was taken: processor and versions, nothing that names a host.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";

export const root = join(__dirname, "..", "..");

function firstLine(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n", 1)[0]!.trim() : undefined;
}

const entry = (cpuinfo: string, name: string) => new RegExp(`^${name}\\s*:\\s*(.*)$`, "m").exec(cpuinfo)?.[1];

/** The processor's name, and family and model where they are given: machines with the same rented name can be generations apart. */
export function processorOf(cpuinfo: string, fallback: string): string {
  const name = (entry(cpuinfo, "model name") ?? fallback).replaceAll(/\s+/g, " ").trim();
  const [family, model] = [entry(cpuinfo, "cpu family"), entry(cpuinfo, "model")];
  return family === undefined || model === undefined ? name : `${name}, family ${family} model ${model}`;
}

function caches(): string {
  const folder = "/sys/devices/system/cpu/cpu0/cache";
  if (!existsSync(folder)) return "unknown";
  return readdirSync(folder)
    .filter((name) => name.startsWith("index"))
    .sort()
    .map((name) => ["level", "type", "size"].map((field) => firstLine(join(folder, name, field)) ?? "?"))
    .map(([level, type, size]) => `L${level}${type === "Data" ? "d" : type === "Instruction" ? "i" : ""} ${size}`)
    .join(", ");
}

function pages(): string {
  const huge = /\[(\w+)\]/.exec(firstLine("/sys/kernel/mm/transparent_hugepage/enabled") ?? "")?.[1];
  return `as an ArrayBuffer has them (transparent huge pages: ${huge ?? "unknown"})`;
}

export function git(...args: string[]): string {
  const { stdout, status, stderr } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.trim()}`);
  return stdout.trim();
}

/** Files that a bench writes do not make the code another. */
const WRITTEN = [":!bench/results", ":!docs/performance.md", ":!docs/performance.svg"];

function commitHere(): string {
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ...WRITTEN) !== "";
    return `${git("rev-parse", "--short=12", "HEAD")}${changed ? "+" : ""}`;
  } catch {
    return "unknown";
  }
}

export function machineFacts() {
  const cpuinfo = existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "utf8") : "";
  const [first] = cpus();
  return {
    date: new Date().toISOString(),
    commit: commitHere(),
    machine: processorOf(cpuinfo, first?.model ?? process.arch),
    cores: cpus().length,
    caches: caches(),
    pages: pages(),
  };
}
