// dist/: lib/ as JavaScript in two formats and as declarations.

import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { at, filesBelow } from "./paths.mjs";
import { run } from "./run.mjs";
import { fingerprint, isFresh, writeStamp } from "./stamp.mjs";

export const name = "dist";

/** What is run by its path: the command line, and what workers and other processes start with. */
const PROGRAMS = [
  "cli/main",
  "io/parquet-worker",
  ...["child", "watch", "compare-program"].map((program) => `reward/code/${program}`),
  "reward/math/symbolic-program",
];

/** The entries of package.json "exports", by their path in lib/ without the ending. */
function publicEntries() {
  const { exports } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  const targets = Object.values(exports).flatMap((target) => target.default ?? []);
  return targets.map((path) => path.replace(/^\.\/dist\/(.*)\.js$/, "$1"));
}

/** Those that browsers have. */
function browserEntries() {
  const { exports } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  const targets = Object.values(exports).flatMap((target) => target.browser ?? []);
  return targets.map((path) => path.replace(/^\.\/dist\/browser\/(.*)\.mjs$/, "$1"));
}

/** What the HTML report carries in itself: read at run time, never compiled. */
const PAGE = "report/page";
const pageFiles = () => filesBelow(`lib/${PAGE}`, [".js", ".css"]);

function copyPage(folder) {
  mkdirSync(join(folder, PAGE), { recursive: true });
  for (const file of pageFiles()) copyFileSync(file, join(folder, PAGE, basename(file)));
}

const STAMP = ".stamp";

/** What dist/ is made of. */
function inputs() {
  const versions = ["typescript", "@rollup/wasm-node", "@swc/core"].map((tool) => {
    const { version } = JSON.parse(readFileSync(at("node_modules", tool, "package.json"), "utf8"));
    return `${tool} ${version}`;
  });
  const files = [...filesBelow("lib", [".ts"]), ...pageFiles(), at("tsconfig.json"), ...filesBelow("scripts/build", [".mjs"])];
  const entries = publicEntries();
  return { entries, files, print: fingerprint([...versions, `entries ${entries.join()} ${browserEntries().join()}`], files) };
}

const isCurrent = ({ entries, print }) =>
  isFresh([...entries, ...PROGRAMS].map((entry) => at("dist", `${entry}.js`)), at("dist", STAMP), print);

/** Whether dist/ is made of lib/ as it is. */
export const isBuilt = () => isCurrent(inputs());

export async function build() {
  const made = inputs();
  const { entries, files, print } = made;
  if (isCurrent(made)) return { state: "up to date" };

  // Built aside and moved in one step: a failed build leaves the last good one, a file removed from
  // lib/ leaves no ghost.
  const aside = at("dist.partial");
  rmSync(aside, { recursive: true, force: true });
  try {
    const tsc = at("node_modules/typescript/bin/tsc");
    await run("tsc", process.execPath, [tsc, "-p", at("tsconfig.json"), "--outDir", aside, "--pretty", "false"]);
    const { writeBundles } = await import("./bundle.mjs"); // the bundler is loaded where there is work for it
    await writeBundles(aside, { entries, programs: PROGRAMS, browser: browserEntries() });
    copyPage(aside);
    writeStamp(join(aside, STAMP), print);
    if (existsSync(at("dist"))) rmSync(at("dist"), { recursive: true });
    renameSync(aside, at("dist"));
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return { state: "built", note: `${files.length} inputs, entries ${entries.join(", ")}` };
}
