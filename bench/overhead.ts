// What a small call costs through the public functions, and from which size on the cpu backend is the faster one:
//
//   npx tsx bench/overhead.ts [--write]              --write keeps bench/results/overhead.json
//   npx tsx bench/overhead.ts --against DIR [--write]
//
// The second compares with another built checkout, in processes by turns: small calls of "auto", the least time of all rounds of each, for
// other work on the machine only adds to a time; and the median of the rounds' ratios beside it (bench/results/overhead-against.json).
//
// CPU time of this process and not the clock: other work on the machine changes it less. Arrays are given (`out`), so
// what is measured is checks, the way to the backend and the backend itself.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import * as path from "node:path";
import type * as library from "../lib";

const after = (flag: string): string | undefined =>
  process.argv.includes(flag) ? process.argv[process.argv.indexOf(flag) + 1] : undefined;

// What users load: dist/, of `npm run build`.
const OURS = path.join(__dirname, "..");
const surprisal = createRequire(__filename)(path.join(after("--of") ?? OURS, "dist/index.js")) as typeof library;

const SIZES = [8, 16, 32, 64, 128, 512, 4096];
const BACKENDS = ["js", "cpu", "auto"] as const;
const REPETITIONS = 15;
const TARGET_CALLS_NS = 2e6; // of one repetition
const WARM_CALLS = 8000; // or as many as fit into the time: a call that takes longer has been compiled by then
const WARM_MS = 200;

type Backend = (typeof BACKENDS)[number];
type Call = (backend: Backend) => () => unknown;

const ramp = (n: number, scale = 1): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => scale * Math.sin(i + 1));
const floats = (n: number): Float32Array => new Float32Array(n);

/** Calls on n numbers in rows of at most 64. */
const CALLS: Readonly<Record<string, (n: number) => Call>> = {
  groupNormalize: (n) => {
    const groupOffsets = Int32Array.from({ length: n / 8 + 1 }, (_, g) => 8 * g);
    const groups = n / 8;
    // An older checkout may not know "all".
    const one = n === 8 && after("--of") === undefined;
    const out = { normalized: floats(n), means: floats(groups), stds: floats(groups), counts: new Int32Array(groups) };
    const values = ramp(n);
    return (backend) => () =>
      surprisal.groupNormalize(values, one ? { backend, out, groups: "all" } : { backend, out, groupOffsets });
  },
  groupSoftmax: (n) => {
    const groupOffsets = Int32Array.from({ length: n / 8 + 1 }, (_, g) => 8 * g);
    const values = ramp(n);
    return (backend) => () => surprisal.groupSoftmax(values, { backend, groupOffsets, temperature: 0.5 });
  },
  gae: (n) => {
    const shape = [n / Math.min(n, 64), Math.min(n, 64)] as const;
    const [rewards, values, out] = [ramp(n), ramp(n), { advantages: floats(n), returns: floats(n) }];
    return (backend) => () => surprisal.gae(rewards, values, { backend, shape, gamma: 0.99, lambda: 0.95, out });
  },
  logRatio: (n) => {
    const shape = [n / Math.min(n, 64), Math.min(n, 64)] as const;
    const [current, old, out] = [ramp(n, 0.1), ramp(n, 0.2), { logRatios: floats(n), ratios: floats(n) }];
    return (backend) => () => surprisal.logRatio(current, old, { backend, shape, level: "token", out });
  },
  clippedObjective: (n) => {
    const rows = n / Math.min(n, 64);
    const [current, old, advantages] = [ramp(n, 0.1), ramp(n, 0.2), ramp(rows)];
    const options = {
      shape: [rows, n / rows] as const,
      level: "token",
      clipLow: 0.2,
      clipHigh: 0.2,
      advantagesPer: "row",
      out: { gradLogProbs: floats(n) },
    } as const;
    return (backend) => {
      const whole = { backend, ...options };
      return () => surprisal.clippedObjective(current, old, advantages, whole);
    };
  },
};

function cpuNanoseconds(run: () => unknown, times: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < times; ++i) run();
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / times;
}

function warmUp(run: () => unknown): void {
  const end = performance.now() + WARM_MS;
  for (let i = 0; i < WARM_CALLS && performance.now() < end; i += 20) for (let k = 0; k < 20; ++k) run();
}

/** Median and smallest of the repetitions, after the code is warm. */
function measure(run: () => unknown): { readonly median: number; readonly least: number } {
  warmUp(run);
  const times = Math.max(50, Math.round(TARGET_CALLS_NS / cpuNanoseconds(run, 200)));
  const found = Array.from({ length: REPETITIONS }, () => cpuNanoseconds(run, times)).sort((a, b) => a - b);
  return { median: Math.round(found[REPETITIONS >> 1]!), least: Math.round(found[0]!) };
}

const RESULTS = path.join(__dirname, "results");
const MACHINE = { cpu: cpus()[0]?.model, cpus: cpus().length, node: process.versions.node };

function keep(name: string, result: object): void {
  mkdirSync(RESULTS, { recursive: true });
  const whole = { unit: "ns of CPU time a call", repetitions: REPETITIONS, machine: MACHINE, ...result };
  writeFileSync(path.join(RESULTS, name), `${JSON.stringify(whole, null, 1)}\n`);
}

function main(write: boolean): void {
  const rows = Object.entries(CALLS).flatMap(([name, callOf]) =>
    SIZES.map((elements) => {
      const call = callOf(elements);
      const nanoseconds = Object.fromEntries(BACKENDS.map((backend) => [backend, measure(call(backend))]));
      const shown = BACKENDS.map((backend) => `${backend} ${String(nanoseconds[backend]!.least).padStart(7)}`).join(
        "  ",
      );
      console.log(`${name.padEnd(17)}${String(elements).padStart(5)}  ${shown} ns`);
      return { function: name, elements, nanoseconds };
    }),
  );
  if (write) keep("overhead.json", { rows });
}

const ROUNDS = 25;
const SMALL_SIZES = [8, 64, 512];

/** The least time of each call of one checkout, in a process of its own. */
type Times = Readonly<Record<string, number>>;

function printTimes(): void {
  const times = Object.entries(CALLS).flatMap(([name, callOf]) =>
    SMALL_SIZES.map((elements) => [`${name} ${elements}`, measure(callOf(elements)("auto")).least] as const),
  );
  console.log(JSON.stringify(Object.fromEntries(times)));
}

function timesOf(tree: string): Times {
  const argv = [...process.execArgv, __filename, "--of", path.resolve(tree)];
  return JSON.parse(execFileSync(process.execPath, argv, { encoding: "utf8" })) as Times;
}

const middle = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;

const rounded = (ratio: number): number => Number(ratio.toFixed(3));

function commitOf(tree: string): string {
  return execFileSync("git", ["-C", tree, "describe", "--always", "--dirty"], { encoding: "utf8" }).trim();
}

function compare(other: string, write: boolean): void {
  const rounds = Array.from({ length: ROUNDS }, (_, round) => {
    // By turns, and each goes first as often.
    const first = timesOf(round % 2 === 0 ? other : OURS);
    const second = timesOf(round % 2 === 0 ? OURS : other);
    return round % 2 === 0 ? { theirs: first, ours: second } : { theirs: second, ours: first };
  });
  const rows = Object.keys(rounds[0]!.ours).map((call) => {
    const before = Math.min(...rounds.map(({ theirs }) => theirs[call]!));
    const now = Math.min(...rounds.map(({ ours }) => ours[call]!));
    const ratio = rounded(now / before);
    const medianRatio = rounded(middle(rounds.map(({ ours, theirs }) => ours[call]! / theirs[call]!)));
    console.log(
      `${call.padEnd(22)}${String(before).padStart(7)} → ${String(now).padStart(7)} ns  × ${ratio}, median × ${medianRatio}`,
    );
    const [name, elements] = call.split(" ");
    return { function: name, elements: Number(elements), before, now, ratio, medianRatio };
  });
  if (write) keep("overhead-against.json", { rounds: ROUNDS, before: commitOf(other), now: commitOf(OURS), rows });
}

const write = process.argv.includes("--write");
const against = after("--against");
if (after("--of") !== undefined) printTimes();
else if (against !== undefined) compare(against, write);
else main(write);
