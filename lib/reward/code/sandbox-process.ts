// One process that runs programs of one language, and the limits that its owner holds it to.
import { type ChildProcess, fork } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

import { SurprisalError } from "../../core/errors";
import { builtFile } from "../../core/package-root";
import { locatePeer } from "../../core/peer";
import type { CodeLanguage, RunStatus, SandboxLimits, SandboxReply, SandboxRequest } from "./protocol";

const OP = "codeReward";
/** What each language needs, and a file that lies in its folder. */
const PEERS = { python: ["pyodide/package.json", "314"], javascript: ["quickjs-emscripten", "0.32"] } as const;

const START_LIMIT = 120_000;
const MEMORY_POLL = 100;
/** What the process takes beside the interpreter of the program: the runtime, its code, the interpreter of the tests. */
const OVERHEAD = 1 << 30;

export type ProcessReply = Omit<SandboxReply, "status"> & { readonly status: RunStatus | "time limit" };

/** The memory of a started interpreter, by folder: made once, given to every process after the first. */
const snapshots = new Map<string, Promise<Uint8Array>>();

/** Bytes that a process has in memory, on systems that report it without help of the process. */
function residentBytes(pid: number | undefined): number {
  if (pid === undefined || process.platform !== "linux") return 0;
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096;
  } catch {
    return 0;
  }
}

function spawn(folders: readonly string[]): ChildProcess {
  const permission = process.allowedNodeEnvironmentFlags.has("--permission")
    ? "--permission"
    : "--experimental-permission";
  const execArgv = [
    permission,
    ...folders.map((folder) => `--allow-fs-read=${join(folder, "*")}`),
    "--no-warnings",
    "--disallow-code-generation-from-strings",
    "--max-old-space-size=512",
  ];
  // Windows starts nothing without SystemRoot.
  const env: NodeJS.ProcessEnv = process.platform === "win32" ? { SystemRoot: process.env["SystemRoot"] } : {};
  return fork(builtFile("reward", "code", "child.js"), [], {
    execArgv,
    env,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
  });
}

export class SandboxProcess {
  readonly #child: ChildProcess;
  readonly #limits: SandboxLimits;
  #pending: ((reply: ProcessReply) => void) | undefined;
  #prepared: Promise<ProcessReply> | undefined;
  #hasTests = false;
  alive = true;
  /** Settles when the process has ended. */
  readonly ended: Promise<void>;

  private constructor(child: ChildProcess, limits: SandboxLimits) {
    this.#child = child;
    this.#limits = limits;
    child.on("message", (reply: SandboxReply) => this.#settle(reply));
    child.on("error", () => this.kill("crash"));
    child.on("exit", () => this.kill("crash"));
    this.ended = new Promise((done) => child.once("exit", () => done()).once("error", () => done()));
    this.#idle(true);
  }

  /** @throws SurprisalError ERR_SURPRISAL_PEER_MISSING, or ERR_SURPRISAL_SANDBOX if the process cannot start */
  static async start(language: CodeLanguage, limits: SandboxLimits): Promise<SandboxProcess> {
    const [file, version] = PEERS[language];
    const folder = dirname(realpathSync(locatePeer(OP, file, version)));
    const known = snapshots.get(folder);
    let publish: (snapshot: Uint8Array) => void = () => undefined;
    let fail: (error: unknown) => void = () => undefined;
    if (language === "python" && !known) {
      const made = new Promise<Uint8Array>((done, failed) => ([publish, fail] = [done, failed]));
      made.catch(() => snapshots.delete(folder));
      snapshots.set(folder, made);
    }
    try {
      const snapshot = (await known) ?? null;
      // Packages of a language may lie beside each other.
      const modules =
        language === "python" ? folder : join(folder.slice(0, folder.indexOf("node_modules")), "node_modules");
      const sandbox = new SandboxProcess(spawn([builtFile(), modules]), limits);
      const reply = await sandbox.#request({ op: "start", language, folder, limits, snapshot }, START_LIMIT);
      if (reply.status !== "ok") {
        sandbox.kill("crash");
        throw new SurprisalError(
          "ERR_SURPRISAL_SANDBOX",
          `${OP}: the sandbox for ${language} did not start: ${reply.error ?? reply.status}`,
          { op: OP, reason: reply.error ?? reply.status },
        );
      }
      if (reply.snapshot) publish(reply.snapshot);
      return sandbox;
    } catch (error) {
      fail(error);
      throw error;
    }
  }

  /** Begins to make a fresh interpreter for the next program. */
  warm(assertions: boolean): void {
    this.#hasTests ||= assertions;
    this.#prepared ??= this.#request({ op: "prepare", assertions }, START_LIMIT);
  }

  /** Waits for a fresh interpreter. False: the process is of no more use. */
  async prepare(assertions: boolean): Promise<boolean> {
    if (assertions && !this.#hasTests) await this.#take();
    this.warm(assertions);
    const { status } = await this.#take();
    if (status !== "ok") this.kill("crash");
    return this.alive;
  }

  async #take(): Promise<ProcessReply> {
    this.#idle(false);
    const reply = (await this.#prepared) ?? { status: "ok" };
    this.#idle(true);
    this.#prepared = undefined;
    return reply;
  }

  ask(request: Extract<SandboxRequest, { op: "run" | "load" | "check" }>, timeLimit: number): Promise<ProcessReply> {
    return this.#request(request, timeLimit);
  }

  /** Whether it holds so much memory, of interpreters that are gone, that a new process is better. */
  get worn(): boolean {
    return residentBytes(this.#child.pid) > OVERHEAD;
  }

  kill(status: ProcessReply["status"]): void {
    if (this.alive) {
      this.alive = false;
      this.#child.kill("SIGKILL");
      this.#child.ref(); // until it has ended, which is now
    }
    this.#settle({ status });
  }

  #settle(reply: ProcessReply): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.(reply);
  }

  /** A process that waits for work does not keep its owner's process from ending. */
  #idle(idle: boolean): void {
    const { channel } = this.#child;
    if (idle) {
      this.#child.unref();
      channel?.unref();
    } else {
      this.#child.ref();
      channel?.ref();
    }
  }

  async #request(request: SandboxRequest, timeLimit: number): Promise<ProcessReply> {
    if (!this.alive) return { status: "crash" };
    const most = OVERHEAD + 2 * this.#limits.memoryBytes;
    const background = request.op === "prepare";
    const timer = setTimeout(() => this.kill("time limit"), timeLimit);
    const poll = setInterval(() => {
      if (residentBytes(this.#child.pid) > most) this.kill("memory limit");
    }, MEMORY_POLL);
    if (background) {
      timer.unref();
      poll.unref();
    } else this.#idle(false);
    try {
      return await new Promise<ProcessReply>((done) => {
        this.#pending = done;
        this.#child.send(request, (error) => {
          if (error) this.kill("crash");
        });
      });
    } finally {
      clearTimeout(timer);
      clearInterval(poll);
      if (!background) this.#idle(true);
    }
  }
}
