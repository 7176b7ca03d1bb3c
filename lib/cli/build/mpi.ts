// What opens MPI libraries: one C file, compiled without any MPI.
import * as path from "node:path";
import { packageRoot } from "../../core/package-root";
import { SurprisalError } from "../../core/errors";
import type { Call } from "../shell/command";
import { runTool } from "./tool";
import { onPath } from "./tools";

export const MPI = { what: "mpi", file: "libsurprisal_mpi.so", folder: "build-mpi" } as const;

const FLAGS = ["-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,nodelete"];

export async function compileMpi(work: string, { progress, signal }: Call): Promise<string> {
  const wanted = process.env["CC"];
  const compiler = wanted ?? ["gcc", "clang", "cc"].find((name) => onPath(name) !== undefined);
  if (process.platform !== "linux" || compiler === undefined) {
    const want = process.platform === "linux" ? "a C compiler on the PATH or as CC" : "Linux";
    throw new SurprisalError("ERR_SURPRISAL_FILE", `building with --mpi needs ${want}`, { op: "build", want });
  }
  const made = path.join(work, MPI.file);
  progress.start(`compiling ${MPI.what}`, "steps");
  await runTool(compiler, compiler, [...FLAGS, path.join(packageRoot(), "native", "mpi", "mpi.c"), "-o", made, "-ldl"], { signal });
  return made;
}
