// build-cuda/libsurprisal_cuda.so: the CUDA backend, by cmake-js, cmake and nvcc; and
// build-cuda/resources.json, what ptxas said about every kernel, and build-cuda/sources.json, hashes of what was compiled.

import { existsSync, writeFileSync } from "node:fs";
import { collectResources, spilling, writeResources } from "../cuda-resources.mjs";
import { readLedger } from "../ledger/entries.mjs";
import { sourceHashes } from "../ledger/sources.mjs";
import { hostCalls } from "./host-calls.mjs";
import { JOBS, roughly } from "./jobs.mjs";
import { floorFlags, needFloor } from "../release/glibc-floor.mjs";
import { at, filesBelow } from "./paths.mjs";
import { run, ToolFailed } from "./run.mjs";
import { fingerprint, isFresh, writeStamp } from "./stamp.mjs";
import { findCxx, findNvcc, findTool, versionOf } from "./tools.mjs";

export const name = "cuda";

const CORE_SECONDS_AN_ARCH = 320;

// One architecture compiles in a fifth of the time of seven; a release carries them all, and
// PTX of the newest for GPUs to come.
const DEVELOPMENT = { archs: "90", ptx: "OFF" };
export const RELEASE = { archs: "75;80;86;89;90;100;120", ptx: "120" };

/** The newest version of glibc that the library may ask for. */
export const FLOOR = "2.28";

// Where they were libraries of their own, glibc's parts must be named.
const PARTS = "-Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -l:librt.so.1 -Wl,--as-needed";

/** What to link a library with that loads where glibc is of version FLOOR. */
export const linkForFloor = async (folder) => `${await floorFlags(findCxx(), FLOOR, folder)} ${PARTS}`;

export async function build({ release = false, unpacked = false }, say) {
  const nvcc = findNvcc();
  const missing = [
    ...(nvcc ? [] : ["nvcc"]),
    ...["cmake", "readelf"].filter((tool) => !findTool(tool)),
    ...(findCxx() ? [] : ["C++17 compiler"]),
  ];
  if (missing.length > 0) {
    return { state: "skipped", note: `no ${missing.join(", no ")}; every other backend works without` };
  }

  const output = at("build-cuda/libsurprisal_cuda.so");
  const resources = at("build-cuda/resources.json");
  const stampFile = at("build-cuda/.stamp");
  const cmakeFolder = at("build-cuda/cmake");
  const { archs, ptx } = architectures(release);
  const compress = unpacked ? "none" : "size";
  const inputs = [
    at("CMakeLists.txt"),
    at("scripts/cuda-compile.mjs"),
    at("scripts/cuda-resources.mjs"),
    at("scripts/release/glibc-floor.mjs"),
    at("scripts/build/cuda.mjs"),
    ...filesBelow("native/include", [".h"]),
    ...filesBelow("native/shared", [".h", ".inc"]),
    ...filesBelow("native/cuda", [".cu", ".cuh", ".h"]),
  ];
  const nvccVersion = await versionOf(nvcc);
  const print = fingerprint([nvccVersion, archs, ptx, compress], inputs);
  if (isFresh([output, resources], stampFile, print)) return { state: "up to date" };

  say(`compiling the CUDA backend for sm_${archs.replaceAll(";", ", sm_")}, ${roughly(CORE_SECONDS_AN_ARCH * archs.split(";").length)}`);
  const compiled = { nvcc: /V([\d.]+)/.exec(nvccVersion)?.[1], files: sourceHashes() };
  const cmakeJs = (command, ...options) =>
    run(
      `cmake-js ${command}`,
      process.execPath,
      [at("node_modules/cmake-js/bin/cmake-js"), command, "--out", cmakeFolder, "--log-level", "error", ...options],
      { env: { CUDACXX: nvcc } },
    );
  // In two steps: `compile` would keep the options of an earlier configuration.
  await cmakeJs(
    "configure",
    `--CDSURPRISAL_CUDA_ARCHS=${archs}`,
    `--CDSURPRISAL_CUDA_PTX=${ptx}`,
    `--CDSURPRISAL_CUDA_COMPRESS=${compress}`,
    `--CDSURPRISAL_CUDA_LINK=${await linkForFloor(at("build-cuda/floor"))}`,
    `--CDSURPRISAL_NODE=${process.execPath}`,
  );
  await cmakeJs("build", "--parallel", String(JOBS));
  if (!existsSync(output)) throw new ToolFailed("cmake-js", `it ended well and left no ${output}\n`);

  await needFloor(output, FLOOR);
  const kernels = await collectResources(cmakeFolder);
  writeResources(resources, kernels);
  writeFileSync(at("build-cuda/sources.json"), `${JSON.stringify(compiled, null, 2)}\n`);
  const spills = spilling(kernels);
  if (spills.length > 0) {
    throw new ToolFailed("ptxas check", spills.map((kernel) => `${kernel.name} spills registers\n`).join(""));
  }
  if (findTool("objdump")) {
    const objects = filesBelow("build-cuda/cmake", [".cu.o"]);
    const calls = await hostCalls(objects);
    if (calls.length > 0) throw new ToolFailed("check of the host's code", calls.join(""));
  }
  const { faults } = readLedger();
  if (faults.length > 0) throw new ToolFailed("ledger check", `${faults.join("\n")}\n`);
  writeStamp(stampFile, print);
  return { state: "built", note: `sm_${archs.replaceAll(";", ", sm_")}; ${kernels.length} kernels, no spills` };
}

function architectures(release) {
  const asked = process.env.SURPRISAL_CUDA_ARCHS;
  if (asked) return { archs: asked.replaceAll(/[\s,]+/g, ";"), ptx: "OFF" };
  return release ? RELEASE : DEVELOPMENT;
}
