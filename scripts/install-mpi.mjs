// Installs Open MPI and MPICH of Debian and Ubuntu, side by side, for the tests of collectives over MPI:
//
//   node scripts/install-mpi.mjs
//
// Only the launchers and the libraries: no headers are needed. Without apt-get, or without the right to use it, it says so; the
// tests then skip what is not there, and say that.

import { spawnSync } from "node:child_process";
import { findTool } from "./build/tools.mjs";

const PACKAGES = ["openmpi-bin", "mpich"];

const missing = ["mpirun.openmpi", "mpirun.mpich"].filter((program) => !findTool(program));
if (missing.length === 0) {
  console.log("mpi: both are here");
} else if (!findTool("apt-get") || process.getuid?.() !== 0) {
  console.log(
    `mpi: skipped, ${missing.join(" and ")} not found, and ${findTool("apt-get") ? "this is not root" : "there is no apt-get"}`,
  );
} else {
  const { status } = spawnSync("apt-get", ["install", "--yes", "--no-install-recommends", ...PACKAGES], {
    stdio: "inherit",
  });
  if (status !== 0) console.log("mpi: skipped, apt-get could not install it");
}
