// prebuilds/<platform>-<arch>/: the artefacts of a release for this platform.
//
//   npm run prebuilds
//
// The addon comes from prebuildify (a build of its own, stripped, named by its C library). The CUDA
// backend comes from the release build and lies beside it under a name the addon's loader ignores, and so
// does what opens MPI.

import { copyFileSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { at, filesBelow, shown } from "./build/paths.mjs";
import { run } from "./build/run.mjs";
import { nodeHeaders } from "./build/tools.mjs";

const folder = at("prebuilds", `${process.platform}-${process.arch}`);
rmSync(folder, { recursive: true, force: true });

const headers = nodeHeaders();
await run(
  "prebuildify",
  process.execPath,
  [at("node_modules/prebuildify/bin.js"), "--napi", "--strip", "--tag-libc", "--name", "surprisal"],
  headers ? { env: { npm_config_nodedir: headers } } : {},
);
// prebuildify moved the addon away from build/: let the next build make it again.
rmSync(at("build"), { recursive: true, force: true });

const { stdout } = await run("the CUDA build", process.execPath, [at("scripts/build.mjs"), "cuda", "--release"]);
console.log(stdout.trimEnd());
const library = at("build-cuda/libsurprisal_cuda.so");
if (existsSync(library)) {
  mkdirSync(folder, { recursive: true });
  const copy = join(folder, "libsurprisal_cuda.so");
  copyFileSync(library, copy);
  await run("strip", "strip", [copy]);
}
await run("the MPI library", process.execPath, [at("scripts/build.mjs"), "mpi"]);
const mpi = at("build-mpi/libsurprisal_mpi.so");
if (existsSync(mpi)) {
  mkdirSync(folder, { recursive: true });
  copyFileSync(mpi, join(folder, "libsurprisal_mpi.so"));
}
for (const file of filesBelow(shown(folder), [".node", ".so"])) {
  console.log(`${shown(file)}: ${(statSync(file).size / 1024).toFixed(0)} KiB`);
}
