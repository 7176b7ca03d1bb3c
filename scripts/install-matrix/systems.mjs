// Other systems and processors, each under what stands for it here: conformance of every recorded case on the addon that was built for it.

import { cpSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { at } from "../build/paths.mjs";
import { findTool } from "../build/tools.mjs";
import { onCpu, ran } from "./consumer.mjs";
import { bunOfMusl, nodeOf, NotRun } from "./tools.mjs";

/** The runner of the recorded cases as one file beside the installed package. */
async function withConformance(consumer) {
  const file = join(consumer, "conformance.cjs");
  if (existsSync(file)) return "conformance.cjs";
  const args = [
    at("test/conformance/main.ts"),
    "--bundle",
    "--platform=node",
    "--format=cjs",
    "--external:surprisal",
    "--external:surprisal/*",
  ];
  await ran(consumer, at("node_modules/.bin/esbuild"), [...args, `--outfile=${file}`, "--log-level=error"]);
  cpSync(at("test/golden"), join(consumer, "golden"), { recursive: true });
  return "conformance.cjs";
}

/** Conformance on cpu: the last line, which counts. */
async function conforms(consumer, { command, args, env = {} }, golden) {
  const program = await withConformance(consumer);
  onCpu(await ran(consumer, command, [...args, "main.cjs"], env));
  const printed = await ran(consumer, command, [...args, program, "--backend", "cpu", "--dir", golden], env);
  const line = printed.trim().split("\n").at(-1).trim();
  if (!/ 0 failed/.test(line)) throw new Error(line);
  return `native; conformance: ${line}`;
}

async function underWine(consumer) {
  const wine = findTool("wine");
  if (!wine) throw new NotRun("no wine here");
  const program = await nodeOf(20, "win-x64");
  // The same environment for every run: its first one takes a minute.
  const prefix = join(dirname(dirname(consumer)), "wine");
  mkdirSync(prefix, { recursive: true });
  return conforms(
    consumer,
    { command: wine, args: [program], env: { WINEPREFIX: prefix, WINEDEBUG: "-all" } },
    "golden",
  );
}

export const systems = [
  ["linux-x64, glibc", ({ consumer }) => conforms(consumer, { command: process.execPath, args: [] }, "golden")],
  ["linux-x64, musl", async ({ consumer }) => conforms(consumer, await bunOfMusl(), "golden")],
  [
    "linux-arm64, qemu-user",
    async ({ consumer }) => {
      const qemu = findTool("qemu-aarch64-static");
      if (!qemu) throw new NotRun("no qemu-aarch64-static here");
      const args = ["-L", "/usr/aarch64-linux-gnu", await nodeOf(20, "linux-arm64")];
      return conforms(consumer, { command: qemu, args }, "golden");
    },
  ],
  ["win32-x64, Wine", ({ consumer }) => underWine(consumer)],
  [
    "darwin-x64, darwin-arm64",
    () => {
      throw new NotRun("built elsewhere, not run here: needs macOS");
    },
  ],
];
