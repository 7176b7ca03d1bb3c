// What a build needs of this machine; what is not there is named with the way to get it.
import { accessSync, constants } from "node:fs";
import * as path from "node:path";
import { SurprisalError } from "../../core/errors";
import { UsageError } from "../shell/exit-codes";
import { runTool } from "./tool";

export interface Tools {
  readonly cmake: string;
  /** cmake's name of what runs the compilers; undefined is its own choice. */
  readonly generator: string | undefined;
  readonly nvcc: string | undefined;
  /** Compute capabilities without the dot. */
  readonly architectures: readonly string[];
  /** Intermediate code for GPUs to come, or "OFF". */
  readonly ptx: string;
}

const RELEASED = ["75", "80", "86", "89", "90", "100", "120"];

/** The full path of a program, as a shell would find it. */
export function onPath(name: string, more: readonly string[] = []): string | undefined {
  const endings = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  const folders = [...(process.env["PATH"] ?? "").split(path.delimiter), ...more];
  return folders
    .flatMap((folder) => endings.map((ending) => path.join(folder, name + ending)))
    .find((candidate) => {
      try {
        accessSync(candidate, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Of the GPUs in this machine, as their driver names them. */
async function architecturesHere(signal: AbortSignal): Promise<readonly string[]> {
  const query = onPath("nvidia-smi");
  if (query === undefined) return [];
  try {
    const text = await runTool("nvidia-smi", query, ["--query-gpu=compute_cap", "--format=csv,noheader"], { signal });
    const found = text.split("\n").flatMap((line) => (/^\d+\.\d$/.test(line.trim()) ? [line.trim().replace(".", "")] : []));
    return [...new Set(found)].sort((a, b) => Number(a) - Number(b));
  } catch {
    signal.throwIfAborted();
    return []; // a driver that does not answer names no GPU
  }
}

function needArchitectures(text: string): readonly string[] {
  const list = text.split(/[\s,;]+/).filter((word) => word !== "");
  if (list.length === 0 || !list.every((word) => /^\d{2,3}[af]?$/.test(word)))
    throw new UsageError(`--arch is "${text}", expected compute capabilities without the dot, such as "80,90"`, { name: "--arch", got: text });
  return list;
}

/** Everything that a build needs. */
export async function findTools(cuda: boolean, arch: string | undefined, signal: AbortSignal): Promise<Tools> {
  const asked = arch === undefined ? undefined : needArchitectures(arch);
  const homes = [process.env["CUDA_HOME"], process.env["CUDA_PATH"], "/usr/local/cuda"];
  const nvcc = process.env["CUDACXX"] ?? onPath("nvcc", homes.flatMap((home) => (home ? [path.join(home, "bin")] : [])));
  const cmake = onPath("cmake");
  const missing: string[] = [];
  if (cmake === undefined) missing.push("cmake on the PATH (3.18 or newer, from cmake.org or the system's packages)");
  if (cuda && nvcc === undefined) missing.push("nvcc on the PATH, in CUDA_HOME or as CUDACXX (the CUDA toolkit)");
  if (missing.length > 0) {
    const message = `building needs ${missing.join("; and ")}`;
    throw new SurprisalError("ERR_SURPRISAL_FILE", message, { op: "build", want: missing.join("; ") });
  }
  const here = cuda && !asked ? await architecturesHere(signal) : [];
  const architectures = asked ?? (here.length > 0 ? here : RELEASED);
  return {
    cmake: cmake!,
    generator: onPath("ninja") === undefined ? undefined : "Ninja",
    nvcc: cuda ? nvcc : undefined,
    architectures,
    ptx: asked || here.length > 0 ? "OFF" : RELEASED.at(-1)!,
  };
}
