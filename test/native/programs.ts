// Compiles the C++ programs of this folder, each together with native/emulation, and runs them.
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { HANG_MS } from "../support/hang";

export type Build = "plain" | "asan" | "tsan";

const root = join(__dirname, "../..");
const programs = join(__dirname, "emulation");

// Not optimised: the programs are compiled for longer than they run.
const FLAGS = ["-std=c++17", "-O0", "-g1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pthread", "-DSRP_EMULATED=1"];
const SANITIZE: Record<Build, string[]> = {
  plain: [],
  asan: ["-fsanitize=address,undefined"],
  tsan: ["-fsanitize=thread"],
};
const JOBS = 2;

/** The C++ compiler, or why there is none. */
export function findCompiler(): { path: string } | { reason: string } {
  if (process.platform !== "linux") return { reason: `the emulation is built on Linux, this is ${process.platform}` };
  const path = process.env.CXX || "g++"; // an empty variable counts as unset
  const { error } = spawnSync(path, ["--version"]);
  return error ? { reason: `no C++ compiler: ${path} does not start (${error.message})` } : { path };
}

/** Why programs of this build cannot be made or run here; undefined where they can. */
export function whyNot(compiler: string, build: Build): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-probe-"));
  const source = join(folder, "empty.cpp");
  const program = join(folder, "empty");
  writeFileSync(source, "int main() { return 0; }\n");
  try {
    execFileSync(compiler, [...FLAGS, ...SANITIZE[build], source, "-o", program], { stdio: "pipe" });
    execFileSync(program, { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return String(error).split("\n").slice(0, 2).join(" ");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** An object that `npm run build` has left. */
export function shipped(folder: string, name: string): string {
  const object = join(root, folder, name);
  if (!existsSync(object)) throw new Error(`${folder}/${name} is not there: npm run build`);
  return object;
}

/** Objects of the emulation. */
export function builtMachine(): string[] {
  const files = readdirSync(join(root, "native/emulation")).filter((file) => file.endsWith(".cpp"));
  return files.map((file) => shipped("build-emulated/objects", `${file}.o`));
}

export class Programs {
  private readonly folder = mkdtempSync(join(tmpdir(), "surprisal-emulation-"));

  constructor(private readonly compiler: string) {}

  /** Compiles `names` for one build; the machine itself comes as it was built, and serves all of them. */
  async build(build: Build, names: readonly string[]): Promise<void> {
    const objects = builtMachine();
    await inParallel(names, async (name) => {
      const source = join(programs, `${name}.cu`);
      const flags = [...FLAGS, ...SANITIZE[build]];
      // Not position-independent, so that its heap lies where Node's does.
      const linked = ["-x", "none", ...objects, "-no-pie", "-o", this.path(name, build)];
      await this.compile([...flags, "-x", "c++", source, ...linked]);
    });
  }

  run(name: string, build: Build, args: readonly string[] = [], environment: NodeJS.ProcessEnv = {}) {
    const env = {
      ...process.env,
      SURPRISAL_EMULATION_ORDER: "",
      SURPRISAL_EMULATION_THREADS: "2", // blocks do run side by side, and TSan's limit on fibers is far
      TSAN_OPTIONS: "atexit_sleep_ms=0", // it would wait a second at each end for stray threads
      ...environment,
    };
    const { status, stdout, stderr } = spawnSync(this.path(name, build), args, {
      env,
      encoding: "utf8",
      timeout: HANG_MS,
    });
    return { status, stdout, stderr, lines: stdout.trim().split("\n") };
  }

  /** What the compiler has to say about a kernel file; empty when it accepts it. */
  complaints(text: string): string {
    const source = join(this.folder, "tried.cu");
    writeFileSync(source, `#include "${root}/native/cuda/cuda.cuh"\n${text}\n`);
    const { stderr } = spawnSync(this.compiler, [...FLAGS, "-fsyntax-only", "-x", "c++", source], { encoding: "utf8" });
    return stderr;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  private path(name: string, build: Build): string {
    return join(this.folder, `${name}-${build}`);
  }

  private async compile(args: string[]): Promise<void> {
    await promisify(execFile)(this.compiler, args); // rejects with the compiler's own words
  }
}

/** Where the comment `BUG name` stands, as sanitizers print it. */
export function bugLine(name: string, file = "planted.cu"): string {
  const lines = readFileSync(join(programs, file), "utf8").split("\n");
  const index = lines.findIndex((line) => line.endsWith(`// BUG ${name}`));
  if (index < 0) throw new Error(`${file} has no bug named ${name}`);
  return `${file}:${index + 1}`;
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
