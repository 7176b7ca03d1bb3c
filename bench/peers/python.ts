// numpy and torch in processes of their own, driven over pipes on the same bytes. They time themselves: the pipe is not theirs.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { AbsentPeer, Peer, PeerForm } from "./peer";
import type { PeerArray, PeerOutput, PeerTask } from "./task";

/** Whose torch this is: a distribution's is for its own python3. SURPRISAL_BENCH_PYTHON names another. */
function pythons(): string[] {
  const own = process.env["SURPRISAL_BENCH_PYTHON"];
  return own ? [own] : ["/usr/bin/python3", "python3"];
}

/** What a python3 must run for a module of the folder python to be served; "blas": for matrix products of numpy. */
const NEEDS: Readonly<Record<string, string>> = {
  numpy: "import numpy",
  torch: "import numpy, torch",
  numba: "import numpy, numba",
  blas: "import numpy, blas; assert blas.tuned()",
};

/** The first python3 that can serve the module. */
function pythonWith(module: string): string | undefined {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", PYTHONPATH: join(__dirname, "python") };
  return pythons().find((python) => spawnSync(python, ["-c", NEEDS[module]!], { env, stdio: "ignore" }).status === 0);
}

/** In memory where there is such a place. */
function exchangeFolder(): string {
  return mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "surprisal-bench-"));
}

const TYPES: Readonly<Record<string, string>> = {
  Float32Array: "float32",
  Uint16Array: "uint16",
  Int32Array: "int32",
  Uint8Array: "uint8",
  BigInt64Array: "int64",
};

interface FileOf {
  readonly file: string;
  readonly type: string;
  readonly count: number;
}

function readOutput({ file, type }: FileOf): PeerOutput {
  const { buffer, byteOffset, byteLength } = readFileSync(file);
  const bytes = buffer.slice(byteOffset, byteOffset + byteLength);
  if (type === "float32") return new Float32Array(bytes);
  if (type === "float64") return new Float64Array(bytes);
  if (type === "int32") return new Int32Array(bytes);
  throw new Error(`an output of type ${type}`);
}

/** One python3 that answers a line for a line. */
class Server {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly lines: Interface;
  private readonly folder = exchangeFolder();
  private waiting: ((line: string | undefined) => void) | undefined;
  private complaints = "";
  private ended = false;

  constructor(python: string, module: string, environment: Readonly<Record<string, string>>) {
    this.child = spawn(python, [join(__dirname, "python", "serve.py"), module], {
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...environment },
    });
    this.child.stderr
      .setEncoding("utf8")
      .on("data", (text: string) => (this.complaints = (this.complaints + text).slice(-2000)));
    // A peer that ends in the middle of a line (out of memory) is told by the answer that does not come.
    this.child.stdin.on("error", () => undefined);
    this.child.on("error", (error) => (this.complaints += error.message));
    this.lines = createInterface(this.child.stdout);
    this.lines.on("line", (line) => this.waiting?.(line));
    this.lines.on("close", () => {
      this.ended = true;
      this.waiting?.(undefined);
    });
  }

  /** Undefined behind the end of what it says, ahead of which its exit may not have been told. */
  get pid(): number | undefined {
    const { exitCode, signalCode, pid } = this.child;
    return exitCode === null && signalCode === null && !this.ended ? pid : undefined;
  }

  /** The next line it says. */
  async answer(): Promise<Record<string, unknown>> {
    const line = await new Promise<string | undefined>((resolve) => (this.waiting = resolve));
    this.waiting = undefined;
    if (line === undefined) throw new Error(`python3 ended: ${this.complaints.trim().split("\n").at(-1) ?? ""}`);
    const found = JSON.parse(line) as Record<string, unknown>;
    if (typeof found["error"] === "string") throw new Error(found["error"]);
    return found;
  }

  ask(request: object): Promise<Record<string, unknown>> {
    if (this.pid === undefined) return Promise.reject(new Error("python3 has ended"));
    const answer = this.answer();
    this.child.stdin.write(`${JSON.stringify(request)}\n`);
    return answer;
  }

  async load(task: PeerTask, threads: number): Promise<string[]> {
    const arrays = Object.fromEntries(
      Object.entries(task.arrays).map(([name, array]) => [
        name,
        this.write(name, array, task.bfloat16?.includes(name) ?? false),
      ]),
    );
    const { forms } = await this.ask({ do: "load", work: task.kind, threads, arrays, numbers: task.numbers });
    for (const { file } of Object.values(arrays)) rmSync(file);
    return forms as string[];
  }

  private write(name: string, array: PeerArray, bfloat16: boolean): FileOf & { readonly kind: string } {
    const file = join(this.folder, name);
    writeFileSync(file, new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    const type = TYPES[array.constructor.name]!;
    // torch has no uint16: the bits travel as int16.
    return { file, type: bfloat16 ? "int16" : type, count: array.length, kind: bfloat16 ? "bfloat16" : type };
  }

  async outputs(form: string): Promise<Record<string, PeerOutput>> {
    const { outputs } = await this.ask({ do: "outputs", form, folder: this.folder });
    return Object.fromEntries(
      Object.entries(outputs as Record<string, FileOf>).map(([name, described]) => {
        const values = readOutput(described);
        rmSync(described.file);
        return [name, values];
      }),
    );
  }

  close(): void {
    this.ended = true;
    this.child.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Forms of a loaded task. The outputs of a form are fetched once, behind its first run. */
function formOf(server: Server, peer: string, form: string, backend: string, task: PeerTask): PeerForm {
  let outputs: Readonly<Record<string, PeerOutput>> | undefined;
  return {
    name: `${peer}: ${form}`,
    backend,
    run: async () => {
      const { seconds } = await server.ask({ do: "run", form });
      outputs ??= await server.outputs(form);
      return seconds;
    },
    check: () => {
      const errors = task.check(outputs ?? {});
      outputs = {}; // hundreds of megabytes, seen once
      return errors;
    },
    extraMegabytes: async () => {
      const { megabytes } = await server.ask({ do: "peak", form });
      return (megabytes as number | null) ?? undefined;
    },
  };
}

async function open(
  peer: string,
  module: string,
  environment: Readonly<Record<string, string>>,
  how: string,
): Promise<Peer | AbsentPeer> {
  const python = pythonWith(module);
  if (python === undefined)
    return { name: peer, reason: `no python3 has ${module} (asked: ${pythons().join(", ")}); to get it: ${how}` };
  const begin = () => new Server(python, module, environment);
  let server = begin();
  process.once("exit", () => server.close());
  let version: string;
  try {
    version = (await server.answer())["version"] as string;
  } catch (error) {
    server.close();
    return { name: peer, reason: `${error instanceof Error ? error.message : String(error)}; to get it: ${how}` };
  }
  return {
    name: peer,
    version,
    pid: () => server.pid,
    // A process for each task: what a malloc keeps of one would be missing to the next, and who ran out of memory comes back.
    formsOf: async (task, threads) => {
      if (server.pid === undefined) {
        server = begin();
        await server.answer();
      }
      const names = await server.load(task, threads);
      return names.map((form) => formOf(server, peer, form, module, task));
    },
    release: () => {
      server.close();
      return Promise.resolve();
    },
    close: () => server.close(),
  };
}

export function numpyPeer(): Promise<Peer | AbsentPeer> {
  return open("numpy", "numpy", { OMP_NUM_THREADS: "1" }, "apt-get install python3-numpy, or SURPRISAL_BENCH_PYTHON");
}

/** Loops over numpy arrays, compiled. */
export function numbaPeer(): Promise<Peer | AbsentPeer> {
  return open("numba", "numba", { NUMBA_NUM_THREADS: "1" }, "pip install numba, or SURPRISAL_BENCH_PYTHON");
}

/** Matrix products of a numpy with a tuned BLAS, whichever python3 has one: a distribution's may have the reference one. */
export function blasPeer(): Promise<Peer | AbsentPeer> {
  const how = "pip install numpy, or apt-get install libopenblas0";
  return open("numpy with BLAS", "blas", { OMP_NUM_THREADS: "1" }, `${how}, or SURPRISAL_BENCH_PYTHON`);
}

// CPU torch gives every large temporary back to the system and takes its pages anew at the next call, unless malloc keeps them.
const KEPT = String(2 ** 40);
const KEEP_MEMORY = { MALLOC_MMAP_MAX_: "0", MALLOC_MMAP_THRESHOLD_: KEPT, MALLOC_TRIM_THRESHOLD_: KEPT };

/** "stock": malloc as it is. "tuned": temporaries are reused, which is the fairest torch on a CPU. */
export function torchPeer(malloc: "stock" | "tuned"): Promise<Peer | AbsentPeer> {
  const widest = /\bavx512f\b/.test(existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "utf8") : "");
  const environment = { ...(widest && { ATEN_CPU_CAPABILITY: "avx512" }), ...(malloc === "tuned" && KEEP_MEMORY) };
  const name = malloc === "tuned" ? "torch tuned" : "torch";
  return open(name, "torch", environment, "pip install torch (2.13 has torch.compile) and SURPRISAL_BENCH_PYTHON");
}
