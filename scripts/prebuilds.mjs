// prebuilds/<platform>-<arch>/: the addons of a release that this machine can build, and what opens MPI for its own platform.
//
//   npm run prebuilds [-- target ...]
//
// No target named means all. One that cannot be built here is named with its reason; where it was asked for, that is an error.

import { copyFileSync, existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { at } from "./build/paths.mjs";
import { run, ToolFailed } from "./build/run.mjs";
import { buildAddon, lackOf } from "./release/addons.mjs";
import { ARTEFACTS } from "./release/artefacts.mjs";

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !ARTEFACTS.some(({ target }) => target === name));
if (unknown.length > 0) {
  const known = ARTEFACTS.map(({ target }) => target).join(", ");
  console.error(`prebuilds: no target named ${unknown.join(", ")}; there are ${known}`);
  process.exit(2);
}

for (const artefact of ARTEFACTS) {
  const { target, file, floor } = artefact;
  if (wanted.length > 0 && !wanted.includes(target)) continue;
  const lack = lackOf(artefact);
  if (lack !== undefined) {
    console.log(`${target}: not built here, ${lack}`);
    if (wanted.includes(target)) process.exitCode = 1;
    continue;
  }
  try {
    await buildAddon(artefact);
    const asks = floor ? `, glibc ${floor} or newer` : "";
    console.log(`${target}: ${file}, ${(statSync(at(file)).size / 1024).toFixed(0)} KiB${asks}`);
  } catch (error) {
    if (error instanceof ToolFailed) console.error(error.output);
    console.error(`${target}: ${error.message}`);
    process.exitCode = 1;
  }
}

await run("the MPI library", process.execPath, [at("scripts/build.mjs"), "mpi"]);
const mpi = at("build-mpi/libsurprisal_mpi.so");
if (existsSync(mpi)) {
  const folder = at("prebuilds", `${process.platform}-${process.arch}`);
  mkdirSync(folder, { recursive: true });
  copyFileSync(mpi, join(folder, "libsurprisal_mpi.so"));
}
