// Reads golden files: numbers made by running other programs, one JSON file a function. Everything that is not as
// expected is an error that names the file, so that no case is lost by a slip.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export type NumberArray = Float32Array | Float64Array | Int32Array | Uint8Array;

const ARRAY_TYPES = { float32: Float32Array, float64: Float64Array, int32: Int32Array, uint8: Uint8Array };
type GoldenDtype = keyof typeof ARRAY_TYPES;

/** `{dtype, shape, data}` in JSON; row-major. */
export type GoldenArray = {
  [D in GoldenDtype]: {
    readonly dtype: D;
    readonly shape: readonly number[];
    readonly data: InstanceType<(typeof ARRAY_TYPES)[D]>;
  };
}[GoldenDtype];

export type GoldenValue = number | string | boolean | null | GoldenArray | readonly GoldenValue[] | GoldenRecord;
export interface GoldenRecord {
  readonly [name: string]: GoldenValue;
}

export interface GoldenCase {
  readonly name: string;
  readonly inputs: GoldenRecord;
  readonly outputs: GoldenRecord;
  readonly rtol: number;
  readonly atol: number;
  /** The call must fail: the name of the failure that was recorded. */
  readonly failure: string | undefined;
  /** What the source does and a library should not do by default: flagged so, or named `quirk/…`. */
  readonly upstreamOnly: boolean;
  /** Outputs of which the same holds. */
  readonly upstreamOnlyOutputs: readonly string[];
}

export interface GoldenFile {
  readonly path: string;
  readonly family: string;
  readonly function: string;
  readonly note: string | undefined;
  readonly cases: readonly GoldenCase[];
}

/** A golden file, or the folder that should hold some, is not usable. */
export class GoldenError extends Error {
  override name = "GoldenError";
}

/** JSON has no words for these three. */
const NUMBER_WORDS = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
]);

export function isGoldenArray(value: GoldenValue | undefined): value is GoldenArray {
  return typeof value === "object" && value !== null && "data" in value && ArrayBuffer.isView(value.data);
}

/** Every `*.json` under the folder, in the order of their paths. */
export function readGoldenFolder(folder: string): GoldenFile[] {
  const paths = jsonFilesUnder(folder);
  if (paths.length === 0) throw new GoldenError(`${folder}: no *.json file in this folder or below it`);
  return paths.map(readGoldenFile);
}

function jsonFilesUnder(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new GoldenError(`${folder}: no such folder`);
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => join(folder, name));
}

export function readGoldenFile(path: string): GoldenFile {
  try {
    const file = asRecord(JSON.parse(readFileSync(path, "utf8")), "file");
    return {
      path,
      family: asString(file["family"], "family"),
      function: asString(file["function"], "function"),
      note: file["note"] === undefined ? undefined : asString(file["note"], "note"),
      cases: asList(file["cases"], "cases").map((value, i) => readCase(value, `cases[${i}]`)),
    };
  } catch (error) {
    throw new GoldenError(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function readCase(value: unknown, at: string): GoldenCase {
  const record = asRecord(value, at);
  const name = asString(record["name"], `${at}.name`);
  const here = `${at} (${name})`;
  const outputs = readRecord(record["outputs"], `${here}.outputs`);
  const failure = outputs["throws"] ?? outputs["error"];
  const flag = record["upstream_only"] ?? false;
  if (typeof flag !== "boolean") throw new Error(`${here}.upstream_only: expected true or false`);
  return {
    name,
    inputs: readRecord(record["inputs"], `${here}.inputs`),
    outputs,
    rtol: asTolerance(record["rtol"], `${here}.rtol`),
    atol: asTolerance(record["atol"], `${here}.atol`),
    failure: typeof failure === "string" ? failure : undefined,
    upstreamOnly: flag || name.startsWith("quirk/"),
    upstreamOnlyOutputs: asList(record["upstream_only_outputs"] ?? [], `${here}.upstream_only_outputs`).map((output) =>
      asString(output, `${here}.upstream_only_outputs`),
    ),
  };
}

function readValue(value: unknown, at: string): GoldenValue {
  if (typeof value === "string") return NUMBER_WORDS.get(value) ?? value;
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map((item, i) => readValue(item, `${at}[${i}]`));
  const record = asRecord(value, at);
  return "dtype" in record && "data" in record ? readArray(record, at) : readRecord(record, at);
}

function readRecord(value: unknown, at: string): GoldenRecord {
  const entries = Object.entries(asRecord(value, at));
  return Object.fromEntries(entries.map(([name, item]) => [name, readValue(item, `${at}.${name}`)]));
}

function readArray(record: Record<string, unknown>, at: string): GoldenArray {
  const dtype = asString(record["dtype"], `${at}.dtype`);
  if (!Object.hasOwn(ARRAY_TYPES, dtype))
    throw new Error(`${at}.dtype: "${dtype}" is not one of ${Object.keys(ARRAY_TYPES).join(", ")}`);
  const shape = asList(record["shape"], `${at}.shape`).map((extent) => {
    if (!Number.isInteger(extent) || (extent as number) < 0)
      throw new Error(`${at}.shape: ${String(extent)} is no extent`);
    return extent as number;
  });
  const list = asList(record["data"], `${at}.data`);
  const size = shape.reduce((product, extent) => product * extent, 1);
  if (list.length !== size) throw new Error(`${at}: ${list.length} values for the shape [${shape.join(", ")}]`);
  const data = new ARRAY_TYPES[dtype as GoldenDtype](size);
  list.forEach((item, i) => {
    const number = readValue(item, `${at}.data[${i}]`);
    if (typeof number !== "number") throw new Error(`${at}.data[${i}]: ${JSON.stringify(item)} is no number`);
    data[i] = number;
  });
  return { dtype, shape, data } as GoldenArray;
}

function asRecord(value: unknown, at: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${at}: expected an object`);
}

function asList(value: unknown, at: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`${at}: expected a list`);
}

function asString(value: unknown, at: string): string {
  if (typeof value === "string") return value;
  throw new Error(`${at}: expected a string`);
}

function asTolerance(value: unknown, at: string): number {
  if (typeof value === "number" && value >= 0) return value;
  throw new Error(`${at}: expected a number >= 0`);
}
