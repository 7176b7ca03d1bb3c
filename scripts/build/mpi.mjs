// build-mpi/libsurprisal_mpi.so: what the addon opens to reach an MPI library. One C file; no MPI is needed to build it.

import { mkdirSync } from "node:fs";
import { at, shown } from "./paths.mjs";
import { run } from "./run.mjs";
import { fingerprint, isFresh, writeStamp } from "./stamp.mjs";
import { findCc, versionOf } from "./tools.mjs";

export const name = "mpi";

const FLAGS = [
  "-std=c11",
  "-O2",
  "-fPIC",
  "-shared",
  "-fvisibility=hidden",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-Wl,-z,defs",
  "-Wl,-z,nodelete",
];

export async function build(_options, say) {
  if (process.platform !== "linux") return { state: "skipped", note: "Linux only" };
  if (process.arch !== "x64" && process.arch !== "arm64") return { state: "skipped", note: "x86-64 and arm64 only" };
  const cc = findCc();
  if (!cc) return { state: "skipped", note: "no C compiler; collectives over MPI need it" };

  const inputs = [at("native/mpi/mpi.c"), at("native/mpi/mpi.h")];
  const output = at("build-mpi/libsurprisal_mpi.so");
  const stampFile = at("build-mpi/.stamp");
  const print = fingerprint([await versionOf(cc), ...FLAGS], inputs);
  if (isFresh([output], stampFile, print)) return { state: "up to date" };
  mkdirSync(at("build-mpi"), { recursive: true });
  say("compiling what opens MPI");
  await run("compiling what opens MPI", cc, [...FLAGS, inputs[0], "-o", output, "-ldl"]);
  writeStamp(stampFile, print);
  return { state: "built", note: shown(output) };
}
