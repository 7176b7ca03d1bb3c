// Memory that JavaScript takes away under an asynchronous call, on every Node line, Bun and Deno: no call crashes, what it read is right.
import { spawnSync } from "node:child_process";
import * as path from "node:path";

import { distFile } from "../support/dist";
import { backendInfo } from "../../lib";
import { nodeLines, otherRuntimes } from "../support/nodes";
import { HANG_MS } from "../support/hang";

const dist = distFile();
const { available, reason } = backendInfo().backends.find(({ name }) => name === "cpu")!;

const PROGRAMS = [
  ...nodeLines.map(({ line, program }) => ({ name: `Node ${line}`, program, args: ["--expose-gc"], own: {} })),
  ...otherRuntimes.map(({ name, program, run, exposeGc, env }) => ({
    name,
    program,
    args: [...run, exposeGc],
    own: env,
  })),
];

/** What the program says there; where SURPRISAL_SHARE_MEMORY is "0", nothing is held and everything copied. */
function check(program: string, args: readonly string[], name: string, env: Readonly<Record<string, string>>): void {
  const script = path.join(__dirname, "taken-memory.cjs");
  const { stdout, stderr, status, signal } = spawnSync(program, [...args, script, dist], {
    encoding: "utf8",
    timeout: HANG_MS,
    env: { ...process.env, ...env },
  });
  const lines = stdout.trimEnd().split("\n");
  // A crash shows how far it came.
  expect({ stderr, status, signal, last: lines.at(-1) }).toMatchObject({ stderr: "", status: 0, signal: null });
  const of = (prefix: string) => lines.filter((one) => one.startsWith(prefix)).map((one) => one.split(": ")[1]);
  expect(new Set(of("inputs"))).toEqual(new Set(["10.3735"])); // ln 32000
  expect(of("inputs").length).toBe(name === "Node 20" ? 3 : 11);
  expect(of("a WebAssembly")).toEqual(["10.3735"]);
  expect(of("results")).toEqual(["4.6052"]);
  expect(of("a gradient")).toEqual(["0.7500"]);
}

for (const { name, program, args, own } of PROGRAMS)
  if (!available) test.skip(`memory taken away under a call is not tried: no cpu backend (${reason})`, () => undefined);
  else if (!program)
    test.skip(`memory taken away under a call, on ${name}: not installed, "npm run nodes" does`, () => undefined);
  else
    test.each([
      ["shared where it stays", "1"],
      ["copied", "0"],
    ])(`memory taken away under a call ends nothing and changes no result, on ${name}, %s`, (_, share) => {
      check(program, args, name, { ...own, SURPRISAL_SHARE_MEMORY: share });
    });
