// Native code with gcov's counters, and what they say.

import { mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { createRequire } from "node:module";
import { JOBS } from "../build/jobs.mjs";
import { at, filesBelow, shown } from "../build/paths.mjs";
import { inParallel, run, ToolFailed } from "../build/run.mjs";
import { findTool } from "../build/tools.mjs";

const require = createRequire(import.meta.url);

// Counters of threads that run side by side.
const COUNT = ["--coverage", "-fprofile-update=atomic", "-O0"];
const COMPILE = [
  "-std=c++17",
  "-fPIC",
  "-ffp-contract=off",
  "-pthread",
  `-I${at("native")}`,
  `-I${at("native/include")}`,
];

const ADDON = [
  "-fno-exceptions",
  "-fno-rtti",
  ...["NAPI_VERSION=8", "NAPI_DISABLE_CPP_EXCEPTIONS", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"].map(
    (name) => `-D${name}`,
  ),
  "-DNODE_GYP_MODULE_NAME=surprisal",
  "-DBUILDING_NODE_EXTENSION",
];

/** What is counted: how it is compiled, and what comes of it. */
function targets() {
  const headers = ["node-api-headers", "node-addon-api"].map((name) => resolve(require(name).include_dir));
  return [
    {
      name: "surprisal.node",
      sources: [...filesBelow("native/binding", [".cc"]), ...filesBelow("native/cpu", [".cpp"])],
      flags: [...ADDON, ...headers.flatMap((folder) => ["-isystem", folder])],
    },
    {
      name: "libsurprisal_emulated.so",
      sources: [...filesBelow("native/cuda", [".cu"]), ...filesBelow("native/emulation", [".cpp"])],
      flags: ["-DSRP_EMULATED=1", "-x", "c++"],
    },
  ];
}

const objectOf = (folder, source) => join(folder, "objects", `${basename(source)}.o`);

/** Compiles the addon and the emulated CUDA backend into a folder. */
export async function buildForCoverage(folder) {
  const cxx = findTool("g++");
  if (!cxx || !findTool("gcov"))
    throw new ToolFailed("looking for g++ and gcov", "coverage needs both; Debian's package g++ has them");
  mkdirSync(join(folder, "objects"));
  const all = targets();
  const compiles = all.flatMap(({ sources, flags }) => sources.map((source) => ({ source, flags })));
  await inParallel(JOBS, compiles, ({ source, flags }) =>
    run(`compiling ${shown(source)}`, cxx, [
      ...COMPILE,
      ...COUNT,
      ...flags,
      "-c",
      source,
      "-o",
      objectOf(folder, source),
    ]),
  );
  for (const { name, sources } of all) {
    const objects = sources.map((source) => objectOf(folder, source));
    await run(`linking ${name}`, cxx, [
      "-shared",
      "-pthread",
      "--coverage",
      "-Wl,-z,nodelete",
      ...objects,
      "-ldl",
      "-o",
      join(folder, name),
    ]);
  }
}

/** { file: { lines, reached } } of native/, a line reached where any of its copies was. */
export async function nativeCoverage(folder) {
  const objects = targets().flatMap(({ sources }) => sources.map((source) => objectOf(folder, source)));
  const reports = await inParallel(JOBS, objects, async (object) => {
    const { stdout } = await run("gcov", "gcov", ["--json-format", "--stdout", object], { cwd: folder });
    return linesOf(stdout);
  });
  const files = {};
  for (const report of reports) {
    for (const [file, lines] of report) {
      const counts = (files[file] ??= new Map());
      for (const [line, count] of lines) counts.set(line, (counts.get(line) ?? 0) + count);
    }
  }
  return Object.fromEntries(
    Object.entries(files).map(([file, counts]) => [
      file,
      { lines: counts.size, reached: [...counts.values()].filter((count) => count > 0).length },
    ]),
  );
}

/** [file, [line, count][]] of one object's report, a JSON text a line. */
function linesOf(stdout) {
  return stdout
    .split("\n")
    .filter((text) => text.startsWith("{"))
    .flatMap((text) => JSON.parse(text).files)
    .filter(({ file }) => file.startsWith(at("native")))
    .map(({ file, lines }) => [shown(file), lines.map(({ line_number, count }) => [line_number, count])]);
}
