// npx tsx bench/fallback.ts, on a quiet machine: what a call costs in WebAssembly and in plain JavaScript, against native code on all
// threads. Writes bench/results/fallback.json, and the factors that the warning, the docs and `doctor` name.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { backendInfo } from "../lib";
import { benchCases } from "../lib/cli/bench/cases";
import { type Contender, pair } from "./harness/pairing";
import { quantile, taken } from "./harness/statistics";

const BACKENDS = ["js", "wasm", "cpu"] as const;
const PACE = { repetitions: 101, secondsEach: 20, least: 15 };
const at = (file: string): string => join(__dirname, "..", file);

export interface FallbackResult {
  readonly case: string;
  readonly sizes: string;
  readonly backend: string;
  readonly error: number;
  readonly calls: number;
  readonly median: number;
  /** Milliseconds of the fastest call, which other work on the machine disturbs least. */
  readonly fastest: number;
}

/** One digit: 1, 2, …, 10, 20, …, 100, 200. */
function rounded(factor: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, factor)));
  return unit * Math.max(1, Math.round(factor / unit));
}

/** How many times longer than on cpu the cases take on a backend: the least and the most. */
export function factorsOf(results: readonly FallbackResult[], backend: "js" | "wasm"): { least: number; most: number } {
  const fastest = (name: string, on: string) =>
    results.find((result) => result.case === name && result.backend === on)!.fastest;
  const names = [...new Set(results.map((result) => result.case))];
  const factors = names.map((name) => fastest(name, backend) / fastest(name, "cpu"));
  return { least: rounded(Math.min(...factors)), most: rounded(Math.max(...factors)) };
}

async function measure(): Promise<FallbackResult[]> {
  const results: FallbackResult[] = [];
  for (const one of benchCases(false)) {
    const contenders = BACKENDS.map((name): Contender => ({ name, run: () => one.run(name) }));
    const errors = BACKENDS.map((name) => one.error(name));
    const samples = await pair(contenders, PACE);
    BACKENDS.forEach((backend, i) => {
      const times = taken(samples.get(backend)!).map((seconds) => 1e3 * seconds);
      const median = quantile(times, 0.5);
      const fastest = Math.min(...times);
      results.push({
        case: one.name,
        sizes: one.sizes,
        backend,
        error: errors[i]!,
        calls: times.length,
        median,
        fastest,
      });
    });
  }
  return results;
}

function replaceIn(file: string, pattern: RegExp, text: string): void {
  const before = readFileSync(at(file), "utf8");
  if (!pattern.test(before)) throw new Error(`${file} has no ${pattern}`);
  writeFileSync(at(file), before.replace(pattern, text));
}

async function main(): Promise<void> {
  const missing = backendInfo().backends.find(({ name, reason }) => BACKENDS.some((own) => own === name) && reason);
  if (missing) throw new Error(`${missing.name}: ${missing.reason}`);
  const results = await measure();
  const machine = {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpu: cpus()[0]?.model.trim(),
    cores: cpus().length,
  };
  writeFileSync(at("bench/results/fallback.json"), `${JSON.stringify({ machine, results }, null, 1)}\n`);
  const [wasm, js] = [factorsOf(results, "wasm"), factorsOf(results, "js")];
  for (const [name, { least, most }] of Object.entries({ wasm, js })) {
    replaceIn(
      "lib/backend/fallback.ts",
      new RegExp(`  ${name}: \\{.*\\},\n`),
      `  ${name}: { least: ${least}, most: ${most} },\n`,
    );
    process.stdout.write(`${name}: ${least} to ${most} times slower than cpu\n`);
  }
  const JS = /JavaScript, \d+ to \d+ times slower/;
  replaceIn(
    "docs/backends.md",
    /WebAssembly, \d+ to \d+ times slower/,
    `WebAssembly, ${wasm.least} to ${wasm.most} times slower`,
  );
  replaceIn("docs/backends.md", JS, `JavaScript, ${js.least} to ${js.most} times slower`);
  replaceIn("docs/troubleshooting.md", JS, `JavaScript, ${js.least} to ${js.most} times slower`);
}

if (require.main === module) void main();
