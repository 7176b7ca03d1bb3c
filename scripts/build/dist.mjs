// dist/: lib/ as JavaScript in two formats and as declarations, and the headers of Node-API, with which users compile the addon.

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

/** What `surprisal build` compiles the addon with, so that its users need no other package: by package, with its licence. */
const HEADERS = {
  "node-api-headers": [
    "include/js_native_api.h",
    "include/js_native_api_types.h",
    "include/node_api.h",
    "include/node_api_types.h",
    "def/node_api.def",
    "LICENSE",
  ],
  "node-addon-api": ["napi.h", "napi-inl.h", "napi-inl.deprecated.h", "LICENSE.md"],
};

function copyHeaders(folder) {
  for (const [from, files] of Object.entries(HEADERS)) {
    const target = join(folder, "headers", from);
    mkdirSync(target, { recursive: true });
    for (const file of files) copyFileSync(at("node_modules", from, file), join(target, basename(file)));
  }
}

const STAMP = ".stamp";

/** What dist/ is made of. */
function inputs() {
  const versions = ["typescript-7", "rollup", "rollup-plugin-dts", "@swc/core", ...Object.keys(HEADERS)].map((tool) => {
    const { version } = JSON.parse(readFileSync(at("node_modules", tool, "package.json"), "utf8"));
    return `${tool} ${version}`;
  });
  const files = [...filesBelow("lib", [".ts"]), ...pageFiles(), at("tsconfig.lib.json"), ...filesBelow("scripts/build", [".mjs"])];
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
  const declarations = at("dist.declarations");
  const clear = () => [aside, declarations].forEach((folder) => rmSync(folder, { recursive: true, force: true }));
  clear();
  try {
    const tsc = at("node_modules/typescript-7/bin/tsc");
    await run("tsc", process.execPath, [tsc, "-p", at("tsconfig.lib.json"), "--outDir", declarations, "--pretty", "false"]);
    // the bundler is loaded where there is work for it
    const [{ writeBundles }, { joinDeclarations }] = await Promise.all([import("./bundle.mjs"), import("./declarations.mjs")]);
    await writeBundles(aside, { entries, programs: PROGRAMS, browser: browserEntries() });
    const modules = entries.map((entry) => [entry, readFileSync(join(aside, `${entry}.mjs`), "utf8")]);
    await joinDeclarations(declarations, aside, new Map(modules));
    copyPage(aside);
    copyHeaders(aside);
    writeStamp(join(aside, STAMP), print);
    if (existsSync(at("dist"))) rmSync(at("dist"), { recursive: true });
    renameSync(aside, at("dist"));
  } finally {
    clear();
  }
  return { state: "built", note: `${files.length} inputs, entries ${entries.join(", ")}` };
}
