// Compiles the program of this folder with the kernels, the CPU backend and the emulation, and runs it.
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { builtMachine, shipped, type Build } from "../programs";

const root = join(__dirname, "../../..");
const JOBS = 2;

/** Where `npm run build` leaves objects. */
const BUILT = { emulated: "build-emulated/objects", cpu: "build/Release/obj.target/surprisal/native/cpu" } as const;

const LEVEL = /level_(\w+)\.cpp$/;

/** What level.h calls the kernels of a level's file. */
const CONSTANTS: Readonly<Record<string, readonly string[]>> = {
  avx512: ["kAvx512", "kAvx512Bf16"],
  avx2: ["kAvx2"],
  neon: ["kNeon"],
  baseline: ["kBaseline"],
};

const FLAGS = ["-std=c++17", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pthread", "-DSRP_EMULATED=1"];
// As in every build of the backends: one rounding per written operation.
const COMPILE = [
  ...FLAGS,
  "-ffp-contract=off",
  `-I${join(root, "native")}`,
  `-I${join(root, "native/include")}`,
  "-c",
  "-x",
  "c++",
];
// ASan and UBSan: the time goes into checks, which the optimizer does not make fewer; without it the backends compile in less than
// half the time and run as long, and so do the cases. -g1: lines, which is all that a report prints. UBSan's checks of every pointer
// but for its alignment find what ASan finds, and take half of the compiling. Traces of branches are for a fuzzer that keeps what
// reached new ones.
const OF_ASAN = "-fno-sanitize=null,object-size,vptr,pointer-overflow";
const KEEPS = process.env.SURPRISAL_LONG === "1" || process.env.SURPRISAL_FUZZ_ABI_KEEP !== undefined;
/** Of a family's cases, milliseconds: ends what hangs, also on a machine with other work. */
const LONGEST = process.env.SURPRISAL_LONG === "1" ? 7_200_000 : 600_000;
const SANITIZE: Record<Build, string[]> = {
  plain: ["-O0"],
  asan: ["-O0", "-g1", "-fsanitize=address,undefined", OF_ASAN, ...(KEEPS ? ["-fsanitize-coverage=trace-pc"] : [])],
  tsan: ["-O0", "-g1", "-fsanitize=thread"],
};

/** The instruction-set levels of the CPU backend that run here, best first; none where the addon was not built. */
export function levelsHere(): string[] {
  const { stdout } = spawnSync(process.execPath, [join(root, "scripts/cpu-levels.mjs")], { encoding: "utf8" });
  return stdout
    .trim()
    .split("\n")
    .filter((level) => level !== "" && level !== "portable");
}

/** The ops of the backend table, in its order. */
export function tableOps(): string[] {
  const contracts = readFileSync(join(root, "bench/gpu/python/contracts.json"), "utf8");
  return (JSON.parse(contracts) as { readonly ops: string[] }).ops;
}

// One thread, no shared memory, and no op's: test/native/device runs it.
const OF_NO_OP = ["move_faults_kernel"];

/** The kernels of the ops in native/cuda, as their launches name them. */
export function launchedKernels(): string[] {
  const files = [...sources("native/cuda", ".cu"), ...sources("native/cuda", ".cuh")].filter(
    (file) => !file.endsWith("/cuda.cuh"),
  );
  const names = files.flatMap((file) => {
    const text = readFileSync(file, "utf8").replace(/\s+/g, " ");
    return [...text.matchAll(/SRP_LAUNCH(?:_CLUSTERS)?\( ?(?:\((.*?)\),|([^,]*),)/g)].map(
      ([, wrapped, plain]) => wrapped ?? plain!,
    );
  });
  return [...new Set(names)].filter((name) => !OF_NO_OP.includes(name));
}

export class KernelProgram {
  private readonly folder = mkdtempSync(join(tmpdir(), "surprisal-kernels-"));

  constructor(private readonly compiler: string) {}

  /**
   * Kernels are compiled once a sanitizer. The cases, which have nothing to be found in them, are compiled once and plainly; the
   * emulation comes as it was built: TSan must not see the scheduler, and takes what uninstrumented code does for synchronised. So
   * does the CPU backend for TSan (it has one thread here, and its pool a program of its own, test/native/pool). ASan sees these
   * of its `levels`, or none. The plain program has nothing but what was built.
   */
  async build(builds: readonly Build[], levels: readonly string[]): Promise<void> {
    const compiled = (build: Build) => (source: string) => ({
      source,
      object: this.object(source, build),
      flags: SANITIZE[build],
    });
    const cases = [...sources("test/native/kernels", ".cpp"), join(root, "native/binding/contracts.cc")].map(
      compiled("plain"),
    );
    const kernels = sources("native/cuda", ".cu");
    const backend = sources("native/cpu", ".cpp").filter(
      (file) => !LEVEL.test(file) || levels.includes(LEVEL.exec(file)![1]!),
    );
    const cpu = [...backend, this.withoutLevels(Object.keys(CONSTANTS).filter((level) => !levels.includes(level)))];
    const instrumented = {
      plain: [],
      asan: [...kernels, ...cpu].map(compiled("asan")),
      tsan: kernels.map(compiled("tsan")),
    };
    await inParallel([...builds.flatMap((build) => instrumented[build]), ...cases], ({ source, object, flags }) =>
      this.compile([...COMPILE, ...flags, source, "-o", object]),
    );
    const machine = builtMachine();
    const cudaAsBuilt = kernels.map((file) => shipped(BUILT.emulated, `${basename(file)}.o`));
    const cpuAsBuilt = sources("native/cpu", ".cpp").map((file) =>
      shipped(BUILT.cpu, basename(file).replace(/cpp$/, "o")),
    );
    const asBuilt = { plain: [...cudaAsBuilt, ...cpuAsBuilt], asan: [], tsan: cpuAsBuilt };
    await inParallel(builds, (build) => {
      // Instrumented objects first: of an inline function that both have, the linker keeps the first.
      const objects = [...instrumented[build], ...cases].map(({ object }) => object);
      return this.compile([
        ...FLAGS,
        ...SANITIZE[build],
        ...objects,
        ...asBuilt[build],
        ...machine,
        "-o",
        this.path(build),
      ]);
    });
  }

  /** What a fence must stop: how it ends. */
  astray(where: string, fence: string) {
    const env = { ...process.env, SURPRISAL_KERNELS_FENCE: fence };
    const { status, signal, stderr } = spawnSync(this.path("plain"), ["astray", where], { env, encoding: "utf8" });
    return { status, signal, stderr };
  }

  /** Random calls straight at the table, from a seed, after those of the file `corpus`: what was said, and how it ended. */
  async fuzz(seed: number, calls: number, corpus: string, grown: string | undefined, environment: NodeJS.ProcessEnv) {
    const args = ["fuzz", String(seed), String(calls), corpus, ...(grown === undefined ? [] : [grown])];
    return this.runFamily("asan", "", args, environment, 12 * 3_600_000);
  }

  /** Every family in a process of its own: the lines and reports of all, the kernels that ran, and the worst status. */
  async run(build: Build, args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    const families = spawnSync(this.path(build), ["families"], { encoding: "utf8" }).stdout.trim().split("\n");
    const runs: { status: number; stdout: string; stderr: string }[] = [];
    await inParallel(families, async (family) => {
      runs.push(await this.runFamily(build, family, args, environment));
    });
    const lines = runs.flatMap(({ stdout }) => stdout.trim().split("\n"));
    const launched = lines.flatMap((line) => /^launched: (.*)$/.exec(line)?.[1] ?? []);
    return {
      status: Math.max(...runs.map(({ status }) => status)),
      stderr: runs.map(({ stderr }) => stderr).join(""),
      lines: lines.filter((line) => line !== "0 failed" && !line.startsWith("launched: ")),
      launched: [...new Set(launched)],
    };
  }

  private async runFamily(
    build: Build,
    family: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv,
    timeout = LONGEST,
  ) {
    const env = {
      ...process.env,
      SURPRISAL_EMULATION_ORDER: "",
      SURPRISAL_EMULATION_THREADS: "2", // blocks do run side by side, and TSan's limit on fibers is far
      SURPRISAL_KERNELS: family,
      SURPRISAL_DEVICE_CACHE: "0", // every array in an allocation of exactly its size
      ASAN_OPTIONS: "",
      UBSAN_OPTIONS: "print_stacktrace=1",
      TSAN_OPTIONS: "halt_on_error=1 atexit_sleep_ms=0", // it would wait a second at the end for stray threads
      ...environment,
    };
    try {
      return { status: 0, ...(await promisify(execFile)(this.path(build), args, { env, timeout })) };
    } catch (error) {
      const { code, signal, stdout, stderr } = error as {
        code?: number;
        signal?: string;
        stdout: string;
        stderr: string;
      };
      return { status: code ?? 1, stdout, stderr: signal ? `${stderr}${family}: ended by ${signal}\n` : stderr };
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  /** A source that stands in for those of levels that are not to run. */
  private withoutLevels(levels: readonly string[]): string {
    const source = join(this.folder, "absent_levels.cpp");
    const constants = levels
      .flatMap((level) => CONSTANTS[level]!)
      .map((name) => `extern const Kernels* const ${name};\nconst Kernels* const ${name} = nullptr;\n`);
    writeFileSync(source, `#include "${root}/native/cpu/kernels.h"\nnamespace srp::cpu {\n${constants.join("")}}\n`);
    return source;
  }

  private path(build: Build): string {
    return join(this.folder, `kernels-${build}`);
  }

  private object(source: string, build: Build): string {
    const [folder, name] = source.split("/").slice(-2); // backend.cu, two backend.cpp …
    return join(this.folder, `${build}-${folder}-${basename(name!)}.o`);
  }

  private async compile(args: string[]): Promise<void> {
    await promisify(execFile)(this.compiler, args); // rejects with the compiler's own words
  }
}

function sources(folder: string, ending: string): string[] {
  const files = readdirSync(join(root, folder)).filter((file) => file.endsWith(ending));
  return files.map((file) => join(root, folder, file));
}

async function inParallel<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      await work(items[index]!, index);
    }
  };
  await Promise.all(Array.from({ length: JOBS }, worker));
}
