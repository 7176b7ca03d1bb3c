// build-emulated/libsurprisal_emulated.so: the CUDA sources compiled as C++ on top of
// native/emulation, by the C++ compiler alone. File by file, and only the files that changed.

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { FLOOR, linkForFloor } from "./cuda.mjs";
import { JOBS, roughly } from "./jobs.mjs";
import { at, filesBelow, shown } from "./paths.mjs";
import { inParallel, run } from "./run.mjs";
import { fingerprint, isFresh, writeStamp } from "./stamp.mjs";
import { findCxx, findTool, versionOf } from "./tools.mjs";

export const name = "emulated";

const CORE_SECONDS_A_FILE = 3;

const COMPILE = [
  "-std=c++17",
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

// Kernels compile in three fifths of the time of -O2, and run as long: most of it is their threads' turns.
const optimizing = (source) => (source.endsWith(".cu") ? "-O1" : "-O2");

// nodelete: worker threads may outlive the last user of the library.
const LINK = [
  "-shared",
  "-pthread",
  "-static-libstdc++",
  "-Wl,--exclude-libs,ALL",
  "-Wl,--gc-sections",
  "-Wl,-z,defs", // an undefined function is a link error, not a crash at its first call
  "-Wl,-z,nodelete",
];

const glibc = process.report.getReport().header.glibcVersionRuntime;

export async function build(_options, say) {
  const cxx = findCxx();
  if (!cxx) return { state: "skipped", note: "no C++17 compiler; only tests use it" };
  if (process.platform !== "linux") return { state: "skipped", note: "Linux only; only tests use it" };

  const sources = [...filesBelow("native/cuda", [".cu"]), ...filesBelow("native/emulation", [".cpp"])];
  const output = at("build-emulated/libsurprisal_emulated.so");
  const compiler = await versionOf(cxx);
  const factsOf = (source) => [compiler, optimizing(source), ...COMPILE];
  mkdirSync(at("build-emulated/objects"), { recursive: true });

  const stale = sources.filter((source) => !isCompiled(source, factsOf(source)));
  if (stale.length > 0)
    say(`compiling ${stale.length} CUDA sources as C++ for the tests, ${roughly(CORE_SECONDS_A_FILE * stale.length)}`);
  await inParallel(JOBS, stale, (source) => compile(cxx, source, factsOf(source)));

  const objects = sources.map(objectOf);
  // As the library that it stands for, it loads on older systems.
  const older = findTool("readelf") !== undefined && glibc !== undefined;
  const print = fingerprint([compiler, ...LINK, older ? FLOOR : "", ...objects.map((object) => basename(object))], objects);
  const stampFile = at("build-emulated/.stamp");
  if (isFresh([output], stampFile, print)) return { state: "up to date" };

  const flags = older ? (await linkForFloor(at("build-emulated/floor"))).split(" ") : [];
  await run("linking the emulated backend", cxx, ["-o", output, ...flags, ...objects, ...LINK]);
  writeStamp(stampFile, print);
  return { state: "built", note: `${stale.length} of ${sources.length} files compiled, ${shown(output)}` };
}

const objectOf = (source) => at("build-emulated/objects", `${basename(source)}.o`);
const dependenciesOf = (source) => `${objectOf(source)}.d`;
const stampOf = (source) => `${objectOf(source)}.stamp`;

function isCompiled(source, facts) {
  const inputs = readDependencies(dependenciesOf(source));
  return inputs !== undefined && isFresh([objectOf(source)], stampOf(source), fingerprint(facts, inputs));
}

async function compile(cxx, source, facts) {
  rmSync(stampOf(source), { force: true });
  await run(`compiling ${basename(source)} for the emulated backend`, cxx, [
    optimizing(source),
    ...COMPILE,
    `-I${at("native")}`,
    `-I${at("native/include")}`,
    "-MMD", // what it included, our own headers only
    "-MF",
    dependenciesOf(source),
    "-c",
    "-x", // g++ takes a .cu file for a linker script otherwise
    "c++",
    source,
    "-o",
    objectOf(source),
  ]);
  writeStamp(stampOf(source), fingerprint(facts, readDependencies(dependenciesOf(source))));
}

/** The files named in a make rule `object: a b \` newline ` c`, or undefined if one of them is gone. */
function readDependencies(file) {
  if (!existsSync(file)) return undefined;
  const rule = readFileSync(file, "utf8").replaceAll("\\\n", " ");
  const files = rule.slice(rule.indexOf(":") + 1).split(/\s+/).filter(Boolean);
  return files.every((path) => existsSync(path)) ? files : undefined;
}
