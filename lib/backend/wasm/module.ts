// Finding and compiling surprisal.wasm, once, on first need.
import { readFileSync } from "node:fs";

import { findNative, noWasmFile } from "../addon";
import { CONTRACTS, OP_NAMES } from "../contract/names";
import { processState } from "../process-state";
import { type WasmCode, webAssembly } from "./engine";
import { WasmInstance } from "./instance";

const WASM_FILE = "surprisal.wasm";

const isBytes = (given: unknown): given is ArrayBuffer | ArrayBufferView =>
  ArrayBuffer.isView(given) || Object.prototype.toString.call(given) === "[object ArrayBuffer]";

/** The compiled module, of which instances are made, and the file that it came from. */
export interface WasmModule {
  readonly module: WasmCode;
  readonly first: WasmInstance;
  readonly file?: string;
}
type Loaded = WasmModule | { readonly reason: string; readonly file?: string };

const state = processState<{ given?: unknown; loaded?: Loaded }>("wasm", {});

/** `configure({ wasm })`: what is used in place of the file. Without effect once the module was loaded. */
export function giveWasm(given: unknown): void {
  state.given = given;
  if (state.loaded !== undefined && "reason" in state.loaded) delete state.loaded;
}

/** The module, or why there is none. A module that was found stays for the process. */
export function wasmModule(): Loaded {
  return (state.loaded ??= load());
}

function load(): Loaded {
  const engine = webAssembly();
  if (engine === undefined) return { reason: "this JavaScript engine has no WebAssembly" };
  const file = state.given === undefined ? findNative(WASM_FILE, "build-wasm") : undefined;
  if (state.given === undefined && file === undefined) return { reason: noWasmFile(WASM_FILE) };
  try {
    const given = state.given ?? readFileSync(file!);
    const module = isBytes(given) ? new engine.Module(given) : given;
    const first = new WasmInstance(module);
    const fits = first.contracts === CONTRACTS && OP_NAMES.every((op) => first.ops.includes(op));
    return fits
      ? { module, first, file }
      : { reason: `${WASM_FILE} was built from another version of this package`, file };
  } catch (cause) {
    const text = cause instanceof Error ? cause.message.split("\n", 1)[0]! : String(cause);
    return { reason: `${WASM_FILE} does not run here (${text})`, file };
  }
}
