// Python programs and their tests, in two interpreters. Runs in the sandbox's process.
import { guestRequest } from "../guest-request";
import type { Interpreter, RunStatus, SandboxLimits, SandboxReply } from "../protocol";
import type { PythonRuntime, RealmAnswer, RealmCall } from "./realm";

/** What the harness reports. The program that it ran may have tampered with it. */
interface Outcome {
  readonly status: string;
  readonly value: unknown;
  readonly reply: SandboxReply;
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value.slice(0, 1000) : undefined);

/** The limits are known here, whatever the program says about itself. */
function statusOf({ memory, overflow, reply }: RealmAnswer, said: unknown): RunStatus {
  if (overflow) return "output limit";
  if (said === "ok") return "ok";
  if (memory) return "memory limit";
  if (reply === null) return "crash";
  return said === "exit" ? "exit" : "error";
}

function outcomeOf(answer: RealmAnswer): Outcome {
  let record: Record<string, unknown> = {};
  try {
    record = answer.reply === null ? {} : (JSON.parse(answer.reply) as Record<string, unknown>);
  } catch {
    record = { status: "error", error: "the answer of the interpreter cannot be read" };
  }
  const status = statusOf(answer, record["status"]);
  const error = text(record["error"]);
  const type = text(record["type"]);
  const { line } = record;
  const reply = {
    status,
    stdout: answer.stdout,
    error,
    type,
    line: typeof line === "number" ? line : undefined,
    syntax: record["syntax"] === true ? true : undefined,
  };
  return { status, value: record["value"], reply };
}

export class PythonInterpreter implements Interpreter {
  readonly #runtime: PythonRuntime;
  readonly #limits: SandboxLimits;
  #program: RealmCall | undefined;
  #tests: RealmCall | undefined;

  constructor(runtime: PythonRuntime, limits: SandboxLimits) {
    this.#runtime = runtime;
    this.#limits = limits;
  }

  async prepare(assertions: boolean): Promise<void> {
    this.#program = await this.#runtime.open(this.#limits, false, (text) => {
      const request = guestRequest(text);
      return (request !== null && this.#tests?.(request, "").reply) || "{}";
    });
    if (assertions)
      this.#tests ??= await this.#runtime.open(
        this.#limits,
        true,
        (request) => this.#program?.(request, "").reply ?? "{}",
      );
  }

  run(source: string, stdin: string): SandboxReply {
    return this.#ask(this.#program, { op: "run", source }, stdin).reply;
  }

  load(source: string, setup: string, names: readonly string[] | null): SandboxReply {
    const program = this.#ask(this.#program, { op: "load", source, names });
    if (program.status !== "ok") return program.reply;
    const tests = this.#ask(this.#tests, { op: "begin", setup, names: program.value, only: names });
    return tests.status === "ok" ? program.reply : { ...tests.reply, status: "tests failed to load" };
  }

  check(source: string): SandboxReply {
    return this.#ask(this.#tests, { op: "check", source }).reply;
  }

  #ask(call: RealmCall | undefined, request: object, stdin = ""): Outcome {
    if (!call) return { status: "crash", value: null, reply: { status: "crash", error: "nothing was prepared" } };
    return outcomeOf(call(JSON.stringify(request), stdin));
  }
}
