// surprisal build: the addon or the CUDA backend compiled from the sources in this package, when somebody asks for it.
import { copyFile, mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import * as path from "node:path";
import { builtFile, packageRoot } from "../../core/package-root";
import { SurprisalError } from "../../core/errors";
import { wholeNumber } from "../shell/arguments";
import type { Answer, Call, Command } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { compileMpi, MPI } from "./mpi";
import { findTools, type Tools } from "./tools";
import { runTool } from "./tool";

interface Target {
  readonly what: string;
  readonly file: string;
  /** Below the package, where the loader looks. */
  readonly folder: string;
  readonly defines: (tools: Tools, made: string) => readonly string[];
}

/** Node-API in C and in C++, which lie in this package. */
const headers = (name: "node-api-headers" | "node-addon-api"): string => builtFile("headers", name);

const ADDON: Target = {
  what: "addon",
  file: "surprisal.node",
  folder: path.join("build", "Release"),
  defines: (_tools, made) => [
    "SURPRISAL_CUDA=OFF",
    "SURPRISAL_ADDON=ON",
    `SURPRISAL_ADDON_FOLDER=${made}`,
    `SURPRISAL_NODE_API=${headers("node-api-headers")}`,
    `SURPRISAL_NODE_ADDON_API=${headers("node-addon-api")}`,
    `SURPRISAL_NODE_API_DEF=${path.join(headers("node-api-headers"), "node_api.def")}`,
  ],
};

const CUDA: Target = {
  what: "cuda",
  file: "libsurprisal_cuda.so",
  folder: "build-cuda",
  defines: ({ architectures, ptx }, made) => [
    "SURPRISAL_CUDA=ON",
    "SURPRISAL_ADDON=OFF",
    `SURPRISAL_CUDA_ARCHS=${architectures.join(";")}`,
    `SURPRISAL_CUDA_PTX=${ptx}`,
    `SURPRISAL_CUDA_FOLDER=${made}`,
  ],
};

/** How far the compiler is, from its own lines: "[3/33] …" or "[ 42%] …". */
function readSteps(line: string): readonly [done: number, total: number] | undefined {
  const counted = /^\[\s*(\d+)\/(\d+)\]/.exec(line);
  if (counted) return [Number(counted[1]), Number(counted[2])];
  const percent = /^\[\s*(\d+)%\]/.exec(line);
  return percent ? [Number(percent[1]), 100] : undefined;
}

async function compile(target: Target, tools: Tools, jobs: number, debug: boolean, work: string, call: Call): Promise<string> {
  const { progress, signal } = call;
  const made = path.join(work, "made");
  const folder = path.join(work, "cmake");
  progress.start(`configuring ${target.what}`, "steps");
  const environment = { CUDACXX: tools.nvcc };
  const defines = [`CMAKE_BUILD_TYPE=${debug ? "Debug" : "Release"}`, ...target.defines(tools, made)];
  const generator = tools.generator === undefined ? [] : ["-G", tools.generator];
  const configure = ["-S", packageRoot(), "-B", folder, ...generator, ...defines.map((define) => `-D${define}`)];
  await runTool("cmake", tools.cmake, configure, { signal, environment });

  let stages = 0;
  const compiling = ["--build", folder, "--config", debug ? "Debug" : "Release", "--parallel", String(jobs)];
  await runTool("cmake --build", tools.cmake, compiling, {
    signal,
    environment,
    onLine(line) {
      const steps = readSteps(line);
      if (!steps) return;
      if (stages === 0) progress.start(`compiling ${target.what}`, "steps", steps[1]);
      stages = steps[1];
      progress.reach(steps[0]);
    },
  });
  return path.join(made, target.file);
}

/** Into its place in one step: a process that loads it meanwhile gets the old file or the new one. */
async function place(made: string, folder: string, file: string): Promise<string> {
  const target = path.join(folder, file);
  // Its name must not end like a library: loaders take what they find.
  const beside = path.join(folder, `${file}.partial-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    await copyFile(made, beside);
    await rename(beside, target);
  } catch (cause) {
    await rm(beside, { force: true });
    const message = `${target} cannot be written: ${(cause as Error).message}; --out DIR builds into another folder, which SURPRISAL_NATIVE_PATH then names`;
    throw new SurprisalError("ERR_SURPRISAL_FILE", message, { name: target }, { cause });
  }
  return target;
}

async function run(call: Call): Promise<Answer> {
  const { args, progress } = call;
  if (args.has("cuda") && args.has("mpi")) throw new UsageError("--cuda and --mpi are builds of their own", { name: "--mpi" });
  const compiled = args.has("cuda") ? CUDA : ADDON;
  const target = args.has("mpi") ? MPI : compiled;
  if (!args.has("cuda") && args.text("arch") !== undefined) throw new UsageError("--arch is for --cuda", { name: "--arch" });
  const jobs = wholeNumber(args, "jobs", 1, availableParallelism());
  const tools = args.has("mpi") ? undefined : await findTools(args.has("cuda"), args.text("arch"), call.signal);
  const out = args.text("out");
  const folder = out === undefined ? path.join(packageRoot(), target.folder) : path.resolve(out);
  const begun = performance.now();
  const work = await mkdtemp(path.join(tmpdir(), "surprisal-build-"));
  try {
    const made = tools ? await compile(compiled, tools, jobs, args.has("debug"), work, call) : await compileMpi(work, call);
    progress.end();
    if (target === ADDON) await runTool("loading the addon", process.execPath, ["-e", "require(process.argv[1])", made], { signal: call.signal });
    call.signal.throwIfAborted();
    const file = await place(made, folder, target.file);
    const { size } = await stat(file);
    const seconds = Number(((performance.now() - begun) / 1000).toFixed(1));
    const use = out === undefined ? "surprisal doctor says whether it is used" : `SURPRISAL_NATIVE_PATH=${folder} makes surprisal use it`;
    return {
      json: { target: target.what, file, bytes: size, seconds, architectures: args.has("cuda") ? tools?.architectures : undefined },
      text: `${file}: ${(size / 1024).toFixed(0)} KiB in ${seconds} s\n${use}\n`,
    };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export const build: Command = {
  name: "build",
  usage: "[--cuda] [--mpi] [--arch LIST] [--out DIR] [--jobs N] [--debug] [--json]",
  summary: "compile the native addon, the CUDA backend or what opens MPI from this package's sources",
  about: `Compiles the sources that lie in this package, with cmake. Without --cuda the addon (the cpu backend, and
what opens the others); with it the CUDA backend. With --mpi what lets
processes compute together over MPI, which needs a C compiler alone. Nothing is downloaded: a missing tool is named, with how to add it.
The result replaces the old file in one step; a build that fails or is stopped leaves everything as it was.`,
  options: {
    cuda: { text: "the CUDA backend; needs nvcc" },
    mpi: { text: "what opens MPI libraries; needs a C compiler and nothing else" },
    arch: { value: "LIST", text: 'compute capabilities for --cuda, such as "80,90". Default: those of the GPUs here, else all that releases carry' },
    out: { value: "DIR", text: "leave the file there, for SURPRISAL_NATIVE_PATH. Default: inside this package, where it is found" },
    jobs: { value: "N", short: "j", text: "compilers at once. Default: as many as there are cores" },
    debug: { text: "without optimisation: compiles faster, runs slower" },
  },
  examples: ["npx surprisal build", "surprisal build --cuda --arch 90 --out /opt/surprisal"],
  files: { least: 0, most: 0, what: "files" },
  run,
};
