// The thread pool of the CPU backend, in a C++ program of its own (test/native/pool) under the sanitizers: every row once,
// the same failure whatever the threads, callers side by side, forks, an end in the middle.
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findCompiler, whyNot } from "./programs";
import { HANG_MS } from "../support/hang";

const root = join(__dirname, "../..");
const SOURCES = [
  "native/cpu/pool.cpp",
  "native/cpu/cores.cpp",
  "native/cpu/sizes.cpp",
  "test/native/pool/main.cpp",
].map((path) => join(root, path));
const FLAGS = [
  "-std=c++17",
  "-O1",
  "-g",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-pthread",
  `-I${join(root, "native")}`,
  `-I${join(root, "native/include")}`,
];
const BUILDS = {
  plain: [],
  asan: ["-fsanitize=address,undefined"],
  tsan: ["-fsanitize=thread"],
} as const;

/** What it shows, its name in the program, and the builds that cannot run it. */
const CASES: readonly [string, string, ...(keyof typeof BUILDS)[]][] = [
  ["every row runs once, in pieces cut by sizes alone", "covers"],
  ["the first failure in order is the answer, with its text", "fails"],
  ["a stop ends a call within a piece, and the next call runs", "stops"],
  ["a call inside a piece runs", "nests"],
  ["five threads call at once", "callers"],
  ["a forked child starts a pool of its own", "fork"],
  // The allocator of AddressSanitizer keeps its locks over a fork: a child of busy threads may wait for ever in `new`.
  ["a fork in the middle of another thread's call", "busy-fork", "asan"],
  ["the process ends in the middle of calls", "exit"],
];

const compiler = findCompiler();

if ("reason" in compiler) {
  test.skip(`the pool is not run under sanitizers: ${compiler.reason}`, () => undefined);
} else {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-pool-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  describe.each(Object.keys(BUILDS) as (keyof typeof BUILDS)[])("%s", (build) => {
    const reason = whyNot(compiler.path, build);
    if (reason !== undefined) {
      test.skip(`the pool is not run: ${reason}`, () => undefined);
      return;
    }
    const program = join(folder, build);
    beforeAll(async () => {
      await promisify(execFile)(compiler.path, [...FLAGS, ...BUILDS[build], ...SOURCES, "-o", program]);
    });

    const run = (...args: string[]) => {
      // A forked child may start threads; TSan would not wait at the end for those that are never joined.
      const env = { ...process.env, TSAN_OPTIONS: "die_after_fork=0 atexit_sleep_ms=0 report_thread_leaks=0" };
      const { status, signal, stdout, stderr } = spawnSync(program, args, { env, encoding: "utf8", timeout: HANG_MS });
      return { status, signal, stdout, stderr };
    };
    const ended = (stdout: string) => ({ status: 0, signal: null, stdout, stderr: "" });

    test.each(CASES.filter(([, , ...unable]) => !unable.some((name) => name === build)))(
      "%s",
      (_, name) => {
        expect(run(name)).toEqual(ended("passed\n"));
      },
      90_000,
    );

    describe("the quota of control groups", () => {
      const mount = join(folder, `groups-${build}`);
      const write = (path: string, text: string) => {
        mkdirSync(join(mount, path, ".."), { recursive: true });
        writeFileSync(join(mount, path), text);
      };
      beforeAll(() => {
        write("two/cpu.max", "150000 100000\n");
        write("two/inner/cpu.max", "max 100000\n");
        write("two/inner/small/cpu.max", "50000 100000\n");
        write("cpu/one/cpu.cfs_quota_us", "300000\n");
        write("cpu/one/cpu.cfs_period_us", "100000\n");
        write("cpu/free/cpu.cfs_quota_us", "-1\n");
        write("cpu/free/cpu.cfs_period_us", "100000\n");
      });

      test.each([
        ["none where nothing is written", "0::/elsewhere\n", 0],
        ["version 2, rounded up", "0::/two\n", 2],
        ["version 2, of a folder above", "0::/two/inner\n", 2],
        ["version 2, the smallest on the way up", "0::/two/inner/small\n", 1],
        ["version 1", "4:memory:/two\n3:cpuacct,cpu:/one\n", 3],
        ["version 1 without a limit", "1:cpu:/free\n0::/\n", 0],
        ["the smaller of both", "1:cpu:/one\n0::/two\n", 2],
        ["cpuset is not cpu", "1:cpuset:/one\n", 0],
        ["lines that are none", "nonsense\n1:cpu\n\n", 0],
      ])("%s", (_, list, cpus) => {
        write("list", list);
        expect(run("quota", join(mount, "list"), mount)).toEqual(ended(`${cpus}\n`));
      });

      test("none where the list cannot be read", () => {
        expect(run("quota", join(mount, "no-list"), mount)).toEqual(ended("0\n"));
      });
    });
  });
}
