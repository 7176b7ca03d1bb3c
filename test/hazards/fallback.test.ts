// What runs in place of native code is said once, where it costs time, and nowhere else. Each case is a process of its own.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { factorsOf, type FallbackResult } from "../../bench/fallback";
import { backendInfo } from "../../lib";
import { costOf, LOUD_BYTES, SLOWDOWN } from "../../lib/backend/fallback";
import { distFile } from "../support/dist";

const LARGE = LOUD_BYTES / 4;

/** Everything that the program says on standard error. */
function warningsOf(
  program: string,
  env: Record<string, string> = {},
  before = "delete globalThis.WebAssembly;",
): string {
  const prelude = `process.dlopen = () => { throw new Error("no addons today"); }; ${before}
    const s = require(${JSON.stringify(distFile())});
    const gae = (n, o = {}) => s.gae(new Float32Array(n), new Float32Array(n), { shape: [1, n], gamma: 1, lambda: 1, ...o });`;
  const clean: NodeJS.ProcessEnv = { ...process.env };
  delete clean["SURPRISAL_BACKEND"];
  const { stderr, status } = spawnSync(process.execPath, ["-e", `${prelude}${program}`], {
    encoding: "utf8",
    env: { ...clean, ...env },
  });
  expect({ stderr, status }).toMatchObject({ status: 0 });
  return stderr;
}

test("the first large call says which op, how much slower, why, and the command that mends it; the second is silent", () => {
  const said =
    warningsOf(`gae(${LARGE}); gae(${LARGE}); s.logRatio(new Float32Array(${LARGE}), new Float32Array(${LARGE}),
    { shape: [1, ${LARGE}], level: "token" });`);
  expect(said.match(/SURPRISAL_FALLBACK/g)).toHaveLength(1);
  expect(said).toContain(`scanGae in plain JavaScript, ${SLOWDOWN.js.least} to ${SLOWDOWN.js.most} times slower`);
  expect(said).toContain("no addons today");
  expect(said).toContain("npx surprisal build");
  expect(said).toContain("configure({ warnings: false })");
});

const wasm = backendInfo().backends.find(({ name }) => name === "wasm")!;
(wasm.available ? test : test.skip)(`where WebAssembly runs, it is what is named ${wasm.reason ?? ""}`, () => {
  const said = warningsOf(`gae(${LARGE}); gae(${LARGE});`, {}, "");
  expect(said.match(/SURPRISAL_FALLBACK/g)).toHaveLength(1);
  expect(said).toContain(`scanGae ${costOf("wasm")}: no native addon`);
  expect(said).toContain('configure({ backend: "wasm" })');
});

test("a call off the event loop says it too", () => {
  expect(
    warningsOf(`void s.gaeAsync(new Float32Array(${LARGE}), new Float32Array(${LARGE}),
    { shape: [1, ${LARGE}], gamma: 1, lambda: 1 });`),
  ).toContain("SURPRISAL_FALLBACK");
});

test.each([
  ["small calls", `for (let i = 0; i < 100; ++i) gae(${LARGE - 1});`, {}],
  ["a call that names js", `gae(${LARGE}, { backend: "js" });`, {}],
  ["a preference that ends in js", `gae(${LARGE}, { backend: ["cpu", "js"] });`, {}],
  ["configure({ backend: 'js' })", `s.configure({ backend: "js" }); gae(${LARGE});`, {}],
  ["SURPRISAL_BACKEND=cpu,js", `gae(${LARGE});`, { SURPRISAL_BACKEND: "cpu,js" }],
  ["configure({ warnings: false })", `s.configure({ warnings: false }); gae(${LARGE});`, {}],
])("%s: no warning", (_, program, env) => {
  expect(warningsOf(program, env)).toBe("");
});

test("doctor names the cost and the command where there is no native code", () => {
  const clean = { ...process.env, SURPRISAL_NATIVE_PATH: "", NODE_OPTIONS: "--require ./test/support/no-addons.cjs" };
  const { stdout, status } = spawnSync(process.execPath, [distFile("cli/main.js"), "doctor"], {
    encoding: "utf8",
    env: clean,
    cwd: path.join(__dirname, "../.."),
  });
  expect(status).toBe(0);
  expect(stdout).toContain(`"auto" runs ${costOf(wasm.available ? "wasm" : "js")}: \`npx surprisal build\` builds it`);
});

test("the factors are those that were measured", () => {
  const file = path.join(__dirname, "../../bench/results/fallback.json");
  const { results } = JSON.parse(readFileSync(file, "utf8")) as { results: FallbackResult[] };
  expect(SLOWDOWN).toEqual({ wasm: factorsOf(results, "wasm"), js: factorsOf(results, "js") });
});
