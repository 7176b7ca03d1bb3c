// Other systems and processors, each under what stands for it here: conformance of every recorded case, and the hazards that
// are programs of their own, on the addon that was built for it.

import { cpSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { at } from "../build/paths.mjs";
import { findTool } from "../build/tools.mjs";
import { onCpu, ran } from "./consumer.mjs";
import { bunOfMusl, nodeOf, NotRun } from "./tools.mjs";

/** How many calls changing-memory.cjs makes each time. */
const CHANGING_CALLS = 15;

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

/** Conformance on cpu: the last line, which counts. Then memory that is changed and taken away under calls. */
async function holds(consumer, { command, args, env = {}, exposeGc = "--expose-gc" }) {
  const program = await withConformance(consumer);
  const runs = (...more) => ran(consumer, command, [...args, ...more], env);
  onCpu(await runs("main.cjs"));
  const printed = await runs(program, "--backend", "cpu", "--dir", "golden");
  const line = printed.trim().split("\n").at(-1).trim();
  if (!/ 0 failed/.test(line)) throw new Error(line);
  for (const file of ["changing-memory.cjs", "taken-memory.cjs"])
    cpSync(at("test/hazards", file), join(consumer, file));
  const { answered, refused } = JSON.parse(await runs("changing-memory.cjs", "surprisal", "cpu", "20"));
  if (answered + refused !== CHANGING_CALLS * 20) throw new Error(`of the calls ${answered + refused} ended`);
  const taken = await runs(exposeGc, "taken-memory.cjs", "surprisal");
  // ln 32000, ln 100, and a gradient of 1 − 1/4.
  const wrong = taken.trim().split("\n").filter((text) => !/: (10\.3735|4\.6052|0\.7500)$/.test(text)); // oxfmt-ignore
  if (wrong.length > 0) throw new Error(wrong[0]);
  return `native; conformance: ${line}; ${answered + refused} calls on memory that changes, ${taken.trim().split("\n").length} on memory taken away`;
}

// Node of Windows cannot open a pipe of Linux: what it prints goes through files.
const THROUGH_FILES = 'wine "$@" > printed 2> said; status=$?; cat printed; cat said >&2; exit $status';

async function underWine(consumer) {
  if (!findTool("wine")) throw new NotRun("no wine here (Debian's package wine)");
  const program = await nodeOf(20, "win-x64");
  // The same environment for every run: its first one takes a minute.
  const prefix = join(dirname(dirname(consumer)), "wine");
  mkdirSync(prefix, { recursive: true });
  const env = { WINEPREFIX: prefix, WINEDEBUG: "-all" };
  // An old Wine says that it is Windows 7, where Node does not start.
  const version = ["HKEY_CURRENT_USER\\Software\\Wine", "/v", "Version", "/d", "win10", "/f"];
  await ran(consumer, "wine", ["reg", "add", ...version], env);
  return holds(consumer, { command: "sh", args: ["-c", THROUGH_FILES, "sh", program], env });
}

export const systems = [
  ["linux-x64, glibc", ({ consumer }) => holds(consumer, { command: process.execPath, args: [] })],
  ["linux-x64, musl", async ({ consumer }) => holds(consumer, await bunOfMusl())],
  [
    "linux-arm64, qemu-user",
    async ({ consumer }) => {
      const qemu = findTool("qemu-aarch64-static");
      if (!qemu) throw new NotRun("no qemu-aarch64-static here (Debian's package qemu-user-static)");
      const args = ["-L", "/usr/aarch64-linux-gnu", await nodeOf(20, "linux-arm64")];
      return holds(consumer, { command: qemu, args });
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
