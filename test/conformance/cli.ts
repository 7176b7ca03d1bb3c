// npm run conformance -- [--dir DIR] [--backend NAME] [--family NAME] [--json]
// Exit status: 0 nothing failed, 1 a case failed, 2 it could not be run as asked.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { GoldenError, readGoldenFolder, type GoldenFile } from "./golden";
import type { MappingTable } from "./mapping";
import { backendLines, closingLine, toJson } from "./report";
import { type BackendReport, type FunctionReport, runBackend, sumTotals } from "./run";
import type { BackendName, BackendStatus } from "../support/each-backend";

const USAGE = `usage: npm run conformance -- [--dir DIR] [--backend NAME] [--family NAME] [--json]

  --dir DIR       folder with golden files (*.json, at any depth). Default: test/golden
  --backend NAME  only this backend. Default: every available one in turn
  --family NAME   only the golden files of this family
  --json          one JSON document on stdout, with every case
  --help          this text`;

const DEFAULT_FOLDER = join(__dirname, "..", "golden");

export interface Terminal {
  out(line: string): void;
  err(line: string): void;
  /** Replaces the line before; undefined where nobody watches. */
  progress: ((line: string) => void) | undefined;
}

export interface Setup {
  readonly mappings: MappingTable;
  /** What is recorded in another form than golden files; run where these are not asked for by folder or family. */
  readonly recordings?: (backend: BackendName) => readonly FunctionReport[];
  readonly backends: readonly Pick<BackendStatus, "name" | "available" | "reason">[];
}

/** The request cannot be carried out; the message says why. */
class RequestError extends Error {}

export function main(args: readonly string[], setup: Setup, terminal: Terminal): number {
  try {
    return run(args, setup, terminal);
  } catch (error) {
    if (!(error instanceof RequestError || error instanceof GoldenError)) throw error;
    terminal.err(`conformance: ${error.message}`);
    return 2;
  }
}

function run(args: readonly string[], setup: Setup, terminal: Terminal): number {
  const options = parse(args);
  if (options.help) {
    terminal.out(USAGE);
    return 0;
  }
  const folder = options.dir ?? DEFAULT_FOLDER;
  const backends = chooseBackends(setup.backends, options.backend);
  const files = chooseFamily(readGoldenFolder(folder), options.family, folder);

  const everything = options.dir === undefined && options.family === undefined;
  const reports = backends.map((backend) => {
    const golden = runBackend(files, setup.mappings, backend, (key) => terminal.progress?.(`${backend}: ${key}`));
    const report = everything ? withFunctions(golden, setup.recordings?.(backend) ?? []) : golden;
    terminal.progress?.("");
    if (!options.json) backendLines(report).forEach((line) => terminal.out(line));
    return report;
  });
  const totals = sumTotals(reports.map((report) => report.totals));
  const unavailable = options.backend === undefined ? setup.backends.filter((backend) => !backend.available) : [];
  if (options.json) {
    terminal.out(toJson({ folder, backends: reports, unavailable, totals }));
  } else {
    unavailable.forEach(({ name, reason }) =>
      terminal.out(`backend ${name} is not available: ${reason ?? "no reason given"}`),
    );
    terminal.out(closingLine(totals));
  }
  return totals.failed > 0 ? 1 : 0;
}

function withFunctions(report: BackendReport, more: readonly FunctionReport[]): BackendReport {
  const functions = [...report.functions, ...more];
  return { ...report, functions, totals: sumTotals(functions.map(({ totals }) => totals)) };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        dir: { type: "string" },
        backend: { type: "string" },
        family: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new RequestError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
}

function chooseBackends(all: Setup["backends"], name: string | undefined): BackendName[] {
  if (name === undefined) return all.filter(({ available }) => available).map((backend) => backend.name);
  const backend = all.find((b) => b.name === name);
  if (!backend) throw new RequestError(`no backend "${name}"; there are ${all.map((b) => b.name).join(", ")}`);
  if (!backend.available)
    throw new RequestError(`backend ${name} is not available: ${backend.reason ?? "no reason given"}`);
  return [backend.name];
}

function chooseFamily(files: GoldenFile[], family: string | undefined, folder: string): GoldenFile[] {
  if (family === undefined) return files;
  const chosen = files.filter((file) => file.family === family);
  if (chosen.length > 0) return chosen;
  const families = [...new Set(files.map((file) => file.family))];
  throw new RequestError(`no family "${family}" under ${folder}; there are ${families.join(", ")}`);
}
