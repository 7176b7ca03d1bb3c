// Every way to load the installed package: module systems, types, bundlers, versions of Node, other runtimes, threads and test runners.

import { join } from "node:path";
import { at } from "../build/paths.mjs";
import { onCpu, ran, write } from "./consumer.mjs";
import { fromNpm, nodeOf, NotRun } from "./tools.mjs";

const node = async (consumer, ...args) => onCpu(await ran(consumer, process.execPath, args));

async function types(consumer, resolution, module) {
  const options = {
    strict: true,
    noEmit: true,
    target: "es2022",
    types: [],
    moduleResolution: resolution,
    module,
  };
  const file = `tsconfig.${resolution}.json`;
  write(consumer, file, JSON.stringify({ compilerOptions: options, files: ["main.ts"] }));
  await ran(consumer, process.execPath, [at("node_modules/typescript/bin/tsc"), "-p", file]);
  return "types agree";
}

/** A bundle that carries the package's code, run beside node_modules, where it finds the addon. */
const bundled = (consumer, file) => node(consumer, file);

async function esbuild(consumer, format, ending) {
  const out = `out/esbuild.${ending}`;
  const args = [
    "main.mjs",
    "--bundle",
    "--platform=node",
    `--format=${format}`,
    `--outfile=${out}`,
    "--log-level=error",
  ];
  await ran(consumer, at("node_modules/.bin/esbuild"), args);
  return bundled(consumer, out);
}

async function ofVersion(consumer, major) {
  const program = await nodeOf(major);
  const version = (await ran(consumer, program, ["--version"])).trim();
  onCpu(await ran(consumer, program, ["main.mjs"]));
  return `native, ${version}`;
}

export const using = [
  ["CommonJS", ({ consumer }) => node(consumer, "main.cjs")],
  ["ESM", ({ consumer }) => node(consumer, "main.mjs")],
  ["TypeScript, node16", ({ consumer }) => types(consumer, "node16", "node16")],
  ["TypeScript, nodenext", ({ consumer }) => types(consumer, "nodenext", "nodenext")],
  ["TypeScript, bundler", ({ consumer }) => types(consumer, "bundler", "esnext")],
  ["esbuild, CommonJS", ({ consumer }) => esbuild(consumer, "cjs", "cjs")],
  ["esbuild, ESM", ({ consumer }) => esbuild(consumer, "esm", "mjs")],
  [
    "Rollup",
    async ({ consumer }) => {
      write(
        consumer,
        "rollup.mjs",
        `import { rollup } from ${JSON.stringify(at("node_modules/rollup/dist/es/rollup.js"))};
const surprisal = { name: "surprisal", resolveId: (id) => (id === "surprisal" ? ${JSON.stringify(join(consumer, "node_modules/surprisal/dist/index.mjs"))} : null) };
const bundle = await rollup({ input: "main.mjs", plugins: [surprisal], external: [/^node:/, "node-gyp-build"], onwarn: () => {} });
await bundle.write({ dir: "out/rollup", format: "es", entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" });`,
      );
      await ran(consumer, process.execPath, ["rollup.mjs"]);
      return bundled(consumer, "out/rollup/main.mjs");
    },
  ],
  [
    "webpack",
    async ({ consumer }) => {
      const tool = await fromNpm("webpack", "webpack@5", "webpack-cli@6");
      write(
        consumer,
        "webpack.config.cjs",
        'module.exports = { mode: "production", target: "node20", entry: "./main.mjs", output: { path: __dirname + "/out/webpack", filename: "main.cjs" } };',
      );
      await ran(consumer, process.execPath, [
        join(tool, "node_modules/webpack-cli/bin/cli.js"),
        "--config",
        "webpack.config.cjs",
      ]);
      return bundled(consumer, "out/webpack/main.cjs");
    },
  ],
  [
    "Vite, for the server",
    async ({ consumer }) => {
      const tool = await fromNpm("vite", "vite@7");
      write(
        consumer,
        "vite.config.mjs",
        'export default { logLevel: "error", ssr: { noExternal: true }, build: { ssr: "main.mjs", outDir: "out/vite", target: "node20" } };',
      );
      await ran(consumer, process.execPath, [join(tool, "node_modules/vite/bin/vite.js"), "build"]);
      return bundled(consumer, "out/vite/main.js").catch(() => bundled(consumer, "out/vite/main.mjs"));
    },
  ],
  ["Node 20", ({ consumer }) => ofVersion(consumer, 20)],
  ["Node 22", ({ consumer }) => ofVersion(consumer, 22)],
  ["Node 24", ({ consumer }) => ofVersion(consumer, 24)],
  ["Node 26", ({ consumer }) => ofVersion(consumer, 26)],
  [
    "Bun",
    async ({ consumer }) => {
      const folder = await fromNpm("bun", "@oven/bun-linux-x64@1.4");
      return onCpu(await ran(consumer, join(folder, "node_modules/@oven/bun-linux-x64/bin/bun"), ["main.mjs"]));
    },
  ],
  [
    "Deno",
    async ({ consumer }) => {
      const folder = await fromNpm("deno", "@deno/linux-x64-glibc@2");
      const deno = join(folder, "node_modules/@deno/linux-x64-glibc/deno");
      return onCpu(await ran(consumer, deno, ["run", "--allow-all", "--node-modules-dir=manual", "main.mjs"]));
    },
  ],
  [
    "Electron",
    () => {
      throw new NotRun("npm has no program of it: its package downloads one from elsewhere");
    },
  ],
  [
    "worker_threads",
    ({ consumer }) => {
      write(
        consumer,
        "threads.cjs",
        'const { Worker } = require("node:worker_threads"); for (let i = 0; i < 3; ++i) new Worker("./main.cjs").on("error", (e) => { throw e; });',
      );
      return node(consumer, "threads.cjs");
    },
  ],
  [
    "cluster",
    ({ consumer }) => {
      write(
        consumer,
        "cluster.cjs",
        'const cluster = require("node:cluster"); if (cluster.isPrimary) { for (let i = 0; i < 2; ++i) cluster.fork().on("exit", (code) => { if (code) process.exitCode = 1; }); } else { require("./main.cjs"); process.disconnect(); }',
      );
      return node(consumer, "cluster.cjs");
    },
  ],
  [
    "jest",
    async ({ consumer }) => {
      write(
        consumer,
        "main.test.js",
        'test("runs", () => { expect(require("surprisal").backendInfo().selected).toBe("cpu"); });',
      );
      await ran(consumer, process.execPath, [
        at("node_modules/jest/bin/jest.js"),
        "--rootDir",
        consumer,
        "main.test.js",
      ]);
      return "native";
    },
  ],
  [
    "vitest",
    async ({ consumer }) => {
      const tool = await fromNpm("vitest", "vitest@4");
      write(consumer, "vitest.config.mjs", 'export default { test: { globals: true, include: ["main.vitest.mjs"] } };');
      write(
        consumer,
        "main.vitest.mjs",
        'import { backendInfo } from "surprisal"; test("runs", () => { expect(backendInfo().selected).toBe("cpu"); });',
      );
      await ran(consumer, process.execPath, [join(tool, "node_modules/vitest/vitest.mjs"), "run"]);
      return "native";
    },
  ],
];
