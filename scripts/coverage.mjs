// Which lines of native and TypeScript code the tests reach:
//
//   npm run coverage [-- [--json] TESTS...]      TESTS as jest takes them; none: the whole suite
//
// The TypeScript is what jest imports of lib/ (suites of the package itself run dist/, and count for native code alone). Native code is
// compiled once more with gcov's counters: the addon and the emulated CUDA backend, which the suite then loads from build-coverage/.
// A process that is killed leaves no counts, and V8 counts comments among the lines of TypeScript. Ends with a table by folder and the
// files that are reached least; all files, with their numbers of lines, are in build-coverage/coverage.json.

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { buildForCoverage, nativeCoverage } from "./coverage/native.mjs";
import { table } from "./coverage/table.mjs";
import { at, shown } from "./build/paths.mjs";
import { ToolFailed } from "./build/run.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false } },
});
const folder = at("build-coverage");
const say = (text) => console.error(`coverage: ${text}`);

/** { file: { lines, reached } } of what jest's own report counted. */
function typeScriptCoverage() {
  const report = JSON.parse(readFileSync(at("build-coverage/typescript/coverage-summary.json"), "utf8"));
  const files = Object.entries(report).filter(([file]) => file !== "total");
  return Object.fromEntries(
    files.map(([file, { lines }]) => [shown(file), { lines: lines.total, reached: lines.covered }]),
  );
}

try {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  say("compiling native code with counters, a minute or two");
  await buildForCoverage(folder);
  say("running the tests");
  const args = [
    at("node_modules/jest/bin/jest.js"),
    "--coverage",
    "--coverageProvider=v8",
    "--coverageReporters=json-summary",
    "--coverageDirectory=build-coverage/typescript",
    "--collectCoverageFrom=lib/**/*.ts",
    "--",
    ...positionals,
  ];
  const env = { ...process.env, SURPRISAL_NATIVE_PATH: folder };
  const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", process.stderr, process.stderr], env });
  const files = { ...typeScriptCoverage(), ...(await nativeCoverage(folder)) };
  writeFileSync(at("build-coverage/coverage.json"), `${JSON.stringify(files, undefined, 1)}\n`);
  console.log(values.json ? JSON.stringify(files) : table(files));
  if (status !== 0) say("some tests failed: what is counted is what ran");
  process.exitCode = status ?? 1;
} catch (error) {
  if (!(error instanceof ToolFailed)) throw error;
  console.error(`${error.output}\ncoverage: ${error.message}`);
  process.exitCode = 1;
}
