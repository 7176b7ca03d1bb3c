// Installs the tarball of a release in every way and on every system that this machine can stand for, and writes what came of it to
// bench/results/install-matrix.json and to the table of docs/install.md.
//
//   npm run install-matrix [-- --only PATTERN] [--table]
//
// Takes build-release/*.tgz, which `npm run release:dry` leaves. --only runs the cases whose names match and keeps the results of the
// others; --table only writes the table. A case that cannot run says why in the table.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { at } from "./build/paths.mjs";
import { installed, installing } from "./install-matrix/installing.mjs";
import { systems } from "./install-matrix/systems.mjs";
import { writeTable } from "./install-matrix/table.mjs";
import { NotRun } from "./install-matrix/tools.mjs";
import { using } from "./install-matrix/using.mjs";

const RESULTS = at("bench/results/install-matrix.json");
const { values: options } = parseArgs({
  options: { only: { type: "string", default: "" }, table: { type: "boolean", default: false } },
});
const GROUPS = { installing, using, systems };
const { version } = JSON.parse(readFileSync(at("package.json"), "utf8"));
const before = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")).cases : [];

if (!options.table) {
  const tarball = at("build-release", `surprisal-${version}.tgz`);
  const cuda = at("build-release", `surprisal-cuda-${version}.tgz`);
  if (!existsSync(tarball)) {
    console.error("install-matrix: no tarball in build-release/; npm run release:dry makes it");
    process.exit(2);
  }
  const given = { tarball, cuda, consumer: await installed(tarball) };
  const pattern = new RegExp(options.only);
  const cases = [];
  for (const [group, named] of Object.entries(GROUPS)) {
    for (const [name, run] of named) {
      const known = before.find((one) => one.group === group && one.name === name);
      if (!pattern.test(name)) {
        if (known) cases.push(known);
        continue;
      }
      let result;
      try {
        result = { result: "passed", note: await run(given) };
      } catch (error) {
        result = { result: error instanceof NotRun ? "not run" : "failed", note: error.message };
        if (result.result === "failed") process.exitCode = 1;
      }
      console.log(`${name}: ${result.result}, ${result.note}`);
      cases.push({ group, name, ...result });
    }
  }
  const made = { version, node: process.version, date: new Date().toISOString().slice(0, 10), cases };
  writeFileSync(RESULTS, `${JSON.stringify(made, null, 2)}\n`);
}
writeTable(RESULTS);
