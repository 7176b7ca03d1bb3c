// How many small Python programs codeReward judges in a minute: `npx tsx bench/reward/programs.ts`, after a build.
// Each has three inputs and an interpreter of its own. Writes bench/results/reward-programs.json.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import type * as reward from "../../lib/reward";

const root = join(__dirname, "..", "..");
const require = createRequire(__filename);
const { codeReward, createCodeSandbox } = require(join(root, "dist", "reward")) as typeof reward;
const { version: pyodide } = require("pyodide/package.json") as { version: string };

const PROGRAMS = 100;
const WORKERS = 2;

/** What it computes of n → a program for it. */
const KINDS: readonly (readonly [(n: number) => string, string])[] = [
  [(n) => String(2 * n), "print(int(input()) * 2)"],
  [(n) => String((n * (n + 1)) / 2), "n = int(input())\nprint(sum(range(n + 1)))"],
  [(n) => String(n).split("").reverse().join(""), "import sys\nprint(sys.stdin.read().strip()[::-1])"],
  [(n) => String(n % 7), "from functools import reduce\nprint(reduce(lambda a, d: (a * 10 + int(d)) % 7, input(), 0))"],
  [
    (n) => Array.from({ length: n % 5 }, (_, i) => i * i).join(" "),
    "n = int(input()) % 5\nprint(*[i * i for i in range(n)])",
  ],
];

async function main(): Promise<void> {
  const inputs = Array.from({ length: PROGRAMS }, (_, i) => [i + 1, 10 * i + 3, 100 * i + 7]);
  const programs = inputs.map((_, i) => KINDS[i % KINDS.length]![1]);
  const tests = inputs.map((own, i) => ({
    io: own.map((n) => ({ input: `${n}\n`, output: KINDS[i % KINDS.length]![0](n) })),
  }));
  const sandbox = createCodeSandbox({ workers: WORKERS, timeLimit: 60_000 });
  const started = performance.now();
  await codeReward(programs.slice(0, 2 * WORKERS), tests.slice(0, 2 * WORKERS), { sandbox });
  const begin = performance.now();
  const results = await codeReward(programs, tests, { sandbox });
  const seconds = (performance.now() - begin) / 1000;
  await sandbox.dispose();
  const wrong = results.filter((result) => result.reward !== 1);
  if (wrong.length > 0) throw new Error(`${wrong.length} programs were not judged right: ${JSON.stringify(wrong[0])}`);
  const result = {
    bench: "reward/programs",
    machine: { cpu: cpus()[0]?.model.trim() ?? "?", cores: availableParallelism(), loadBefore: loadavg()[0] },
    versions: { node: process.version, pyodide },
    programs: PROGRAMS,
    inputsPerProgram: 3,
    workers: WORKERS,
    startSeconds: Number(((begin - started) / 1000).toFixed(2)),
    seconds: Number(seconds.toFixed(2)),
    programsPerMinute: Math.round((60 * PROGRAMS) / seconds),
  };
  writeFileSync(join(root, "bench", "results", "reward-programs.json"), `${JSON.stringify(result, null, 2)}\n`);
  console.log(JSON.stringify(result));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
