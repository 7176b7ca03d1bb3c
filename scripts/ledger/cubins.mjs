// Machine code of CUDA sources for an architecture, beside a build for another one: compiled with the flags of CMakeLists.txt, and kept in
// build-cuda/ledger as long as the sources are the same.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { demangle, parsePtxas } from "../cuda-resources.mjs";
import { JOBS } from "../build/jobs.mjs";
import { at } from "../build/paths.mjs";
import { inParallel, run } from "../build/run.mjs";
import { findNvcc } from "../build/tools.mjs";

// SRP_SM_90A: as in a library that has code for sm_90 too.
const FLAGS = "--cubin -std=c++17 -O3 -fmad=false -DSRP_SM_90A -Inative -Inative/include -Xptxas=-v".split(" ");

const folderOf = (arch) => at(`build-cuda/ledger/${arch}`);
const pathOf = (file, arch, hash) => join(folderOf(arch), `${basename(file)}.${hash}.cubin`);

/** Compiles what is not there yet; `hashes`: of the sources, by file. Resolves to the paths, by file. */
export async function compileFor(arch, files, hashes) {
  const folder = folderOf(arch);
  mkdirSync(folder, { recursive: true });
  const missing = files.filter((file) => !existsSync(pathOf(file, arch, hashes[file])));
  if (missing.length > 0) console.log(`ledger: compiling ${missing.length} files for ${arch}`);
  await inParallel(JOBS, missing, async (file) => {
    const path = pathOf(file, arch, hashes[file]);
    const older = readdirSync(folder).filter((name) => name.startsWith(`${basename(file)}.`));
    for (const name of older) rmSync(join(folder, name));
    const { stdout, stderr } = await run(`nvcc ${file}`, findNvcc(), [
      ...FLAGS,
      `--generate-code=arch=${arch.replace("sm", "compute")},code=${arch}`,
      "-o",
      `${path}.partial`,
      at(file),
    ]);
    writeFileSync(`${path}.ptxas.txt`, stdout + stderr);
    renameSync(`${path}.partial`, path);
  });
  return Object.fromEntries(files.map((file) => [file, pathOf(file, arch, hashes[file])]));
}

/** What ptxas said of the kernels of these files, as scripts/cuda-resources.mjs has it. */
export async function resourcesFor(arch, files, hashes) {
  const paths = await compileFor(arch, files, hashes);
  return demangle(files.flatMap((file) => parsePtxas(readFileSync(`${paths[file]}.ptxas.txt`, "utf8"), file)));
}
