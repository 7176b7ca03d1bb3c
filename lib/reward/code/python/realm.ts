// One Python interpreter in a realm of its own. Runs in the sandbox's process.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Script, createContext } from "node:vm";

import { HARNESS, SEAL } from "./harness";
import { REALM_PROGRAM } from "./realm-program";

export interface RealmLimits {
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly fileBytes: number;
}

/** What a call gives: the interpreter's answer (null: it died), what was printed, and which limits were hit. */
export interface RealmAnswer {
  readonly reply: string | null;
  readonly stdout: string;
  readonly memory: boolean;
  readonly overflow: boolean;
}

export type RealmCall = (request: string, stdin: string) => RealmAnswer;

/** Of V8; the types of Node do not name it. */
declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };

type Start = (
  loadPyodide: unknown,
  createPyodideModule: unknown,
  lockText: string,
  restore: boolean,
  trusted: boolean,
  harness: string,
  seal: string,
) => Promise<unknown>;

const DEAD: RealmAnswer = { reply: null, stdout: "", memory: false, overflow: false };

/** Repeats itself, so that a program has the same reward every time. */
function fillRandom(bytes: Uint8Array): void {
  let word = 0x9e3779b9 ^ bytes.length;
  for (let i = 0; i < bytes.length; ++i) {
    word = Math.imul(word ^ (word >>> 15), 0x2c1b3c6d) + i;
    bytes[i] = word >>> 24;
  }
}

/** Everything of pyodide that realms share, read once. */
export class PythonRuntime {
  readonly #assets: Record<string, Uint8Array>;
  readonly #loader: Script;
  readonly #module: Script;
  readonly #prepare = new Script(REALM_PROGRAM, { filename: "realm.js" });
  readonly #lockText: string;
  /** Keeps the machine code: compiling the same bytes again, in another realm, finds it. */
  readonly compiled: object;

  constructor(folder: string, snapshot: Uint8Array | undefined) {
    const text = (name: string): string => readFileSync(join(folder, name), "utf8");
    this.#assets = {
      wasm: readFileSync(join(folder, "pyodide.asm.wasm")),
      stdlib: readFileSync(join(folder, "python_stdlib.zip")),
    };
    if (snapshot) this.#assets["snapshot"] = snapshot;
    this.compiled = new WebAssembly.Module(this.#assets["wasm"]!);
    this.#loader = new Script(`${text("pyodide.js")}\nloadPyodide;`, { filename: "pyodide.js" });
    this.#module = new Script(asScript(text("pyodide.asm.mjs")), { filename: "pyodide.asm.js" });
    this.#lockText = JSON.stringify({ ...(JSON.parse(text("pyodide-lock.json")) as object), packages: {} });
  }

  /** The memory of an interpreter that has started and imported what programs use most. */
  async snapshot(): Promise<Uint8Array> {
    const limits = { memoryBytes: 2 ** 31, outputBytes: 0, fileBytes: 2 ** 30 };
    this.#assets["snapshot"] ??= new Uint8Array(
      (await this.#start(limits, { restore: false, trusted: true }, () => "")) as Uint8Array,
    );
    return this.#assets["snapshot"];
  }

  /** A fresh interpreter, of a program or, trusted, of tests. `ask` returns the other interpreter's reply to a request of its Python. */
  async open(limits: RealmLimits, trusted: boolean, ask: (request: string) => string): Promise<RealmCall> {
    await this.snapshot();
    const call = (await this.#start(limits, { restore: true, trusted }, ask)) as (
      request: string,
      stdin: string,
    ) => unknown;
    let alive = true;
    return (request, stdin) => {
      if (!alive) return DEAD;
      let text: unknown;
      try {
        text = call(request, stdin);
      } catch {
        text = undefined;
      }
      // The realm's functions can lie, about strings only.
      const answer = typeof text === "string" ? readAnswer(text) : DEAD;
      alive = answer.reply !== null;
      return answer;
    };
  }

  async #start(
    limits: RealmLimits,
    { restore, trusted }: { restore: boolean; trusted: boolean },
    ask: (request: string) => string,
  ): Promise<unknown> {
    const context = createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: true } });
    const decoders = new TextDecoder();
    const prepare = this.#prepare.runInContext(context) as (host: object) => Start;
    const start = prepare({
      randomBytes: fillRandom,
      now: () => performance.now(),
      decode: (label: string, fatal: boolean, ignoreBOM: boolean, bytes: Uint8Array) =>
        label === "utf-8" && !fatal && !ignoreBOM
          ? decoders.decode(bytes)
          : new TextDecoder(label, { fatal, ignoreBOM }).decode(bytes),
      encode: (text: string, bytes: Uint8Array) => new TextEncoder().encodeInto(text, bytes).written,
      assetBytes: (name: string) => this.#assets[name]!.length,
      asset: (name: string, bytes: Uint8Array) => {
        bytes.set(this.#assets[name]!);
      },
      ask: (request: string) => ask(request),
      ...limits,
    });
    const loader: unknown = this.#loader.runInContext(context);
    const create: unknown = this.#module.runInContext(context);
    return start(loader, create, this.#lockText, restore, trusted, HARNESS, SEAL);
  }
}

/** A module as a script, whose code realms share; a module would be compiled for each anew. */
function asScript(text: string): string {
  const marker = /export default (\w+);\s*$/;
  if (!marker.test(text)) throw new Error("pyodide.asm.mjs has another form than that of pyodide 314");
  return text.replaceAll("import.meta.url", '"file:///pyodide.asm.mjs"').replace(marker, "$1;");
}

function readAnswer(text: string): RealmAnswer {
  const { reply, stdout, memory, overflow } = JSON.parse(text) as Record<string, unknown>;
  return {
    reply: typeof reply === "string" ? reply : null,
    stdout: typeof stdout === "string" ? stdout : "",
    memory: memory === true,
    overflow: overflow === true,
  };
}
