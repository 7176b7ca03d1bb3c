// The build scripts decide what to build and what to say. They are plain ES modules that run before
// anything is compiled, so each is tested in a process of its own.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./rules/files";

const script = (name: string): string => JSON.stringify(pathToFileURL(join(root, "scripts", name)).href);

function runModule(program: string, env: Readonly<Record<string, string>> = {}): unknown {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "surprisal-scripts-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("an output is fresh until an input, a flag or the output itself changes", () => {
  const program = `
import { rmSync, writeFileSync } from "node:fs";
import { fingerprint, isFresh, writeStamp } from ${script("build/stamp.mjs")};
const [input, output, stamp] = ["in", "out", "stamp"].map((name) => ${JSON.stringify(folder)} + "/" + name);
writeFileSync(input, "one");
writeFileSync(output, "made of one");
const fresh = (flags) => isFresh([output], stamp, fingerprint(flags, [input]));
const seen = { unstamped: fresh(["-O2"]) };
writeStamp(stamp, fingerprint(["-O2"], [input]));
seen.stamped = fresh(["-O2"]);
seen.otherFlag = fresh(["-O3"]);
writeFileSync(input, "one");
seen.sameContent = fresh(["-O2"]);
writeFileSync(input, "two");
seen.otherContent = fresh(["-O2"]);
writeFileSync(input, "one");
rmSync(output);
seen.outputGone = fresh(["-O2"]);
console.log(JSON.stringify(seen));
`;
  expect(runModule(program)).toEqual({
    unstamped: false,
    stamped: true,
    otherFlag: false,
    sameContent: true,
    otherContent: false,
    outputGone: false,
  });
});

test("parallel work keeps its order, never runs wider than asked, and reports a failure after the rest has ended", () => {
  const program = `
import { setTimeout as sleep } from "node:timers/promises";
import { inParallel } from ${script("build/run.mjs")};
let running = 0, widest = 0, ended = 0;
const work = async (item) => {
  widest = Math.max(widest, ++running);
  await sleep(5 * item);
  running--; ended++;
  if (item === 1) throw new Error("one");
  return item * 10;
};
const results = await inParallel(2, [3, 2, 4, 2], work);
ended = 0;
const failure = await inParallel(2, [4, 1, 2, 3], work).catch((error) => error.message);
console.log(JSON.stringify({ results, widest, failure, ended, running }));
`;
  expect(runModule(program)).toEqual({ results: [30, 20, 40, 20], widest: 2, failure: "one", ended: 2, running: 0 });
});

test("a compiler is what CXX names, and nothing when it names nothing that exists", () => {
  const program = `
import { findCxx, findNvcc } from ${script("build/tools.mjs")};
console.log(JSON.stringify([findCxx() ?? null, findNvcc() ?? null]));
`;
  expect(runModule(program, { CXX: "/nonexistent/g++", CUDACXX: "/nonexistent/nvcc" })).toEqual([null, null]);
  expect(runModule(program, { CXX: process.execPath, CUDACXX: process.execPath })).toEqual([
    process.execPath,
    process.execPath,
  ]);
});

test("a machine without compilers builds no native part, says so in a line each, and succeeds", () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, "scripts", "build.mjs"), "addon", "emulated", "cuda"],
    { encoding: "utf8", env: { ...process.env, CXX: "/nonexistent/g++", CUDACXX: "/nonexistent/nvcc" } },
  );
  expect(status).toBe(0);
  expect(stdout.trim().split("\n")).toEqual([
    expect.stringMatching(/^addon: skipped, no C\+\+17 compiler.*; the JavaScript backend works without$/),
    expect.stringMatching(/^emulated: skipped, no C\+\+17 compiler; only tests use it$/),
    expect.stringMatching(/^cuda: skipped, no nvcc.*; every other backend works without$/),
  ]);
});

test("a step that does not exist is refused by name", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts", "build.mjs"), "addons"], {
    encoding: "utf8",
  });
  expect(status).toBe(2);
  expect(stderr).toContain("no step named addons");
});
