// What each CUDA kernel costs, as ptxas -v reports it: registers, spills, shared memory, stack.
//
//   node scripts/cuda-resources.mjs       prints a table, writes build-cuda/resources.json,
//                                         exits 1 if any kernel spills registers to memory

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { at } from "./build/paths.mjs";
import { attempt } from "./build/run.mjs";

/**
 * @typedef {object} Kernel
 * @property {string} name       demangled where c++filt is there, else as `symbol`
 * @property {string} symbol     the linker's name
 * @property {string} source     the .cu file it comes from
 * @property {string} arch       sm_90, ...
 * @property {number} registers  a thread
 * @property {number} spillStores  bytes a thread
 * @property {number} spillLoads   bytes a thread
 * @property {number} stack      bytes a thread
 * @property {number} sharedMemory  bytes a block, the static part
 */

/** The kernels of one file's ptxas report. */
export function parsePtxas(text, source) {
  const kernels = [];
  let kernel;
  for (const line of text.split("\n")) {
    const entry = /Compiling entry function '([^']+)' for '([^']+)'/.exec(line);
    if (entry) {
      const symbol = entry[1];
      const arch = entry[2].replace(/^sm_90a$/, "sm_90"); // the same card
      const unknown = { registers: 0, spillStores: 0, spillLoads: 0, stack: 0, sharedMemory: 0 };
      kernel = { name: symbol, symbol, source, arch, ...unknown };
      kernels.push(kernel);
    } else if (kernel) {
      const frame = /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
      if (frame) [kernel.stack, kernel.spillStores, kernel.spillLoads] = frame.slice(1).map(Number);
      const registers = /Used (\d+) registers/.exec(line);
      if (registers) {
        kernel.registers = Number(registers[1]);
        kernel.sharedMemory = Number(/(\d+) bytes smem/.exec(line)?.[1] ?? 0);
        kernel = undefined; // the last line about this kernel
      }
    }
  }
  return kernels;
}

/** All kernels of a cmake build folder, of sources that still exist, in a stable order. */
export async function collectResources(folder) {
  const reports = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".cu.o.ptxas.txt"));
  const kernels = reports.sort().flatMap((report) => {
    const source = `native/cuda/${basename(report, ".o.ptxas.txt")}`;
    return existsSync(at(source)) ? parsePtxas(readFileSync(join(folder, report), "utf8"), source) : [];
  });
  return demangle(kernels);
}

export async function demangle(kernels) {
  if (kernels.length === 0) return kernels;
  const { status, stdout } = await attempt(
    "c++filt",
    kernels.map((kernel) => kernel.symbol),
  );
  const names = status === 0 ? stdout.trimEnd().split("\n") : [];
  return kernels.map((kernel, index) => ({ ...kernel, name: names[index] ?? kernel.symbol }));
}

export const spilling = (kernels) => kernels.filter((kernel) => kernel.spillStores > 0 || kernel.spillLoads > 0);

export function writeResources(file, kernels) {
  writeFileSync(file, `${JSON.stringify(kernels, null, 2)}\n`);
}

async function main() {
  const folder = at("build-cuda/cmake");
  if (!existsSync(folder)) {
    console.error("cuda-resources: nothing built yet; npm run build:cuda");
    process.exitCode = 1;
    return;
  }
  const kernels = await collectResources(folder);
  writeResources(at("build-cuda/resources.json"), kernels);
  console.log("registers  shared  stack  spills  arch    kernel");
  for (const kernel of kernels) {
    const numbers = [
      String(kernel.registers).padStart(9),
      String(kernel.sharedMemory).padStart(7),
      String(kernel.stack).padStart(6),
      String(kernel.spillStores + kernel.spillLoads).padStart(7),
    ];
    console.log(`${numbers.join(" ")}  ${kernel.arch.padEnd(7)} ${kernel.name}`);
  }
  if (spilling(kernels).length > 0) process.exitCode = 1;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
