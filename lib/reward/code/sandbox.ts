// A pool of sandbox processes.
import { availableParallelism } from "node:os";

import { SurprisalError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import type { CodeLanguage, SandboxLimits } from "./protocol";
import { SandboxProcess } from "./sandbox-process";

const MIB = 2 ** 20;

export interface CodeSandboxOptions {
  /** Programs that run at the same time, >= 1. Default: 2, or 1 where there is one core. */
  readonly workers?: number;
  /** Of each run of a program, milliseconds, > 0. Default 5000. */
  readonly timeLimit?: number;
  /** Of the interpreter of a program, MiB, >= 64. Default 256. */
  readonly memoryLimit?: number;
  /** Of what one run prints, bytes, >= 0. Default 1 MiB. */
  readonly outputLimit?: number;
  /** Of the files that a program writes, bytes, >= 0: they are in memory and gone after it. Default 16 MiB. */
  readonly fileLimit?: number;
}

/** Where programs run. `using`, or `dispose`, ends its processes; idle ones do not keep Node from ending. */
export interface CodeSandbox extends AsyncDisposable {
  /** Ends all processes. Programs that run are stopped, and later calls are refused. */
  dispose(): Promise<void>;
}

export class SandboxPool implements CodeSandbox {
  readonly timeLimit: number;
  readonly workers: number;
  readonly #limits: SandboxLimits;
  readonly #idle = new Map<CodeLanguage, SandboxProcess[]>();
  readonly #all = new Set<SandboxProcess>();
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #disposed = false;

  constructor(op: string, options: CodeSandboxOptions) {
    this.workers = needNumber(op, "workers", options.workers ?? Math.min(2, availableParallelism()), {
      min: 1,
      integer: true,
    });
    this.timeLimit = needNumber(op, "timeLimit", options.timeLimit ?? 5000, { min: 0, above: true });
    this.#limits = {
      memoryBytes: needNumber(op, "memoryLimit", options.memoryLimit ?? 256, { min: 64, max: 2048 }) * MIB,
      outputBytes: needNumber(op, "outputLimit", options.outputLimit ?? MIB, { min: 0 }),
      fileBytes: needNumber(op, "fileLimit", options.fileLimit ?? 16 * MIB, { min: 0 }),
    };
  }

  /** Hands a process with a fresh interpreter to `work`. What `signal` or a limit kills is replaced. */
  async use<T>(
    language: CodeLanguage,
    assertions: boolean,
    signal: AbortSignal | undefined,
    work: (sandbox: SandboxProcess) => Promise<T>,
  ): Promise<T> {
    await this.#enter();
    let sandbox: SandboxProcess | undefined;
    const stop = (): void => sandbox?.kill("crash");
    signal?.addEventListener("abort", stop);
    try {
      signal?.throwIfAborted();
      sandbox = await this.#fresh(language, assertions);
      signal?.throwIfAborted();
      const result = await work(sandbox);
      signal?.throwIfAborted();
      return result;
    } finally {
      signal?.removeEventListener("abort", stop);
      if (sandbox) this.#giveBack(language, assertions, sandbox);
      --this.#busy;
      this.#waiting.shift()?.();
    }
  }

  async #enter(): Promise<void> {
    while (this.#busy >= this.workers && !this.#disposed) await new Promise<void>((wake) => this.#waiting.push(wake));
    this.#needOpen();
    ++this.#busy;
  }

  #needOpen(): void {
    if (this.#disposed)
      throw new SurprisalError(
        "ERR_SURPRISAL_SANDBOX",
        "codeReward: the sandbox was disposed; createCodeSandbox makes another",
        { op: "codeReward", name: "sandbox" },
      );
  }

  async #fresh(language: CodeLanguage, assertions: boolean): Promise<SandboxProcess> {
    for (;;) {
      const sandbox = this.#idle.get(language)?.pop() ?? (await SandboxProcess.start(language, this.#limits));
      this.#all.add(sandbox);
      if (this.#disposed) sandbox.kill("crash");
      this.#needOpen();
      if (await sandbox.prepare(assertions)) return sandbox;
      this.#all.delete(sandbox);
    }
  }

  #giveBack(language: CodeLanguage, assertions: boolean, sandbox: SandboxProcess): void {
    if (sandbox.alive && !this.#disposed && !sandbox.worn) {
      sandbox.warm(assertions);
      this.#idle.set(language, [...(this.#idle.get(language) ?? []), sandbox]);
      return;
    }
    sandbox.kill("crash");
    this.#all.delete(sandbox);
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    const all = [...this.#all];
    for (const sandbox of all) sandbox.kill("crash");
    this.#all.clear();
    this.#idle.clear();
    for (const wake of this.#waiting.splice(0)) wake();
    await Promise.all(all.map(({ ended }) => ended));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}

/**
 * A pool of processes for `codeReward`, with limits of its own. Processes start when they are needed.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the option
 */
export function createCodeSandbox(options: CodeSandboxOptions = {}): CodeSandbox {
  return new SandboxPool("createCodeSandbox", options);
}

let shared: SandboxPool | undefined;

/** The pool that calls without one use. */
export function sharedSandbox(): SandboxPool {
  return (shared ??= new SandboxPool("codeReward", {}));
}
