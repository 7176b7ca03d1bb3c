// A library in NCCL's place, and ranks that meet over it on the emulated backend.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import type * as surprisal from "../../../lib";
import type { Collective } from "../../../lib";
import type { DeviceCollective } from "../../../lib/collective";
import { distFile } from "../../support/dist";
import { HANG_MS } from "../../support/hang";

const COMPILER = process.env["CC"] ?? "cc";
const ROOT = join(__dirname, "..", "..", "..");

/** Why ranks cannot be tried here, if they cannot. */
export function whyNot(): string | undefined {
  if (process.platform !== "linux") return "the library in NCCL's place is for Linux";
  if (!existsSync(join(ROOT, "build-emulated", "libsurprisal_emulated.so"))) return "build-emulated is not built";
  try {
    execFileSync(COMPILER, ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return `no C compiler (${COMPILER})`;
  }
}

/** Compiled anew for a suite; answers its file. */
export function buildFake(folder: string): string {
  const file = join(folder, "libfake_nccl.so");
  execFileSync(COMPILER, ["-O1", "-shared", "-fPIC", "-o", file, join(__dirname, "fake_nccl.c")], { stdio: "inherit" });
  return file;
}

/** Travels as text. `through` is the collective of the workers; `open` opens NCCL with more options. */
export type NcclProgram<Input, T> = (
  open: (options?: object) => DeviceCollective,
  s: typeof surprisal,
  input: Input,
  through: Collective,
) => T | Promise<T>;

interface Outcome<T> {
  readonly value?: T;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface Run<T> {
  readonly outcomes: readonly Outcome<T>[];
  /** What was asked of communicators at their end, in order: "finalize 0". */
  readonly log: readonly string[];
}

const bodyOf = (program: string, dist: string): string => `
const { isMainThread, parentPort, Worker, workerData } = require("node:worker_threads");
const { readFileSync, writeFileSync } = require("node:fs");
const { deserialize, serialize } = require("node:v8");
const surprisal = require(${JSON.stringify(dist)});
const { createCollective, openCollective, watchWorker } = require(${JSON.stringify(join(dist, "collective"))});
if (isMainThread) {
  const folder = process.argv[2];
  const inputs = deserialize(readFileSync(folder + "/in"));
  const handles = createCollective(inputs.length, { timeout: ${HANG_MS} });
  const outcomes = inputs.map(() => ({}));
  let left = inputs.length;
  inputs.forEach((input, rank) => {
    const worker = new Worker(__filename, { workerData: { handle: handles[rank], input } });
    watchWorker(worker, handles[rank]);
    worker.on("message", (outcome) => { outcomes[rank] = outcome; });
    worker.on("exit", () => { if (--left === 0) writeFileSync(folder + "/out", serialize(outcomes)); });
  });
} else {
  const through = openCollective("workers", { handle: workerData.handle });
  const stream = surprisal.createStream({ backend: "emulated" });
  const open = (options) => openCollective("nccl", { through, stream, timeout: ${HANG_MS}, ...options });
  const refuse = (error) => {
    if (!(error instanceof surprisal.SurprisalError)) throw error;
    parentPort.postMessage({ error: { code: error.code, message: error.message } });
  };
  (async () => (${program})(open, surprisal, workerData.input, through))()
    .then((value) => parentPort.postMessage({ value }))
    .catch(refuse);
}`;

/** One worker of one process an input; resolves when all have ended. `env` sets what the library in NCCL's place does. */
export async function runNccl<Input, T>(
  library: string,
  inputs: readonly Input[],
  program: NcclProgram<Input, T>,
  env: Readonly<Record<string, string>> = {},
): Promise<Run<T>> {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-nccl-"));
  try {
    const script = join(folder, "ranks.cjs");
    writeFileSync(script, bodyOf(program.toString(), distFile()));
    writeFileSync(join(folder, "in"), serialize(inputs));
    const set = { SURPRISAL_NCCL: library, FAKE_NCCL_FOLDER: folder, SURPRISAL_EMULATION_STREAMS: "sync" };
    const child = spawn(process.execPath, [script, folder], {
      env: { ...process.env, ...set, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: HANG_MS,
    });
    let output = "";
    child.stdout.on("data", (text: Buffer) => (output += text.toString()));
    child.stderr.on("data", (text: Buffer) => (output += text.toString()));
    await new Promise((done, fail) => child.on("error", fail).on("close", done));
    const file = join(folder, "out");
    if (!existsSync(file)) throw new Error(`the ranks left nothing: ${output}`);
    const log = join(folder, "log");
    return {
      outcomes: deserialize(readFileSync(file)) as Outcome<T>[],
      log: existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const valuesOf = <T>({ outcomes }: Run<T>): T[] =>
  outcomes.map((outcome) => {
    if (!("value" in outcome)) throw new Error(JSON.stringify(outcomes).slice(0, 1000));
    return outcome.value as T;
  });
