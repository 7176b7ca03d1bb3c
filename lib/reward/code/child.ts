// The program of the sandbox's process: an interpreter that waits, serves one program or the tests of one, and is killed. It has the
// permission to read the interpreter's files and no other, an empty environment, and no input or output but two pipes to its owner.
import { Buffer } from "node:buffer";
import { readSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { argv, exit } from "node:process";
import { Worker } from "node:worker_threads";

import { frame, KIND, PREFIX, readPrefix } from "./frames";
import { JavaScriptInterpreter } from "./javascript/interpreter";
import { type Interpreter, MESSAGES, type SandboxStart, SNAPSHOT } from "./protocol";
import { PythonInterpreter } from "./python/interpreter";
import { makeSnapshot, openSnapshot } from "./python/realm";

/** What the process takes beside the interpreter: the runtime and its code. */
const OVERHEAD = 2 ** 30;

function send(kind: number, payload: Uint8Array): void {
  const bytes = frame(kind, payload);
  for (let at = 0; at < bytes.length;) at += writeSync(MESSAGES, bytes, at);
}

function receive(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length;) {
    const count = readSync(MESSAGES, bytes, at, length - at, null);
    if (count === 0) exit();
    at += count;
  }
  return bytes;
}

const nextMessage = (): string => Buffer.from(receive(readPrefix(receive(PREFIX)).length)).toString();

function ask(request: string): string {
  send(KIND.ask, Buffer.from(request));
  return nextMessage();
}

/** What a program could reach from a realm that it broke out of: nothing that acts on the system. */
function disarm(): void {
  Error.stackTraceLimit = 0;
  for (const name of ["process", "fetch", "WebSocket", "require", "module"])
    Object.defineProperty(globalThis, name, { value: undefined, writable: false, configurable: false });
}

function serve(interpreter: Interpreter): never {
  send(KIND.ready, new Uint8Array());
  disarm();
  for (;;) {
    const message = nextMessage();
    if (message === "tests") {
      interpreter.serveTests(ask);
      continue;
    }
    const end = message.indexOf("\n");
    send(KIND.reply, Buffer.from(interpreter.call(message.slice(0, end), message.slice(end + 1))));
  }
}

async function start(): Promise<void> {
  const { language, folder, limits, snapshot } = JSON.parse(argv[2]!) as SandboxStart;
  new Worker(join(dirname(argv[1]!), "watch.js"), { workerData: OVERHEAD + 2 * limits.memoryBytes });
  if (language === "javascript") serve(await JavaScriptInterpreter.open(folder, limits));
  if (snapshot) serve(await PythonInterpreter.open(folder, limits, openSnapshot(SNAPSHOT)));
  send(KIND.snapshot, await makeSnapshot(folder));
}

start().catch((error: unknown) => {
  send(KIND.failed, Buffer.from(String(error)));
});
