// The program of the sandbox's process: it has the permission to read the interpreter's files and no other, an empty environment and
// no input or output but the channel to its owner.
import { JavaScriptInterpreter } from "./javascript/interpreter";
import type { Interpreter, SandboxReply, SandboxRequest } from "./protocol";
import { PythonInterpreter } from "./python/interpreter";
import { PythonRuntime } from "./python/realm";

let interpreter: Interpreter | undefined;

async function start(request: Extract<SandboxRequest, { op: "start" }>): Promise<SandboxReply> {
  const { language, folder, limits, snapshot } = request;
  if (language === "javascript") {
    interpreter = new JavaScriptInterpreter(folder, limits);
    return { status: "ok" };
  }
  const runtime = new PythonRuntime(folder, snapshot ?? undefined);
  interpreter = new PythonInterpreter(runtime, limits);
  return snapshot ? { status: "ok" } : { status: "ok", snapshot: await runtime.snapshot() };
}

async function answer(request: SandboxRequest): Promise<SandboxReply> {
  if (request.op === "start") return start(request);
  if (!interpreter) return { status: "crash", error: "not started" };
  switch (request.op) {
    case "prepare":
      await interpreter.prepare(request.assertions);
      return { status: "ok" };
    case "run":
      return interpreter.run(request.source, request.stdin);
    case "load":
      return interpreter.load(request.source, request.setup, request.names);
    case "check":
      return interpreter.check(request.source);
  }
}

process.on("message", (request: SandboxRequest) => {
  answer(request).then(
    (reply) => process.send?.(reply),
    (error: unknown) => process.send?.({ status: "crash", error: String(error) } satisfies SandboxReply),
  );
});
process.on("disconnect", () => process.exit());
