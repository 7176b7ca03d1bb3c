// The addons of a release, each built on this machine: those of Linux by prebuildify, which drives node-gyp; that of Windows by CMake,
// since gyp makes no files for a foreign Windows.

import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { at } from "../build/paths.mjs";
import { JOBS } from "../build/jobs.mjs";
import { run } from "../build/run.mjs";
import { findTool, nodeHeaders } from "../build/tools.mjs";
import { floorFlags, needFloor } from "./glibc-floor.mjs";
import { hasMusl, muslCompiler, needMusl } from "./musl.mjs";

const work = (target) => at("build-release", target);

async function prebuildify(platform, arch, flags, env) {
  const headers = nodeHeaders();
  const args = ["--napi", "--strip", "--name", "surprisal", "--arch", arch, "--platform", platform, ...flags];
  await run("prebuildify", process.execPath, [at("node_modules/prebuildify/bin.js"), ...args], {
    env: { ...env, JOBS: String(JOBS), ...(headers ? { npm_config_nodedir: headers } : {}) },
  });
  // prebuildify moved the addon away from build/: let the next build make it again.
  rmSync(at("build"), { recursive: true, force: true });
}

async function glibc(arch, prefix, { target, file, floor }) {
  const link = await floorFlags(`${prefix}gcc`, floor, work(target));
  const env = { CXX: `${prefix}g++`, LDFLAGS: link, PREBUILD_LIBC: "glibc" };
  await prebuildify("linux", arch, ["--tag-libc", "--strip-bin", `${prefix}strip`], env);
  await needFloor(at(file), floor);
}

async function musl({ target, file }) {
  const { script, link } = await muslCompiler("g++", work(target));
  await prebuildify("linux", "x64", ["--tag-libc"], { CXX: script, LDFLAGS: link, PREBUILD_LIBC: "musl" });
  await needMusl(at(file));
}

async function windows({ target, file }) {
  const prefix = "x86_64-w64-mingw32-";
  const [out, made] = [work(target), dirname(at(file))];
  const api = at("node_modules/node-api-headers");
  const defines = {
    CMAKE_BUILD_TYPE: "Release",
    CMAKE_SYSTEM_NAME: "Windows",
    CMAKE_CXX_COMPILER: findTool(`${prefix}g++-posix`) ?? findTool(`${prefix}g++`),
    SURPRISAL_CUDA: "OFF",
    SURPRISAL_ADDON: "ON",
    SURPRISAL_ADDON_FOLDER: made,
    SURPRISAL_NODE_API: join(api, "include"),
    SURPRISAL_NODE_API_DEF: join(api, "def", "node_api.def"),
    SURPRISAL_NODE_ADDON_API: at("node_modules/node-addon-api"),
  };
  mkdirSync(made, { recursive: true });
  const given = Object.entries(defines).map(([name, value]) => `-D${name}=${value}`);
  await run("cmake", "cmake", ["-S", at(), "-B", out, ...given]);
  await run("cmake --build", "cmake", ["--build", out, "--parallel", String(JOBS)]);
  await run("strip", `${prefix}strip`, [at(file)]);
}

const darwin = (arch) => ({
  of: "darwin",
  tools: ["clang++", "make", "python3"],
  build: () => prebuildify("darwin", arch, [], {}),
});

/** How each is built, and what this machine needs for it. */
const BUILDERS = {
  "linux-x64": { tools: ["g++", "make", "python3", "readelf"], build: (artefact) => glibc("x64", "", artefact) },
  "linux-x64-musl": { tools: ["g++", "make", "python3", "readelf"], build: musl, has: hasMusl, lacks: "musl-dev" },
  "linux-arm64": {
    tools: ["aarch64-linux-gnu-g++", "make", "python3", "readelf"],
    build: (artefact) => glibc("arm64", "aarch64-linux-gnu-", artefact),
  },
  "win32-x64": { tools: ["x86_64-w64-mingw32-g++", "x86_64-w64-mingw32-strip", "cmake"], build: windows },
  "darwin-x64": darwin("x64"),
  "darwin-arm64": darwin("arm64"),
};

/** Why an artefact cannot be built here, or undefined. */
export function lackOf({ target, note }) {
  const builder = BUILDERS[target];
  if ((builder.of ?? "linux") !== process.platform) return note ?? `built on ${builder.of ?? "linux"}`;
  const missing = builder.tools.filter((tool) => !findTool(tool));
  if (builder.has && !builder.has()) missing.push(builder.lacks);
  return missing.length > 0 ? `no ${missing.join(", no ")}` : undefined;
}

export async function buildAddon(artefact) {
  rmSync(at(artefact.file), { force: true });
  await BUILDERS[artefact.target].build(artefact);
  if (!existsSync(at(artefact.file))) throw new Error(`${artefact.target} left no ${artefact.file}`);
}
