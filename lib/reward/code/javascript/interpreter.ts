// JavaScript programs and their tests, in two QuickJS interpreters. Runs in the sandbox's process.
import { createRequire } from "node:module";
import { join } from "node:path";

import { guestRequest } from "../guest-request";
import type { Interpreter, RunStatus, SandboxLimits, SandboxReply } from "../protocol";
import { JAVASCRIPT_HARNESS } from "./harness";

/** The part of quickjs-emscripten that is used. */
interface Handle {
  dispose(): void;
}
interface VmResult {
  readonly error?: Handle;
  readonly value: Handle;
}
interface VmContext {
  readonly runtime: VmRuntime;
  readonly global: Handle;
  readonly undefined: Handle;
  evalCode(code: string, filename: string, options?: { type?: "global" }): VmResult;
  newFunction(name: string, call: (argument?: Handle) => Handle): Handle;
  newObject(): Handle;
  newString(text: string): Handle;
  getString(handle: Handle): string;
  getProp(handle: Handle, name: string): Handle;
  setProp(handle: Handle, name: string, value: Handle): void;
  callFunction(call: Handle, self: Handle, ...args: Handle[]): VmResult;
}
interface VmRuntime {
  setMemoryLimit(bytes: number): void;
  setMaxStackSize(bytes: number): void;
  setInterruptHandler(call: () => boolean): void;
  newContext(): VmContext;
  executePendingJobs(): { readonly error?: Handle; readonly value?: number };
}
interface VmModule {
  newRuntime(): VmRuntime;
}
export interface QuickJs {
  newQuickJSWASMModule(): Promise<VmModule>;
}

const STACK_BYTES = 512 * 1024;
const MOST_ROUNDS = 1_000_000;

interface Said {
  readonly status: string;
  readonly value?: unknown;
  readonly error?: string;
  readonly type?: string;
  readonly line?: number;
  readonly syntax?: boolean;
}

/** One interpreter. */
class Machine {
  readonly #context: VmContext;
  readonly #harness: Handle;
  #printed: string[] = [];
  #bytes = 0;
  #input = "";
  overflow = false;
  dead = false;

  constructor(module: VmModule, limits: SandboxLimits, ask: (request: string) => string) {
    const runtime = module.newRuntime();
    runtime.setMemoryLimit(limits.memoryBytes);
    runtime.setMaxStackSize(STACK_BYTES);
    runtime.setInterruptHandler(() => this.overflow);
    const context = runtime.newContext();
    this.#context = context;
    const host = context.newObject();
    const give = (name: string, call: (text: string) => string): void => {
      const wrapped = context.newFunction(name, (argument) =>
        context.newString(call(argument === undefined ? "" : context.getString(argument))),
      );
      context.setProp(host, name, wrapped);
      wrapped.dispose();
    };
    give("print", (text) => {
      this.#bytes += Buffer.byteLength(text);
      if (this.#bytes > limits.outputBytes) {
        this.overflow = true;
        throw new Error("output limit");
      }
      this.#printed.push(text);
      return "";
    });
    give("readInput", () => {
      const text = this.#input;
      this.#input = "";
      return text;
    });
    give("ask", ask);
    context.setProp(context.global, "__host", host);
    host.dispose();
    const made = context.evalCode(JAVASCRIPT_HARNESS, "harness.js");
    if (made.error) throw new Error("the harness does not start");
    this.#harness = made.value;
  }

  get printed(): string {
    return this.#printed.join("");
  }

  /** Runs a script, and what it left to be done later. */
  script(source: string, input: string): Said {
    this.#input = input;
    try {
      const result = this.#context.evalCode(source, "program.js", { type: "global" });
      if (result.error) return this.#call("fail", result.error);
      result.value.dispose();
      return this.finish();
    } catch {
      return this.#die();
    }
  }

  dispatch(request: object | string): Said & { readonly text: string } {
    if (this.dead) return { status: "crash", text: "{}" };
    try {
      const argument = this.#context.newString(typeof request === "string" ? request : JSON.stringify(request));
      return this.#call("dispatch", argument);
    } catch {
      return { ...this.#die(), text: "{}" };
    }
  }

  /** Promises and timers, until none is left; the first error ends it. */
  finish(): Said {
    for (let round = 0; round < MOST_ROUNDS; ++round) {
      const jobs = this.jobs();
      if (jobs) return jobs;
      const timer = this.dispatch({ op: "timer" });
      if (timer.status !== "ok" || timer.value !== true) return timer;
    }
    return { status: "error", error: "timers without end" };
  }

  /** Runs the promises that can go on. */
  jobs(): Said | undefined {
    try {
      const { error } = this.#context.runtime.executePendingJobs();
      return error ? this.#call("fail", error) : undefined;
    } catch {
      return this.#die();
    }
  }

  #call(name: "dispatch" | "fail", argument: Handle): Said & { readonly text: string } {
    const context = this.#context;
    const call = context.getProp(this.#harness, name);
    const result = context.callFunction(call, context.undefined, argument);
    call.dispose();
    argument.dispose();
    if (result.error) {
      result.error.dispose();
      return { status: this.overflow ? "error" : "memory limit", text: "{}" };
    }
    const text = context.getString(result.value);
    result.value.dispose();
    return { ...said(text), text };
  }

  #die(): Said {
    this.dead = true;
    return { status: "crash" };
  }
}

function said(text: string): Said {
  try {
    const { status, value, error, type, line, syntax } = JSON.parse(text) as Record<string, unknown>;
    return {
      status: typeof status === "string" ? status : "error",
      value,
      error: typeof error === "string" ? error.slice(0, 1000) : undefined,
      type: typeof type === "string" ? type : undefined,
      line: typeof line === "number" ? line : undefined,
      syntax: syntax === true ? syntax : undefined,
    };
  } catch {
    return { status: "error", error: "the answer of the interpreter cannot be read" };
  }
}

function replyOf(machine: Machine, result: Said): SandboxReply {
  const { error, type, line, syntax } = result;
  const status: RunStatus = machine.overflow
    ? "output limit"
    : machine.dead
      ? "crash"
      : result.status === "ok" || result.status === "exit"
        ? result.status
        : result.status === "memory limit" || error === "InternalError: out of memory"
          ? "memory limit"
          : "error";
  return {
    status,
    stdout: machine.printed,
    error,
    type,
    line,
    syntax: syntax === true ? syntax : undefined,
  };
}

/** Programs are scripts: what a module would export is declared all the same. */
const withoutExports = (source: string): string =>
  source.replaceAll(/^export\s+(?:default\s+)?(?=(?:async\s+)?(?:function|class|const|let|var)\b)/gm, "");

export class JavaScriptInterpreter implements Interpreter {
  readonly #quickJs: QuickJs;
  readonly #limits: SandboxLimits;
  #module: VmModule | undefined;
  #testModule: VmModule | undefined;
  #program: Machine | undefined;
  #tests: Machine | undefined;

  constructor(folder: string, limits: SandboxLimits) {
    this.#quickJs = createRequire(join(folder, "index.js"))(join(folder, "index.js")) as QuickJs;
    this.#limits = limits;
  }

  /** A WebAssembly memory of its own for each program. */
  async prepare(assertions: boolean): Promise<void> {
    this.#module = await this.#quickJs.newQuickJSWASMModule();
    if (assertions) this.#testModule ??= await this.#quickJs.newQuickJSWASMModule();
  }

  run(source: string, stdin: string): SandboxReply {
    if (!this.#module) return { status: "crash" };
    const machine = new Machine(this.#module, this.#limits, () => "{}");
    return replyOf(machine, machine.script(withoutExports(source), stdin));
  }

  load(source: string, setup: string, names: readonly string[] | null): SandboxReply {
    if (!this.#module || !this.#testModule) return { status: "crash" };
    const program = new Machine(this.#module, this.#limits, (text) => {
      const request = guestRequest(text);
      return (request !== null && this.#tests?.dispatch(request).text) || "{}";
    });
    const tests = new Machine(this.#testModule, this.#limits, (request) => program.dispatch(request).text);
    this.#program = program;
    this.#tests = tests;
    const script = withoutExports(source);
    const ran = program.script(script, "");
    if (ran.status !== "ok") return replyOf(program, ran);
    const exported = program.dispatch({ op: "export", source: script, names });
    if (exported.status !== "ok") return replyOf(program, exported);
    const prepared = tests.script(setup, "");
    if (prepared.status !== "ok") return { ...replyOf(tests, prepared), status: "tests failed to load" };
    return replyOf(program, tests.dispatch({ op: "bind", values: exported.value, only: names }));
  }

  check(source: string): SandboxReply {
    const [program, tests] = [this.#program, this.#tests];
    if (!program || !tests) return { status: "crash" };
    const begun = tests.dispatch({ op: "check", source });
    if (begun.status !== "ok") return replyOf(tests, begun);
    for (let round = 0; round < 1000; ++round) {
      tests.jobs();
      program.finish();
      tests.finish();
      const settled = tests.dispatch({ op: "settled" });
      if (settled.error !== "the test waits for what never comes") return this.#reply(program, tests, settled);
    }
    return this.#reply(program, tests, tests.dispatch({ op: "settled" }));
  }

  /** A limit that the program hit is the reason, not what the test made of it. */
  #reply(program: Machine, tests: Machine, settled: Said): SandboxReply {
    if (settled.status !== "ok" && (program.overflow || program.dead)) return replyOf(program, settled);
    return replyOf(tests, settled);
  }
}
