// Builds what is missing or out of date. A step says what it is about to do and how long that takes, then what came of it:
//
//   node scripts/build.mjs [dist] [addon] [wasm] [mpi] [emulated] [cuda] [--release [--unpacked]] [--quiet]
//
// No step named means all. A step whose tools are not on this machine is skipped and says why; a
// compiler that is there and refuses the code is an error. --release compiles CUDA for every
// supported architecture; with --unpacked its machine code is not compressed, which is for whoever
// packs the library. --quiet is for commands that build first: it leaves out the steps that had
// nothing to do, and leaves standard output to the command.

import { parseArgs } from "node:util";
import * as addon from "./build/addon.mjs";
import * as cuda from "./build/cuda.mjs";
import * as dist from "./build/dist.mjs";
import * as emulated from "./build/emulated.mjs";
import * as wasm from "./build/wasm.mjs";
import { withLock } from "./build/lock.mjs";
import * as mpi from "./build/mpi.mjs";
import { ToolFailed } from "./build/run.mjs";

const STEPS = [dist, addon, wasm, mpi, emulated, cuda];

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    release: { type: "boolean", default: false },
    unpacked: { type: "boolean", default: false },
    quiet: { type: "boolean", default: false },
  },
});
const unknown = wanted.filter((name) => !STEPS.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`build: no step named ${unknown.join(", ")}; there are ${STEPS.map((step) => step.name).join(", ")}`);
  process.exit(2);
}
const print = options.quiet ? console.error : console.log;
const steps = wanted.length === 0 ? STEPS : STEPS.filter((step) => wanted.includes(step.name));

async function perform(step) {
  const started = performance.now();
  const say = (text) => print(`${step.name}: ${text}`);
  try {
    const { state, note } = await step.build(options, say);
    if (options.quiet && state === "up to date") return;
    const seconds = state === "built" ? ` (${((performance.now() - started) / 1000).toFixed(1)} s)` : "";
    say(`${state}${note ? `, ${note}` : ""}${seconds}`);
  } catch (error) {
    if (!(error instanceof ToolFailed)) throw error;
    console.error(error.output);
    console.error(`${step.name}: ${error.message}`);
    process.exitCode = 1;
  }
}

await withLock(async () => {
  // The library is one process's work; the native steps after each other, which share the cores, begin beside it.
  const library = steps.includes(dist) ? perform(dist) : undefined;
  for (const step of steps) if (step !== dist) await perform(step);
  await library;
});
