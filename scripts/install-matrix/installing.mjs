// Every way to install the tarball. Each ends with a call that runs on the native addon.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../build/run.mjs";
import { makeConsumer, onCpu, ran, write } from "./consumer.mjs";
import { fromNpm, work } from "./tools.mjs";

const QUIET = ["--no-audit", "--no-fund"];

async function withNpm(name, tarball, program, flags = [], env = {}) {
  const folder = makeConsumer(name);
  const begun = performance.now();
  await ran(folder, program[0], [...program.slice(1), "install", ...QUIET, ...flags, tarball], env);
  const seconds = (performance.now() - begun) / 1000;
  onCpu(await ran(folder, process.execPath, ["main.cjs"], env));
  return `native; installed in ${seconds.toFixed(1)} s`;
}

const npm = async (major) => [
  process.execPath,
  join(await fromNpm(`npm-${major}`, `npm@${major}`), "node_modules/npm/bin/npm-cli.js"),
];

async function withYarn(name, tarball, linker) {
  const folder = makeConsumer(name);
  const yarn = join(await fromNpm("yarn", "@yarnpkg/cli-dist@4"), "node_modules/@yarnpkg/cli-dist/bin/yarn.js");
  write(
    folder,
    ".yarnrc.yml",
    `nodeLinker: ${linker}\nenableTelemetry: false\nenableImmutableInstalls: false\nnpmMinimalAgeGate: 0\n`,
  );
  write(folder, "yarn.lock", "");
  await ran(folder, process.execPath, [yarn, "add", `surprisal@file:${tarball}`]);
  return onCpu(await ran(folder, process.execPath, [yarn, "node", "main.cjs"]));
}

/** The command that runs Node without a network; with it where this machine cannot take it away. */
async function nodeWithoutNetwork() {
  const alone = ["unshare", "--user", "--map-root-user", "--net"];
  const { status } = await attempt(alone[0], [...alone.slice(1), "true"]);
  return status === 0 ? [...alone, process.execPath] : [process.execPath];
}

/** A PATH with Node and a shell, and nothing that compiles. */
function withoutCompiler() {
  const folder = join(work, "bin");
  mkdirSync(folder, { recursive: true });
  for (const [name, target] of [
    ["node", process.execPath],
    ["sh", "/bin/sh"],
  ]) {
    if (!existsSync(join(folder, name))) symlinkSync(target, join(folder, name));
  }
  return { PATH: folder };
}

/** `npx surprisal demo` in an empty folder: when the first curve is on the screen, and when the report is there. */
async function demo(consumer) {
  const folder = join(consumer, "demo");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const begun = performance.now();
  const seconds = () => (performance.now() - begun) / 1000;
  let [first, printed] = [undefined, ""];
  const child = spawn("npx", ["surprisal", "demo"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  for await (const text of child.stdout.setEncoding("utf8")) {
    printed += text;
    if (/^grpo .*█/m.test(printed)) first ??= seconds();
  }
  if (first === undefined || !existsSync(join(folder, "surprisal-demo/report.html"))) throw new Error(printed);
  return `first curve after ${first.toFixed(1)} s, report after ${seconds().toFixed(1)} s`;
}

export const installing = [
  ["npm 11", async ({ tarball }) => withNpm("npm-11", tarball, await npm(11))],
  [
    "npm 11 --ignore-scripts",
    async ({ tarball }) => withNpm("npm-11-scripts", tarball, await npm(11), ["--ignore-scripts"]),
  ],
  ["npm 11, no network", async ({ tarball }) => withNpm("npm-offline", tarball, await npm(11), ["--offline"])],
  [
    "npm 11, no compiler",
    async ({ tarball }) => withNpm("npm-compiler", tarball, await npm(11), [], withoutCompiler()),
  ],
  ["npm 12", async ({ tarball }) => withNpm("npm-12", tarball, await npm(12))],
  [
    "pnpm",
    async ({ tarball }) => {
      const folder = makeConsumer("pnpm");
      const pnpm = join(await fromNpm("pnpm", "pnpm@10"), "node_modules/pnpm/bin/pnpm.cjs");
      await ran(folder, process.execPath, [pnpm, "add", "--store-dir", join(work, "pnpm-store"), tarball]);
      return onCpu(await ran(folder, process.execPath, ["main.cjs"]));
    },
  ],
  ["yarn 4, node_modules", ({ tarball }) => withYarn("yarn-modules", tarball, "node-modules")],
  ["yarn 4, pnp", ({ tarball }) => withYarn("yarn-pnp", tarball, "pnp")],
  [
    "surprisal-cuda beside it",
    async ({ tarball, cuda }) => {
      const folder = makeConsumer("cuda");
      await ran(folder, "npm", ["install", ...QUIET, tarball, cuda]);
      const program =
        'const { backends } = require("surprisal").backendInfo(); console.log(JSON.stringify(backends.find(({ name }) => name === "cuda")))';
      const status = JSON.parse(await ran(folder, process.execPath, ["-e", program]));
      if (!status.file?.includes("surprisal-cuda")) throw new Error(`not found: ${status.reason}`);
      return status.available ? `found, runs on ${status.device}` : `found; ${status.reason}`;
    },
  ],
  ["npx surprisal demo, empty folder", ({ consumer }) => demo(consumer)],
  [
    "npx surprisal build, no network, no other package",
    async ({ tarball }) => {
      const folder = makeConsumer("build");
      await ran(folder, "npm", ["install", ...QUIET, tarball]);
      const made = join(folder, "made");
      const [command, ...before] = await nodeWithoutNetwork();
      const args = [...before, "node_modules/surprisal/dist/cli/main.js", "build", "--out", made, "--json"];
      const { seconds } = JSON.parse(await ran(folder, command, args));
      onCpu(await ran(folder, process.execPath, ["main.cjs"], { SURPRISAL_NATIVE_PATH: made }));
      return `native; compiled in ${seconds} s${before.length > 0 ? "" : ", though the network was there"}`;
    },
  ],
  [
    "surprisal doctor",
    async ({ consumer }) => {
      await ran(consumer, process.execPath, [join("node_modules/surprisal/dist/cli/main.js"), "doctor"]);
      return "native";
    },
  ],
];

/** The package installed by npm, for everything that is not about installing. */
export async function installed(tarball) {
  const folder = makeConsumer("installed");
  await ran(folder, "npm", ["install", ...QUIET, tarball]);
  return folder;
}
