// Pyodide in a V8 context of its own. Runs in the sandbox's process.
import { Buffer } from "node:buffer";
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
interface Asset {
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

/** What lets an interpreter start soon: eight bytes of length, the memory of one that has started, and behind it V8's code of the runtime. */
export interface Snapshot {
  readonly memory: Asset;
  readonly code: Buffer;
}

const HEADER = 8;

/** Of an open file. */
export function openSnapshot(file: number): Snapshot {
  const header = Buffer.alloc(HEADER);
  readInto(header, { file, begin: 0, length: HEADER });
  const memory = { file, begin: HEADER, length: Number(header.readBigUInt64LE()) };
  const begin = HEADER + memory.length;
  const code = Buffer.alloc(fstatSync(file).size - begin);
  readInto(code, { file, begin, length: code.length });
  return { memory, code };
}

/**
 * Starts pyodide in a realm of its own: from `snapshot`, or without one to make it.
 *
 * @param ask returns the program's reply to what tests ask
 * @returns the memory where there was no snapshot, else a Realm; and the runtime's script, as far as it has been compiled
 */
async function start(
  folder: string,
  limits: SandboxLimits,
  snapshot: Snapshot | undefined,
  ask: (request: string) => string,
): Promise<readonly [unknown, Script]> {
  const text = (name: string): string => readFileSync(join(folder, name), "utf8");
  const lockText = JSON.stringify({ ...(JSON.parse(text("pyodide-lock.json")) as object), packages: {} });
  const files = [assetOf(join(folder, "pyodide.asm.wasm")), assetOf(join(folder, "python_stdlib.zip"))] as const;
  const assets = new Map([
    ["wasm", files[0]],
    ["stdlib", files[1]],
    ["snapshot", snapshot?.memory],
  ]);
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
    assetBytes: (name: unknown) => assets.get(needText(name))!.length,
    asset: (name: unknown, bytes: unknown) => readInto(needBytes(bytes), assets.get(needText(name))!),
    ask: (request: unknown) => ask(needText(request)),
    ...limits,
  });
  const loader = evaluate(`${text("pyodide.js")}\nloadPyodide;`, "pyodide.js");
  const runtime = new Script(asScript(text("pyodide.asm.mjs")), {
    filename: "pyodide.asm.js",
    cachedData: snapshot?.code,
  });
  const create: unknown = runtime.runInContext(context);
  try {
    return [await begin(loader, create, lockText, snapshot !== undefined, HARNESS, SEAL), runtime];
  } finally {
    for (const { file } of files) closeSync(file);
    assets.clear();
  }
}

/** Of an interpreter that has started and imported what programs use most: the bytes of a Snapshot. */
export async function makeSnapshot(folder: string): Promise<Uint8Array> {
  const limits = { memoryBytes: 2 ** 31, outputBytes: 0, fileBytes: 2 ** 30 };
  const [made, runtime] = await start(folder, limits, undefined, () => "");
  const memory = new Uint8Array(made as Uint8Array);
  const header = Buffer.alloc(HEADER);
  header.writeBigUInt64LE(BigInt(memory.length));
  return Buffer.concat([header, memory, runtime.createCachedData()]);
}

export async function openRealm(
  folder: string,
  limits: SandboxLimits,
  snapshot: Snapshot,
  ask: (request: string) => string,
): Promise<Realm> {
  const [realm] = await start(folder, limits, snapshot, ask);
  return realm as Realm;
}

/** A module as a script, which can be run in another realm. */
function asScript(text: string): string {
  const marker = /export default (\w+);\s*$/;
  if (!marker.test(text)) throw new Error("pyodide.asm.mjs has another form than that of pyodide 314");
  return text.replaceAll("import.meta.url", '"file:///pyodide.asm.mjs"').replace(marker, "$1;");
}
