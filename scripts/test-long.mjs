// npm run test:long: what `npm test` runs a short suite of, in full. Hours rather than minutes.
//
//   node scripts/test-long.mjs [NAME]      only the parts whose name has this in it
//
// A line when a part begins and one when it ends; the last line adds up the tests of all.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { at } from "./build/paths.mjs";

const WASM = ["--testNamePattern", "^backend wasm"];
const CPU = ["--testNamePattern", "^backend cpu", "--", "test/ops"];
const EMULATED = ["--testNamePattern", "^backend emulated", "--", "test/ops"];

const LONG = { SURPRISAL_LONG: "1" };

/** name, what jest is asked to run, and the environment it runs in */
const PARTS = [
  ["kernels under ASan, UBSan and TSan, all cases, ten million random calls", ["--", "test/native/kernels"], LONG],
  ["emulated ops, threads backwards", EMULATED, { SURPRISAL_EMULATION_ORDER: "reverse" }],
  ["emulated ops, threads in random order", EMULATED, { SURPRISAL_EMULATION_ORDER: "random:7" }],
  ["emulated ops, streams with delays", EMULATED, { SURPRISAL_EMULATION_STREAMS: "delay:7" }],
  ["every suite on wasm", WASM, { SURPRISAL_TEST_WASM: "1" }],
  ["random calls of every op on all backends", ["--", "test/fuzz/backends", "test/fuzz/sizes"], randomCalls()],
  ["every call a hundred times", ["--", "test/fuzz/repeats"], LONG],
  ["parsers under a guided fuzzer", ["--", "test/fuzz/parsers"], LONG],
  ["endurance: calls, workers, killed writers", ["--", "test/hazards/endurance", "test/io/faults"], LONG],
  // `npm test` runs the best one.
  ...levelsHere()
    .slice(1)
    .map((level) => [`cpu ops of level ${level}`, CPU, { SURPRISAL_CPU: level }]),
];

// An hour of both cores: whoever else works on the machine comes first.
setPriority(10);

const wanted = PARTS.filter(([name]) => name.includes(process.argv[2] ?? ""));
const folder = mkdtempSync(join(tmpdir(), "surprisal-long-"));
const total = { passed: 0, failed: 0, skipped: 0 };

for (const [index, [name, args, environment]] of wanted.entries()) {
  const started = performance.now();
  console.log(`--- ${index + 1} of ${wanted.length}: ${name}`);
  const counts = join(folder, `${index}.json`);
  const status = await jest(args, { ...process.env, ...environment, SURPRISAL_TEST_COUNTS: counts });
  const part = existsSync(counts) ? JSON.parse(readFileSync(counts, "utf8")) : { passed: 0, failed: 1, skipped: 0 };
  // A crash, or a part that ran nothing, must not pass for want of a failed test.
  if (part.failed === 0 && (status !== 0 || part.passed === 0)) part.failed = 1;
  for (const key of Object.keys(total)) total[key] += part[key];
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`--- ${name}: ${part.passed} passed, ${part.failed} failed (${seconds} s)`);
}

rmSync(folder, { recursive: true });
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (wanted.length === 0 || total.failed > 0) process.exitCode = 1;

/** Other calls every time, unless the environment says which; the seed of a disagreement is printed. */
function randomCalls() {
  const { SURPRISAL_FUZZ_CALLS = "5000", SURPRISAL_FUZZ_SEED = String(Date.now() % 1e9) } = process.env;
  return { SURPRISAL_FUZZ_CALLS, SURPRISAL_FUZZ_SEED };
}

function levelsHere() {
  return execFileSync(process.execPath, [at("scripts/cpu-levels.mjs")], { encoding: "utf8" })
    .trim()
    .split("\n");
}

function jest(args, env) {
  return new Promise((resolve) => {
    const reporters = ["--reporters", "default", "--reporters", at("test/support/closing-line.cjs")];
    const child = spawn(process.execPath, [at("node_modules/jest/bin/jest.js"), ...reporters, ...args], {
      cwd: at("."),
      env,
      stdio: "inherit",
    });
    child.on("close", (status) => resolve(status ?? 1));
  });
}
