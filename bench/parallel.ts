// From which size of call two threads pay: the same call on one thread and on two, over sizes, for a kernel that waits for memory
// and for one that computes. Needs two idle cores. The pool keeps calls below parallel_bytes (native/cpu/sizes.h) on one
// thread, and cuts pieces of piece_bytes: to see below them, build with smaller ones.
//
//   node --import tsx bench/parallel.ts [--write]       prints a table; --write puts it into bench/results/parallel.json
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import * as path from "node:path";
import { configure, logprob, logRatio } from "../lib";

const REPETITIONS = 41;
const SAMPLE_SECONDS = 0.002;
const KIBIBYTES = [64, 128, 256, 512, 1024, 2048, 4096, 8192] as const;

/** A call that reads about so many bytes, in rows of 16 KiB. */
const CALLS: Readonly<Record<string, (bytes: number) => () => unknown>> = {
  "logRatio, waits for memory": (bytes) => {
    const [rows, steps] = [Math.max(2, bytes / 16_384), 2048];
    const [current, old] = [new Float32Array(rows * steps), new Float32Array(rows * steps)];
    const out = { logRatios: new Float32Array(rows), ratios: new Float32Array(rows) };
    return () => logRatio(current, old, { level: "sequence", shape: [rows, steps], out, backend: "cpu" });
  },
  "logprob, computes": (bytes) => {
    const [rows, vocab] = [Math.max(2, bytes / 16_384), 4096];
    const logits = new Float32Array(rows * vocab);
    return () => logprob(logits, null, { shape: [rows, vocab], backend: "cpu" });
  },
};

function microseconds(run: () => unknown, times: number): number {
  const before = performance.now();
  for (let i = 0; i < times; ++i) run();
  return ((performance.now() - before) * 1e3) / times;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** Medians of one thread's time, of two threads' time, and of the quotients of neighbours in time. */
function compare(run: () => unknown) {
  const pairs = [1, 2].map((threads) => {
    configure({ threads });
    return microseconds(run, 20);
  });
  const times = Math.max(3, Math.round((SAMPLE_SECONDS * 1e6) / Math.max(...pairs)));
  const samples = Array.from({ length: REPETITIONS }, () =>
    [1, 2].map((threads) => {
      configure({ threads });
      return microseconds(run, times);
    }),
  );
  const round = (x: number): number => Number(x.toPrecision(3));
  return {
    one: round(median(samples.map(([one]) => one!))),
    two: round(median(samples.map(([, two]) => two!))),
    speedup: round(median(samples.map(([one, two]) => one! / two!))),
  };
}

function main(write: boolean): void {
  const rows = Object.entries(CALLS).flatMap(([name, callOf]) =>
    KIBIBYTES.map((kibibytes) => {
      const found = compare(callOf(kibibytes * 1024));
      console.log(
        `${name.padEnd(28)}${String(kibibytes).padStart(6)} KiB  one ${found.one} µs, two ${found.two} µs: ${found.speedup}x`,
      );
      return { call: name, kibibytes, microseconds: { one: found.one, two: found.two }, speedup: found.speedup };
    }),
  );
  if (!write) return;
  const file = path.join(__dirname, "results", "parallel.json");
  mkdirSync(path.dirname(file), { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cpus: cpus().length, node: process.versions.node };
  writeFileSync(file, `${JSON.stringify({ unit: "µs a call", repetitions: REPETITIONS, machine, rows }, null, 1)}\n`);
}

main(process.argv.includes("--write"));
