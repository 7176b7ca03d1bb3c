// Runs golden cases through mappings on one backend and says what came of each.
import type { BackendName } from "../support/each-backend";
import { compareOutputs, type Difference } from "./compare";
import type { GoldenCase, GoldenFile } from "./golden";
import { Inputs } from "./inputs";
import { LEFT_OUT } from "./left-out";
import { mappingKey, namesOf, type Mapping, type MappingTable } from "./mapping";

export type CaseResult =
  | { readonly name: string; readonly status: "passed"; readonly maskedNotCompared: number }
  | {
      readonly name: string;
      readonly status: "failed";
      readonly maskedNotCompared: number;
      readonly differences: readonly Difference[];
    }
  | { readonly name: string; readonly status: "skipped"; readonly reason: string }
  | { readonly name: string; readonly status: "leftOut"; readonly reason: string }
  | { readonly name: string; readonly status: "notImplemented" };

/** Begins the reason of a case that shows upstream behaviour. */
export const REPLACED = "upstream behaviour, replaced by: ";

export interface Totals {
  passed: number;
  failed: number;
  skipped: number;
  leftOut: number;
  notImplemented: number;
  maskedNotCompared: number;
}

export interface FunctionReport {
  readonly family: string;
  readonly function: string;
  /** The public functions that answer for it, and their options; nothing where there is no mapping. */
  readonly ours: readonly string[];
  readonly options: string | undefined;
  /** Outputs that are not compared, and why; nothing where all are. */
  readonly notCompared: string | undefined;
  readonly backendFree: boolean;
  readonly totals: Totals;
  readonly cases: readonly CaseResult[];
}

export interface BackendReport {
  readonly backend: BackendName;
  readonly functions: readonly FunctionReport[];
  readonly totals: Totals;
}

/** Files of the same function make one report. `onFunction` is told before each starts. */
export function runBackend(
  files: readonly GoldenFile[],
  mappings: MappingTable,
  backend: BackendName,
  onFunction: (key: string) => void = () => undefined,
): BackendReport {
  const functions = joinFiles(files).map((joined) => {
    const key = mappingKey(joined);
    onFunction(key);
    return runFunction(joined, mappings.get(key), backend);
  });
  return { backend, functions, totals: sumTotals(functions.map((f) => f.totals)) };
}

function runFunction(
  { family, function: name, cases: goldenCases }: Omit<GoldenFile, "path" | "note">,
  mapping: Mapping | undefined,
  backend: BackendName,
): FunctionReport {
  const leftOut = LEFT_OUT.get(mappingKey({ family, function: name }));
  const cases = goldenCases.map((golden) => runCase(golden, mapping, backend, leftOut));
  return {
    family,
    function: name,
    ours: mapping ? namesOf(mapping) : [],
    options: mapping?.options,
    notCompared: mapping?.notCompared && `${mapping.notCompared.outputs.join(", ")}: ${mapping.notCompared.because}`,
    backendFree: mapping?.backendFree ?? false,
    totals: count(cases),
    cases,
  };
}

function runCase(
  golden: GoldenCase,
  mapping: Mapping | undefined,
  backend: BackendName,
  leftOut: string | undefined,
): CaseResult {
  const { name } = golden;
  if (!mapping)
    return leftOut === undefined ? { name, status: "notImplemented" } : { name, status: "leftOut", reason: leftOut };
  const preset = golden.upstreamOnly ? mapping.preset?.(golden) : undefined;
  if (golden.upstreamOnly && preset === undefined) {
    return { name, status: "skipped", reason: REPLACED + replacement(golden, mapping) };
  }
  const skipped = mapping.skip?.(golden);
  if (skipped !== undefined) return { name, status: "skipped", reason: skipped };

  const { differences, maskedNotCompared } = attempt(golden, mapping, backend, preset);
  if (differences.length === 0) return { name, status: "passed", maskedNotCompared };
  return { name, status: "failed", maskedNotCompared, differences };
}

function replacement(golden: GoldenCase, { replacedBy }: Mapping): string {
  return (typeof replacedBy === "function" ? replacedBy(golden) : replacedBy) ?? "the rule of this library";
}

function attempt(golden: GoldenCase, mapping: Mapping, backend: BackendName, preset: string | undefined) {
  const inputs = new Inputs(golden.inputs);
  try {
    const got = mapping.run(inputs, { backend, preset, caseName: golden.name });
    const left = mapping.notCompared?.outputs ?? [];
    const compared = { ...golden, upstreamOnlyOutputs: [...golden.upstreamOnlyOutputs, ...left] };
    return compareOutputs(got, compared, mapping.masked?.(inputs));
  } catch (error) {
    if (golden.failure !== undefined && standsFor(error, golden.failure, mapping)) {
      return compareOutputs({ throws: golden.failure, error: golden.failure }, golden);
    }
    return { differences: [{ path: "call", message: `threw ${describeError(error)}` }], maskedNotCompared: 0 };
  }
}

/** Only a code that the mapping names counts: a slip in the mapping must not pass for a refusal. */
function standsFor(error: unknown, failure: string, mapping: Mapping): boolean {
  const code = codeOf(error);
  return code !== undefined && (mapping.failures?.[failure] ?? []).includes(code);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = codeOf(error);
  return `${error.name}${code === undefined ? "" : ` ${code}`}: ${error.message}`;
}

export function sumTotals(all: readonly Totals[]): Totals {
  const sum: Totals = { passed: 0, failed: 0, skipped: 0, leftOut: 0, notImplemented: 0, maskedNotCompared: 0 };
  for (const totals of all) {
    for (const key of Object.keys(sum) as (keyof Totals)[]) sum[key] += totals[key];
  }
  return sum;
}

export function count(cases: readonly CaseResult[]): Totals {
  const totals = sumTotals([]);
  for (const result of cases) {
    ++totals[result.status];
    if ("maskedNotCompared" in result) totals.maskedNotCompared += result.maskedNotCompared;
  }
  return totals;
}

/** One entry a function, with the cases of all its files. */
function joinFiles(files: readonly GoldenFile[]): Omit<GoldenFile, "path" | "note">[] {
  const joined = new Map<string, { family: string; function: string; cases: GoldenCase[] }>();
  for (const { family, function: name, cases } of files) {
    const key = mappingKey({ family, function: name });
    const entry = joined.get(key) ?? { family, function: name, cases: [] };
    entry.cases.push(...cases);
    joined.set(key, entry);
  }
  return [...joined.values()];
}
