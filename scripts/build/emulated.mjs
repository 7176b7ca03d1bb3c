// build-emulated/libsurprisal_emulated.so: the CUDA sources compiled as C++ on top of
// native/emulation, by the C++ compiler alone. File by file, and only the files that changed.

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { at, filesBelow } from "./paths.mjs";
import { inParallel, run } from "./run.mjs";
import { fingerprint, isFresh, writeStamp } from "./stamp.mjs";
import { findCxx, versionOf } from "./tools.mjs";

export const name = "emulated";

const JOBS = 2;

const COMPILE = [
  "-std=c++17",
  "-O2",
  "-fPIC",
  "-fvisibility=hidden",
  "-fvisibility-inlines-hidden",
  // One rounding per written operation, on every compiler.
  "-ffp-contract=off",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-pthread",
  "-DSRP_EMULATED=1",
];

// nodelete: worker threads may outlive the last user of the library.
const LINK = [
  "-shared",
  "-pthread",
  "-static-libstdc++",
  "-Wl,--exclude-libs,ALL",
  "-Wl,--gc-sections",
  "-Wl,-z,defs", // a function that nobody wrote is a link error, not a crash at its first call
  "-Wl,-z,nodelete",
];

export function build() {
  return buildInto("build-emulated");
}

/** `extra` flags go to compiler and linker alike: a sanitizer build is a folder of its own. */
export async function buildInto(folder, extra = []) {
  const cxx = findCxx();
  if (!cxx) return { state: "skipped", note: "no C++17 compiler; only tests use it" };
  if (process.platform !== "linux") return { state: "skipped", note: "Linux only; only tests use it" };

  const sources = [...filesBelow("native/cuda", [".cu"]), ...filesBelow("native/emulation", [".cpp"])];
  const output = at(folder, "libsurprisal_emulated.so");
  const facts = [await versionOf(cxx), ...COMPILE, ...LINK, ...extra];
  mkdirSync(at(folder, "objects"), { recursive: true });

  const units = await inParallel(JOBS, sources, (source) => compile(cxx, source, at(folder, "objects"), facts, extra));
  const objects = units.map((unit) => unit.object);
  const print = fingerprint([...facts, ...objects.map((object) => basename(object))], objects);
  const stampFile = at(folder, ".stamp");
  if (isFresh([output], stampFile, print)) return { state: "up to date" };

  await run("linking the emulated backend", cxx, ["-o", output, ...objects, ...LINK, ...extra]);
  writeStamp(stampFile, print);
  const compiled = units.filter((unit) => unit.compiled).length;
  return { state: "built", note: `${compiled} of ${units.length} files compiled, ${folder}/libsurprisal_emulated.so` };
}

async function compile(cxx, source, folder, facts, extra) {
  const object = join(folder, `${basename(source)}.o`);
  const dependencies = `${object}.d`;
  const stampFile = `${object}.stamp`;
  const inputs = readDependencies(dependencies);
  if (inputs && isFresh([object], stampFile, fingerprint(facts, inputs))) return { object, compiled: false };

  rmSync(stampFile, { force: true });
  await run(`compiling ${basename(source)} for the emulated backend`, cxx, [
    ...COMPILE,
    ...extra,
    `-I${at("native/include")}`,
    "-MMD", // what it included, our own headers only
    "-MF",
    dependencies,
    "-c",
    "-x", // g++ takes a .cu file for a linker script otherwise
    "c++",
    source,
    "-o",
    object,
  ]);
  writeStamp(stampFile, fingerprint(facts, readDependencies(dependencies)));
  return { object, compiled: true };
}

/** The files named in a make rule `object: a b \` newline ` c`, or undefined if one of them is gone. */
function readDependencies(file) {
  if (!existsSync(file)) return undefined;
  const rule = readFileSync(file, "utf8").replaceAll("\\\n", " ");
  const files = rule.slice(rule.indexOf(":") + 1).split(/\s+/).filter(Boolean);
  return files.every((path) => existsSync(path)) ? files : undefined;
}
