// Pyodide in a V8 context of its own. Runs in the sandbox's process.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { isUint8Array } from "node:util/types";
import { Script, createContext } from "node:vm";

import type { SandboxLimits } from "../protocol";
import { HARNESS, SEAL } from "./harness";
import { REALM_PROGRAM } from "./realm-program";

/** What it returns is of the realm, and can lie. */
interface Realm {
  readonly call: (line: string, body: string) => unknown;
  readonly serveTests: () => void;
}

type Start = (
  loadPyodide: unknown,
  createPyodideModule: unknown,
  lockText: string,
  restore: boolean,
  harness: string,
  seal: string,
) => Promise<unknown>;

/**
 * What comes from the realm may be an object of the program's, whose methods Node would call with its own functions, to show the object
 * in a message say.
 */
function needBytes(value: unknown): Uint8Array {
  if (!isUint8Array(value)) throw new TypeError("no bytes");
  return value;
}

function needView(value: unknown): NodeJS.ArrayBufferView {
  if (!ArrayBuffer.isView(value)) throw new TypeError("no bytes");
  return value as NodeJS.ArrayBufferView;
}

function needText(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("no text");
  return value;
}

/** What lies in an open file behind `begin`: read straight to where it is needed, since it is long and every program starts with it. */
export interface Asset {
  readonly file: number;
  readonly begin: number;
  readonly length: number;
}

function readInto(bytes: Uint8Array, { file, begin, length }: Asset): void {
  if (bytes.length !== length) throw new TypeError("another length");
  for (let at = 0; at < length;) {
    const count = readSync(file, bytes, at, length - at, begin + at);
    if (count === 0) throw new Error("the file ends too early");
    at += count;
  }
}

function assetOf(path: string): Asset {
  const file = openSync(path, "r");
  return { file, begin: 0, length: fstatSync(file).size };
}

/** Repeats itself, so that a program has the same reward every time. */
function fillRandom(bytes: Uint8Array): void {
  let word = 0x9e3779b9 ^ bytes.length;
  for (let i = 0; i < bytes.length; ++i) {
    word = Math.imul(word ^ (word >>> 15), 0x2c1b3c6d) + i;
    bytes[i] = word >>> 24;
  }
}

/**
 * Starts pyodide in a realm of its own: from `snapshot`, or without one to make it.
 *
 * @param ask returns the program's reply to what tests ask
 * @returns the snapshot where there was none, else a Realm
 */
async function start(
  folder: string,
  limits: SandboxLimits,
  snapshot: Asset | undefined,
  ask: (request: string) => string,
): Promise<unknown> {
  const text = (name: string): string => readFileSync(join(folder, name), "utf8");
  const lockText = JSON.stringify({ ...(JSON.parse(text("pyodide-lock.json")) as object), packages: {} });
  const files = [assetOf(join(folder, "pyodide.asm.wasm")), assetOf(join(folder, "python_stdlib.zip"))] as const;
  const assets: Record<string, Asset | undefined> = { wasm: files[0], stdlib: files[1], snapshot };
  const context = createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: true } });
  const evaluate = (source: string, filename: string): unknown =>
    new Script(source, { filename }).runInContext(context);
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const begin = (evaluate(REALM_PROGRAM, "realm.js") as (host: object) => Start)({
    randomBytes: (bytes: unknown) => fillRandom(needBytes(bytes)),
    now: () => performance.now(),
    decode: (label: unknown, fatal: unknown, ignoreBOM: unknown, bytes: unknown) =>
      label === "utf-8" && fatal === false && ignoreBOM === false
        ? decoder.decode(needView(bytes))
        : new TextDecoder(needText(label), { fatal: fatal === true, ignoreBOM: ignoreBOM === true }).decode(
            needView(bytes),
          ),
    encode: (text: unknown, bytes: unknown) => encoder.encodeInto(needText(text), needBytes(bytes)).written,
    assetBytes: (name: unknown) => assets[needText(name)]!.length,
    asset: (name: unknown, bytes: unknown) => readInto(needBytes(bytes), assets[needText(name)]!),
    ask: (request: unknown) => ask(needText(request)),
    ...limits,
  });
  const loader = evaluate(`${text("pyodide.js")}\nloadPyodide;`, "pyodide.js");
  const create = evaluate(asScript(text("pyodide.asm.mjs")), "pyodide.asm.js");
  try {
    return await begin(loader, create, lockText, snapshot !== undefined, HARNESS, SEAL);
  } finally {
    for (const { file } of files) closeSync(file);
    for (const name of Object.keys(assets)) delete assets[name];
  }
}

/** The memory of an interpreter that has started and imported what programs use most. */
export async function makeSnapshot(folder: string): Promise<Uint8Array> {
  const limits = { memoryBytes: 2 ** 31, outputBytes: 0, fileBytes: 2 ** 30 };
  return new Uint8Array((await start(folder, limits, undefined, () => "")) as Uint8Array);
}

export async function openRealm(
  folder: string,
  limits: SandboxLimits,
  snapshot: Asset,
  ask: (request: string) => string,
): Promise<Realm> {
  return (await start(folder, limits, snapshot, ask)) as Realm;
}

/** A module as a script, which can be run in another realm. */
function asScript(text: string): string {
  const marker = /export default (\w+);\s*$/;
  if (!marker.test(text)) throw new Error("pyodide.asm.mjs has another form than that of pyodide 314");
  return text.replaceAll("import.meta.url", '"file:///pyodide.asm.mjs"').replace(marker, "$1;");
}
