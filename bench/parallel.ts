// From which size of call two threads pay: the same call on one thread and on two, over sizes, for kernels that wait for memory and
// for those that compute. Needs two idle cores. The pool keeps calls below parallel_bytes (native/cpu/sizes.h) on one thread, where an
// op counts as many bytes as could be read in its time, and cuts pieces of piece_bytes: to see below them, build with smaller ones.
//
//   node --import tsx bench/parallel.ts [--write]       prints a table; --write puts it into bench/results/parallel.json
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import * as path from "node:path";
import {
  clippedObjective,
  configure,
  divergence,
  gae,
  groupNormalize,
  logprob,
  logRatio,
  measureMismatch,
} from "../lib";

const REPETITIONS = 31;
const SAMPLE_SECONDS = 0.001;
const COUNTS = [8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288] as const;
const STEPS = 512;
const VOCABULARY = 4096;

const waves = (n: number, step = 1): Float32Array => Float32Array.from({ length: n }, (_, i) => Math.sin(step * i));
const floats = (n: number): Float32Array => new Float32Array(n);

/** A call on so many tokens in rows of 512, rewards in groups of 8, or logits in rows of 4,096. */
const CALLS: Readonly<Record<string, (n: number) => () => unknown>> = {
  "logRatio of rows": (n) => {
    const rows = n / STEPS;
    const [current, old] = [waves(n), waves(n, 1.1)];
    const out = { logRatios: floats(rows), ratios: floats(rows) };
    return () => logRatio(current, old, { level: "sequence", shape: [rows, STEPS], out, backend: "cpu" });
  },
  gae: (n) => {
    const shape = [n / STEPS, STEPS] as const;
    const [rewards, values] = [waves(n), waves(n, 1.1)];
    const out = { advantages: floats(n), returns: floats(n) };
    return () => gae(rewards, values, { shape, gamma: 0.99, lambda: 0.95, out, backend: "cpu" });
  },
  "clippedObjective of tokens": (n) => {
    const shape = [n / STEPS, STEPS] as const;
    const [current, old, advantages] = [waves(n), waves(n, 1.1), waves(shape[0])];
    const rowWeights = new Float64Array(shape[0]).fill(1 / n);
    const out = { gradLogProbs: floats(n) };
    const options = { shape, level: "token", clipLow: 0.2, clipHigh: 0.2, rowWeights, out, backend: "cpu" } as const;
    return () => clippedObjective(current, old, advantages, options);
  },
  "measureMismatch, k3": (n) => {
    const [current, old] = [waves(n), waves(n, 1.1)];
    return () => measureMismatch(current, old, { statistic: "k3", shape: [n / STEPS, STEPS], backend: "cpu" });
  },
  groupNormalize: (n) => {
    const values = waves(n);
    const groups = n / 8;
    const groupOffsets = Int32Array.from({ length: groups + 1 }, (_, g) => 8 * g);
    const out = { normalized: floats(n), means: floats(groups), stds: floats(groups), counts: new Int32Array(groups) };
    return () => groupNormalize(values, { groupOffsets, epsilon: 1e-6, out, backend: "cpu" });
  },
  logprob: (n) => {
    const logits = waves(n);
    return () => logprob(logits, null, { shape: [n / VOCABULARY, VOCABULARY], backend: "cpu" });
  },
  "divergence, KL": (n) => {
    const [student, teacher] = [waves(n), waves(n, 1.1)];
    return () => divergence(student, teacher, { shape: [n / VOCABULARY, VOCABULARY], beta: 0, backend: "cpu" });
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
    COUNTS.map((count) => {
      const { one, two, speedup } = compare(callOf(count));
      console.log(`${name.padEnd(28)}${String(count).padStart(8)}  one ${one} µs, two ${two} µs: ${speedup}x`);
      return { call: name, count, microseconds: { one, two }, speedup };
    }),
  );
  if (!write) return;
  const file = path.join(__dirname, "results", "parallel.json");
  mkdirSync(path.dirname(file), { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cpus: cpus().length, node: process.versions.node };
  writeFileSync(file, `${JSON.stringify({ unit: "µs a call", repetitions: REPETITIONS, machine, rows }, null, 1)}\n`);
}

main(process.argv.includes("--write"));
