// Removes everything the build made. node_modules stays.

import { rmSync } from "node:fs";
import { at } from "./build/paths.mjs";

for (const folder of [
  "dist",
  "dist.partial",
  "dist.declarations",
  "build",
  "build-coverage",
  "build-emulated",
  "build-wasm",
  "build-cuda",
  "build-mpi",
  "build-bench",
  "build-nodes",
  "build-mutants",
  ".build-lock",
]) {
  rmSync(at(folder), { recursive: true, force: true });
}
