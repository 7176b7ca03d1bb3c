// What a build needs, found on this machine and in the user's project; what is not there is named with the way to get it.
import { accessSync, constants, existsSync } from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import { packageRoot } from "../../core/package-root";
import { SurprisalError } from "../../core/errors";
import { UsageError } from "../shell/exit-codes";
import { runTool } from "./tool";

export interface Tools {
  readonly cmake: string;
  /** cmake's name of what runs the compilers; undefined is its own choice. */
  readonly generator: string | undefined;
  /** The folders with node_api.h and with napi.h, and the list of Node-API's functions for Windows. Of the addon alone. */
  readonly headers: { readonly c: string; readonly cxx: string; readonly functions: string | undefined } | undefined;
  readonly nvcc: string | undefined;
  /** Compute capabilities without the dot. */
  readonly architectures: readonly string[];
  /** Intermediate code for GPUs to come, or "OFF". */
  readonly ptx: string;
}

const RELEASED = ["75", "80", "86", "89", "90", "100", "120"];
/** What this version was built and tested with. */
const PACKAGES = { "node-api-headers": "1.9.0", "node-addon-api": "8.9.2" } as const;

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

/** The folder of a package: of the project that calls, else of this package's surroundings. */
function packageFolder(name: string): string | undefined {
  for (const from of [process.cwd(), packageRoot()]) {
    const folders = createRequire(path.join(from, "package.json")).resolve.paths(name) ?? [];
    const found = folders.map((folder) => path.join(folder, name)).find((folder) => isPackage(folder));
    if (found !== undefined) return found;
  }
  return undefined;
}

function isPackage(folder: string): boolean {
  try {
    accessSync(path.join(folder, "package.json"));
    return true;
  } catch {
    return false;
  }
}

/** Headers of Node-API: of the package, else those that some Nodes carry. */
function nodeApi(): { readonly folder: string; readonly functions?: string } | undefined {
  const own = packageFolder("node-api-headers");
  if (own !== undefined) return { folder: path.join(own, "include"), functions: path.join(own, "def", "node_api.def") };
  const folder = path.join(path.dirname(path.dirname(process.execPath)), "include", "node");
  return existsSync(path.join(folder, "node_api.h")) ? { folder } : undefined;
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
  const api = nodeApi();
  const folders = { "node-api-headers": api?.folder, "node-addon-api": packageFolder("node-addon-api") };
  const absent = cuda ? [] : (Object.keys(PACKAGES) as (keyof typeof PACKAGES)[]).filter((name) => folders[name] === undefined);
  const missing: string[] = [];
  if (absent.length > 0)
    missing.push(`${absent.join(" and ")} (npm install --save-dev ${absent.map((name) => `${name}@${PACKAGES[name]}`).join(" ")})`);
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
    headers: cuda ? undefined : { c: api!.folder, cxx: folders["node-addon-api"]!, functions: api!.functions },
    nvcc: cuda ? nvcc : undefined,
    architectures,
    ptx: asked || here.length > 0 ? "OFF" : RELEASED.at(-1)!,
  };
}
