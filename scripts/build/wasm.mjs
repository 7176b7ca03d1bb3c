// build-wasm/surprisal.wasm: the CPU backend for WebAssembly with 16-byte vectors, by a clang that is itself a WebAssembly module
// (the development dependency @yowasp/clang): the same compiler on every machine, so the same bytes.

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { JOBS, roughly } from "./jobs.mjs";
import { at, filesBelow, shown } from "./paths.mjs";
import { inParallel, run } from "./run.mjs";
import { fingerprint, isFresh, writeStamp } from "./stamp.mjs";

export const name = "wasm";

const CORE_SECONDS_A_FILE = 4;
const MOST_BYTES = 1e6;

const COMPILE = [
  "-std=c++17",
  "-msimd128",
  "-fno-exceptions",
  "-fno-rtti",
  "-fno-threadsafe-statics",
  "-fvisibility=hidden",
  // One rounding per written operation: results are those of the level baseline.
  "-ffp-contract=off",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-Wno-unknown-pragmas", // GCC's, for unrolling what clang unrolls anyway
  "-Inative",
  "-Inative/include",
];

const LINK = [
  "-mexec-model=reactor",
  "-Wl,--strip-all",
  "-Wl,--gc-sections",
  "-Wl,--stack-first",
  "-Wl,-z,stack-size=1048576",
  "-Wl,--max-memory=4294967296",
];

/** The loops over long rows are those of the level; all else decides what they get, and is better small. */
const isLevel = (source) => source.includes("/level_");
/** What is done once a call or a row. */
const isRare = (source) => /\/(binding|wasm)\/|\/(linear|loss|logprob|correction|ratio)[a-z_]*\.cpp$/.test(source);
const flagsOf = (source) => [isLevel(source) ? "-O3" : isRare(source) ? "-Oz" : "-Os", ...COMPILE];

/** A level, whose code is in its headers, takes as long as so many bytes of the other files. */
const LEVEL_BYTES = 100_000;

/** Those of the other backend for what a module has not: threads, and what the system knows of its processors. */
const LEFT_OUT = ["pool.cpp", "cores.cpp", "level_avx2.cpp", "level_avx512.cpp", "level_neon.cpp", "level_baseline.cpp"];

const sources = () =>
  [
    ...filesBelow("native/cpu", [".cpp"]).filter((file) => !LEFT_OUT.includes(basename(file))),
    ...filesBelow("native/wasm", [".cpp"]),
    at("native/binding/contracts.cc"),
  ].map(shown);

const headersOf = (folders) => folders.flatMap((folder) => filesBelow(`native/${folder}`, [".h", ".inc"]));

const objectOf = (source) => at("build-wasm/objects", `${basename(source)}.o`);

/** Runs clang++ for each list of arguments, one after the other in one process: a minute of its time is its own start. */
const clang = (what, runs) =>
  run(what, process.execPath, ["--liftoff-only", at("scripts/build/wasm-clang.mjs"), JSON.stringify(runs)]);

export async function build(_options, say) {
  const tool = at("node_modules/@yowasp/clang/package.json");
  if (!existsSync(tool)) return { state: "skipped", note: "no @yowasp/clang, `npm ci` installs it" };
  const { version } = JSON.parse(readFileSync(tool, "utf8"));
  const all = sources();
  const ofBackend = headersOf(["include", "shared", "cpu"]);
  const ofModule = headersOf(["wasm", "binding"]);
  const printOf = (source) => {
    const headers = source.startsWith("native/cpu/") ? ofBackend : [...ofBackend, ...ofModule];
    return fingerprint([version, ...flagsOf(source)], [...headers, at(source)]);
  };
  const output = at("build-wasm/surprisal.wasm");
  const stamp = at("build-wasm/.stamp");
  const print = fingerprint([version, ...all.flatMap(flagsOf), ...LINK], [...ofBackend, ...ofModule, ...all.map((source) => at(source))]);
  if (isFresh([output], stamp, print)) return { state: "up to date" };

  mkdirSync(at("build-wasm/objects"), { recursive: true });
  rmSync(stamp, { force: true });
  const stampOf = (source) => `${objectOf(source)}.stamp`;
  const prints = new Map(all.map((source) => [source, printOf(source)])); // of what is read now, whatever changes meanwhile
  const stale = all.filter((source) => !isFresh([objectOf(source)], stampOf(source), prints.get(source)));
  say(`compiling ${stale.length} files to WebAssembly, ${roughly(stale.length * CORE_SECONDS_A_FILE)}`);
  await inParallel(JOBS, shares(stale, JOBS), async (share) => {
    const compile = (source) => [[...flagsOf(source), "-c", source, "-o", "out.o"], "out.o", objectOf(source)];
    await clang("compiling to WebAssembly", share.map(compile));
    for (const source of share) writeStamp(stampOf(source), prints.get(source));
  });
  const objects = all.map((source) => shown(objectOf(source)));
  await clang("linking surprisal.wasm", [[[...objects, ...LINK, "-o", "surprisal.wasm"], "surprisal.wasm", output]]);
  check(output);
  writeStamp(stamp, print);
  return { state: "built", note: `${stale.length} of ${all.length} files compiled, ${shown(output)}` };
}

/** As many lists as there are processes, each source to the one that has least to do, the longest first. */
function shares(stale, count) {
  const lists = Array.from({ length: count }, () => ({ sources: [], weight: 0 }));
  const weigh = (source) => (isLevel(source) ? LEVEL_BYTES : readFileSync(at(source)).length);
  const weighed = stale.map((source) => ({ source, weight: weigh(source) })).sort((a, b) => b.weight - a.weight);
  for (const { source, weight } of weighed) {
    const least = lists.reduce((a, b) => (b.weight < a.weight ? b : a));
    least.sources.push(source);
    least.weight += weight;
  }
  return lists.map((list) => list.sources).filter((share) => share.length > 0);
}

/** What the module promises: it needs nothing of its host, and is small. */
function check(file) {
  const bytes = readFileSync(file);
  const wants = WebAssembly.Module.imports(new WebAssembly.Module(bytes));
  if (wants.length > 0) throw new Error(`surprisal.wasm imports ${wants.map((each) => each.name).join(", ")}`);
  if (bytes.length > MOST_BYTES) throw new Error(`surprisal.wasm has ${bytes.length} bytes, expected ${MOST_BYTES} at most`);
}
