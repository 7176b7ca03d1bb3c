// A pool of sandbox processes.
import { availableParallelism } from "node:os";

import { SurprisalError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { type CodeLanguage, type SandboxLimits, SYSTEM_SANDBOXES, type SystemSandbox } from "./protocol";
import { SandboxProcess } from "./sandbox-process";
import { strongestSandbox, systemHas } from "./system-sandbox";

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
  /** What of the system holds the processes. Default: the strongest that it has, which `surprisal doctor` names. */
  readonly system?: SystemSandbox;
}

/** Where programs run, each in a process of its own. `using`, or `dispose`, ends its processes; idle ones do not keep Node from ending. */
export interface CodeSandbox extends AsyncDisposable {
  /** Ends all processes. Programs that run are stopped, and later calls are refused. */
  dispose(): Promise<void>;
}

/** What serves one program: its process and, where tests run apart from it, that of the tests. */
export interface Lease {
  readonly program: SandboxProcess;
  readonly tests: SandboxProcess | undefined;
}

export class SandboxPool implements CodeSandbox {
  readonly timeLimit: number;
  readonly workers: number;
  readonly #limits: SandboxLimits;
  readonly #system: SystemSandbox | undefined;
  readonly #aheadMost: number;
  /** Processes that have started, or are about to, for programs to come. */
  readonly #ahead = new Map<CodeLanguage, Promise<SandboxProcess>[]>();
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
    if (options.system !== undefined) needWord(op, "system", options.system, SYSTEM_SANDBOXES);
    this.#system = options.system;
    this.#aheadMost = Math.min(this.workers, availableParallelism());
    this.#limits = {
      memoryBytes: needNumber(op, "memoryLimit", options.memoryLimit ?? 256, { min: 64, max: 2048 }) * MIB,
      outputBytes: needNumber(op, "outputLimit", options.outputLimit ?? MIB, { min: 0, max: 2 ** 28 }),
      fileBytes: needNumber(op, "fileLimit", options.fileLimit ?? 16 * MIB, { min: 0 }),
    };
  }

  /** Hands fresh processes to `work`, and ends them after it. */
  async use<T>(
    language: CodeLanguage,
    apart: boolean,
    signal: AbortSignal | undefined,
    work: (lease: Lease) => Promise<T>,
  ): Promise<T> {
    await this.#enter();
    const taken: SandboxProcess[] = [];
    const stop = (): void => {
      for (const sandbox of taken) sandbox.kill();
    };
    signal?.addEventListener("abort", stop);
    try {
      signal?.throwIfAborted();
      const starting = Array.from({ length: apart ? 2 : 1 }, () => this.#take(language));
      for (const started of await Promise.allSettled(starting)) {
        if (started.status === "rejected") throw started.reason;
        taken.push(started.value);
      }
      this.#needOpen();
      signal?.throwIfAborted();
      const [program, tests] = taken;
      tests?.serveTests();
      const result = await work({ program: program!, tests });
      signal?.throwIfAborted();
      return result;
    } finally {
      signal?.removeEventListener("abort", stop);
      stop();
      for (const sandbox of taken) this.#all.delete(sandbox);
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

  /** A process that has started; one for each core is kept ahead. */
  async #take(language: CodeLanguage): Promise<SandboxProcess> {
    const ahead = this.#ahead.get(language) ?? [];
    this.#ahead.set(language, ahead);
    while (ahead.length <= this.#aheadMost) ahead.push(this.#start(language));
    const sandbox = await ahead.shift()!;
    return sandbox.alive ? sandbox : this.#take(language);
  }

  #start(language: CodeLanguage): Promise<SandboxProcess> {
    const starting = this.#begin(language);
    starting.catch(() => this.#ahead.delete(language));
    return starting;
  }

  async #begin(language: CodeLanguage): Promise<SandboxProcess> {
    const system = this.#system ?? (await strongestSandbox());
    if (!(await systemHas(system)))
      throw new SurprisalError(
        "ERR_SURPRISAL_SANDBOX",
        `codeReward: system is "${system}", which does not work here; surprisal doctor names what does`,
        { op: "codeReward", name: "system", got: system },
      );
    const sandbox = await SandboxProcess.start(system, language, this.#limits);
    this.#all.add(sandbox);
    if (this.#disposed) sandbox.kill();
    return sandbox;
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    const starting = [...this.#ahead.values()].flat();
    this.#ahead.clear();
    for (const wake of this.#waiting.splice(0)) wake();
    for (const sandbox of this.#all) sandbox.kill();
    await Promise.allSettled(starting);
    await Promise.all([...this.#all].map(({ ended }) => ended));
    this.#all.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}

/**
 * A pool of processes for `codeReward`, with limits of its own: a program has one, its assertions another, each used once and killed.
 * Processes start when they are needed.
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
