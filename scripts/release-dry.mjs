// The whole release but its publishing: every artefact that this machine can build, and the tarballs as npm would get them.
//
//   npm run release:dry [-- --cuda] [--built]
//
// --cuda compiles the CUDA backend for every architecture (half an hour); without it the library in build-cuda/ is packed as it is.
// --built takes the artefacts that are there. Leaves its tarballs in build-release/.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { at, shown } from "./build/paths.mjs";
import { attempt } from "./build/run.mjs";
import { lackOf } from "./release/addons.mjs";
import { ARTEFACTS } from "./release/artefacts.mjs";
import { packCuda } from "./release/cuda-package.mjs";

const MOST = 10 * 1024 * 1024;
const MOST_CUDA = 40 * 1024 * 1024;

const { values: options } = parseArgs({
  options: { cuda: { type: "boolean", default: false }, built: { type: "boolean", default: false } },
});
const folder = at("build-release");

async function step(name, command, args, env = {}) {
  console.log(`== ${name}`);
  const { status, stdout, stderr } = await attempt(command, args, { env });
  console.log((stdout + stderr).trimEnd());
  if (status !== 0) {
    console.error(`release:dry: ${name} failed`);
    process.exit(1);
  }
  return stdout;
}

const node = (name, ...args) => step(name, process.execPath, args);

function need(condition, text) {
  if (condition) return;
  console.error(`release:dry: ${text}`);
  process.exit(1);
}

const { version } = JSON.parse(readFileSync(at("package.json"), "utf8"));
need(readFileSync(at("CHANGELOG.md"), "utf8").includes(`\n## ${version} - `), `CHANGELOG.md has no section ${version}`);

if (!options.built) {
  await node("library, WebAssembly", at("scripts/build.mjs"), "dist", "wasm");
  await node("addons", at("scripts/prebuilds.mjs"));
}
if (options.cuda) await node("CUDA, all architectures", at("scripts/build.mjs"), "cuda", "--release");

const absent = ARTEFACTS.filter(({ file }) => !existsSync(at(file)));
for (const artefact of absent) {
  const lack = lackOf(artefact);
  need(lack !== undefined, `${artefact.target} can be built here and is not there`);
  console.log(`without ${artefact.target}: ${lack}`);
}

mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) if (name.endsWith(".tgz")) rmSync(join(folder, name));
const without = absent.map(({ target }) => target).join(",");
await step("tarball", "npm", ["pack", "--loglevel=error", "--pack-destination", folder], {
  SURPRISAL_WITHOUT: without,
});
const tarball = join(folder, `surprisal-${version}.tgz`);
const cuda = await packCuda(folder);

const size = (file) => statSync(file).size;
const shownSize = (file) => `${(size(file) / 1024 / 1024).toFixed(2)} MiB`;
console.log(`== ${shown(tarball)}: ${shownSize(tarball)}, at most ${MOST / 1024 / 1024}`);
need(size(tarball) <= MOST, "the tarball is too large");
if (cuda === undefined) console.log("== no surprisal-cuda: build-cuda/ has no library");
else {
  console.log(`== ${shown(cuda)}: ${shownSize(cuda)}, at most ${MOST_CUDA / 1024 / 1024}`);
  need(size(cuda) <= MOST_CUDA, "the CUDA package is too large");
}
await node("what linters say of it", at("scripts/package-check.mjs"));
console.log(`release:dry: ${version} is whole${without === "" ? "" : ` but for ${without}`}; nothing was published`);
