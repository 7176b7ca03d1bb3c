// dist/: lib/ compiled once to CommonJS, what the main entry loads in one file, and a thin ES module beside each public entry.
// One instance for both formats: `import` and `require` reach the very same functions.

import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { at, filesBelow } from "./paths.mjs";
import { run } from "./run.mjs";
import { fingerprint, isFresh, writeStamp } from "./stamp.mjs";
import { writeEsmWrapper } from "./esm-wrapper.mjs";
import { writeMainBundle } from "./main-bundle.mjs";

export const name = "dist";

/** The entries of package.json "exports" that have an ES module form, as names without ending. */
function entries() {
  const { exports } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  return Object.values(exports)
    .map((target) => target.import?.default)
    .filter((path) => path?.endsWith(".mjs"))
    .map((path) => path.replace(/^\.\/dist\//, "").replace(/\.mjs$/, ""));
}

/** What the HTML report carries in itself: read at run time, never compiled. */
const PAGE = "report/page";
const pageFiles = () => filesBelow(`lib/${PAGE}`, [".js", ".css"]);

function copyPage(folder) {
  mkdirSync(join(folder, PAGE), { recursive: true });
  for (const file of pageFiles()) copyFileSync(file, join(folder, PAGE, basename(file)));
}

export async function build() {
  const dist = at("dist");
  const wrappers = entries();
  const tscVersion = JSON.parse(readFileSync(at("node_modules/typescript/package.json"), "utf8")).version;
  const inputs = [...filesBelow("lib", [".ts"]), ...pageFiles(), at("tsconfig.json"), ...filesBelow("scripts/build", [".mjs"])];
  const print = fingerprint([`typescript ${tscVersion}`, `entries ${wrappers.join()}`], inputs);
  const outputs = wrappers.map((entry) => join(dist, `${entry}.mjs`));
  const stampFile = join(dist, ".stamp");
  if (isFresh(outputs, stampFile, print)) return { state: "up to date" };

  // Built aside and moved in one step: a failed build leaves the last good one, a file removed from
  // lib/ leaves no ghost.
  const aside = at("dist.partial");
  rmSync(aside, { recursive: true, force: true });
  try {
    const tsc = at("node_modules/typescript/bin/tsc");
    await run("tsc", process.execPath, [tsc, "-p", at("tsconfig.json"), "--outDir", aside, "--pretty", "false"]);
    copyPage(aside);
    writeMainBundle(aside, "index");
    for (const entry of wrappers) writeEsmWrapper(aside, entry);
    writeStamp(join(aside, ".stamp"), print);
    if (existsSync(dist)) rmSync(dist, { recursive: true });
    renameSync(aside, dist);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return { state: "built", note: `${inputs.length} inputs, entries ${wrappers.join(", ")}` };
}
