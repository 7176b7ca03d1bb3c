// One archive that proves the CUDA backend on any Linux machine with a driver and nothing else:
//
//   npm run gpu:bundle -- DIR [--no-build]
//
// It holds node, the compiled library, its tests and benches, golden data, and run.sh, which unpacks the rest. There: tar xzf,
// then surprisal-gpu/run.sh RESULTS_DIR; back here: npm run gpu:import -- RESULTS_DIR.

import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { at } from "../build/paths.mjs";
import { attempt, run } from "../build/run.mjs";
import { FLOOR } from "../build/cuda.mjs";
import { needFloor } from "../release/glibc-floor.mjs";
import { compileFolder } from "./compile.mjs";
import { closure, copyPackages, packagesIn } from "./modules.mjs";
import { packFolder, SORTED } from "./pack.mjs";

const LIMIT_MB = 40;
/** Of data-centre cards since the A100 and of their consumer kin since Ada; RTX 30 runs the code of sm_80. */
const ARCHS = "80;89;90;100;120";
const NAME = "surprisal-gpu";
/** Brotli's best. */
const QUALITY = 11;
const ADDON = "prebuilds/linux-x64/surprisal.glibc.node";
/** The library as the bundle has it: compiled file by file. */
const EXPORTS = { ".": "./lib/index.js", "./*": "./lib/*/index.js" };
/** Suites that run on a backend, and what they stand on. */
const TESTS = ["ops", "loss", "advantage", "control", "device", "conformance", "oracle", "support", "golden"];

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { "no-build": { type: "boolean", default: false }, help: { type: "boolean", default: false } },
});
if (options.help || positionals.length !== 1) {
  console.error(`usage: npm run gpu:bundle -- DIR [--no-build]

  DIR         where ${NAME}-VERSION-linux-x64.tar.gz goes
  --no-build  take addon and libraries as they are, instead of building them: CUDA for sm_${ARCHS.replaceAll(";", ", sm_")}`);
  process.exit(options.help ? 0 : 2);
}
if (process.platform !== "linux" || process.arch !== "x64") {
  console.error(
    `gpu:bundle: this is ${process.platform}-${process.arch}; the bundle is made on linux-x64, from where its binaries come`,
  );
  process.exit(2);
}

const step = (text) => console.error(`gpu:bundle: ${text}`);
const folder = mkdtempSync(join(tmpdir(), "surprisal-bundle-"));
const top = join(folder, NAME);
const app = join(top, "app");

async function buildLibraries() {
  if (options["no-build"]) return;
  step("building the addon of a release, the emulated backend and CUDA");
  await run("the addon", process.execPath, [at("scripts/prebuilds.mjs"), "linux-x64"]);
  await run("the build", process.execPath, [at("scripts/build.mjs"), "addon", "emulated"]);
  const env = { SURPRISAL_CUDA_ARCHS: process.env.SURPRISAL_CUDA_ARCHS ?? ARCHS };
  const { stdout } = await run("the CUDA build", process.execPath, [at("scripts/build.mjs"), "cuda", "--unpacked"], {
    env,
  });
  process.stderr.write(stdout);
}

async function place(from, to) {
  if (!existsSync(at(from))) throw new Error(`${from} is not there: build it first, or leave --no-build out`);
  mkdirSync(join(to, ".."), { recursive: true });
  copyFileSync(at(from), to);
  await run("strip", "strip", ["--strip-unneeded", to]);
  await needFloor(to, FLOOR);
}

async function placeNode() {
  const node = join(top, "node");
  copyFileSync(process.execPath, node);
  await run("strip", "strip", [node]);
  await needFloor(node, FLOOR);
  chmodSync(node, 0o755);
  await run("xz", "xz", ["-9e", node]);
}

function placeCode() {
  compileFolder("lib", app, []);
  symlinkSync("lib", join(app, "dist")); // which suites give to the programs that they start
  compileFolder("bench", app, [".py", "contracts.json"]);
  const tests = TESTS.filter((name) => existsSync(at("test", name))).flatMap((name) =>
    compileFolder(`test/${name}`, app, [".json", ".cjs"]),
  );
  // Of the optional packages only the one that golden cases of rewards ask for.
  const wanted = new Set([
    "jest",
    "jest-environment-node",
    "node-gyp-build",
    "@lezer/python",
    ...tests.flatMap((code) => [...packagesIn(code)]),
  ]);
  wanted.delete("surprisal"); // lib/, by the exports below
  const folders = closure(wanted);
  copyPackages(folders, app);
  return { tests: tests.length, packages: folders.length };
}

async function facts() {
  const { version } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  const commit = (await attempt("git", ["rev-parse", "--short=12", "HEAD"])).stdout.trim() || "unknown";
  const changed = (await attempt("git", ["status", "--porcelain", "--untracked-files=no"])).stdout.trim() !== "";
  return {
    version,
    commit: `${commit}${changed ? "+" : ""}`,
    built: new Date().toISOString(),
    node: process.versions.node,
  };
}

try {
  await buildLibraries();
  step("packing");
  mkdirSync(app, { recursive: true });
  const about = await facts();
  await placeNode();
  await place(ADDON, join(app, ADDON));
  await place("build-cuda/libsurprisal_cuda.so", join(app, "build-cuda/libsurprisal_cuda.so"));
  await place("build-emulated/libsurprisal_emulated.so", join(app, "build-emulated/libsurprisal_emulated.so"));
  const placed = placeCode();
  const { name, version, engines } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  writeFileSync(
    join(app, "package.json"),
    `${JSON.stringify({ name, version, engines, type: "commonjs", exports: EXPORTS }, null, 2)}\n`,
  );
  copyFileSync(at("scripts/gpu/jest.config.cjs"), join(app, "jest.config.cjs"));
  copyFileSync(at("scripts/gpu/run.sh"), join(top, "run.sh"));
  chmodSync(join(top, "run.sh"), 0o755);
  writeFileSync(join(top, "bundle.json"), `${JSON.stringify(about, null, 2)}\n`);

  copyFileSync(at("scripts/gpu/unpack.cjs"), join(top, "unpack.cjs"));
  step("compressing, which takes minutes");
  await packFolder(top, "app", join(top, "app.tar.br"), QUALITY);
  rmSync(app, { recursive: true });

  const target = resolve(positionals[0]);
  mkdirSync(target, { recursive: true });
  const archive = join(target, `${NAME}-${about.version}-linux-x64.tar.gz`);
  const tar = { env: { GZIP: "-9" } };
  await run("tar", "tar", [...SORTED, "-czf", archive, "-C", folder, NAME], tar);
  const megabytes = statSync(archive).size / 1e6;
  if (megabytes > LIMIT_MB) throw new Error(`${archive} has ${megabytes.toFixed(1)} MB, more than ${LIMIT_MB}`);
  step(`${placed.tests} compiled files of tests, ${placed.packages} packages, commit ${about.commit}`);
  console.log(`${archive} (${megabytes.toFixed(1)} MB)`);
} catch (error) {
  console.error(error.output ?? "");
  console.error(`gpu:bundle: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
