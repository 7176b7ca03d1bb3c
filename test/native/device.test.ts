// The memory, order, recorded work and failures of a device, through the table of a backend library, by a C++ program
// (test/native/device). Emulated: with streams that work at once, on their own, and after delays.
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findCompiler } from "./programs";
import { HANG_MS } from "../support/hang";

const root = join(__dirname, "../..");
const FLAGS = [
  "-std=c++17",
  "-O1",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-pthread",
  `-I${join(root, "native")}`,
  `-I${join(root, "native/include")}`,
];

const TESTS: readonly [name: string, claim: string][] = [
  ["reuse", "what is freed serves the next one of its size"],
  ["sizes", "no size is rounded up by more than an eighth"],
  ["limit", "the limit holds, and what is kept makes room"],
  ["trim", "what is kept goes back"],
  ["refusals", "memory that was not lent, or is freed twice"],
  ["staging", "host memory may change when a copy returns"],
  ["threads", "queues of four threads share the memory"],
  ["across-queues", "another queue gets freed memory behind its last use"],
  ["own-first", "a queue's own memory comes first"],
  ["after-the-queue", "what a queue kept outlives it"],
  ["events", "events order queues and measure time"],
  ["fences", "a fence carries memory as it was, and faults once"],
  ["replay", "a launch runs what was recorded, on memory that nobody else gets"],
  ["constants", "a launch writes the host memory of the time of recording"],
  ["ownership", "arrays of a capture outlive its graph, freed ones stay until then"],
  ["rules", "what cannot be recorded is refused, and other queues go on"],
  ["faults", "faults of recorded kernels are told where they ran"],
  ["unfinished", "a queue that ends in the middle of a capture leaves nothing"],
  ["pointers", "pointers of others are looked at"],
  ["processes", "a handle for another process, or a refusal"],
  ["lending", "another library works on the stream of a queue"],
];

/** Of the emulation alone: it fails on order, or has as much memory as the test says. */
const FAILURES: readonly [name: string, claim: string][] = [
  ["out-of-memory", "nothing is left of a request that no device can serve"],
  ["second-try", "what is kept goes back before memory runs out; without page-locked memory copies go on"],
  ["each-call", "each call of the runtime fails once: a status with a text, and nothing is lost"],
  ["lost", "a device that failed for good says so at once"],
];

/** Tests that hold without the cache as well. */
const UNCACHED: readonly string[] = [
  "staging",
  "threads",
  "events",
  "fences",
  "constants",
  "faults",
  "pointers",
  "lost",
];

const compiler = findCompiler();

if ("reason" in compiler) {
  test.skip(`the device functions are not run: ${compiler.reason}`, () => undefined);
} else {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-device-"));
  const program = join(folder, "device");
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeAll(async () => {
    const sources = readdirSync(join(__dirname, "device")).filter((file) => file.endsWith(".cpp"));
    const paths = sources.map((file) => join(__dirname, "device", file));
    await promisify(execFile)(compiler.path, [...FLAGS, ...paths, "-o", program, "-ldl"]);
  });

  const run = (backend: string, name: string, environment: NodeJS.ProcessEnv) => {
    const library = join(root, `build-${backend}`, `libsurprisal_${backend}.so`);
    const env = { ...process.env, SURPRISAL_DEVICE_CACHE: "", SURPRISAL_EMULATION_THREADS: "2", ...environment };
    const { status, stdout, stderr } = spawnSync(program, [library, name], { env, encoding: "utf8", timeout: HANG_MS });
    return { status, stdout, stderr };
  };
  const PASSED = { status: 0, stdout: "passed\n", stderr: "" };

  const emulated = existsSync(join(root, "build-emulated/libsurprisal_emulated.so"));
  describe.each(["sync", "async", "delay:3"])("emulated, streams %s", (streams) => {
    (emulated ? test : test.skip).each([...TESTS, ...FAILURES])("%s: %s", (name) => {
      expect(run("emulated", name, { SURPRISAL_EMULATION_STREAMS: streams })).toEqual(PASSED);
    });
  });

  (emulated ? test : test.skip)(
    "emulated, two devices: neither takes what is the other's, and one goes on when the other is lost",
    () => {
      expect(run("emulated", "devices", { SURPRISAL_EMULATION_DEVICES: "2" })).toEqual(PASSED);
    },
  );

  (emulated ? test : test.skip)(
    "emulated, two devices: the caller's thread keeps its context, or none, and no other device gets one",
    () => {
      expect(run("emulated", "context", { SURPRISAL_EMULATION_DEVICES: "2" })).toEqual(PASSED);
    },
  );

  (emulated ? test : test.skip).each(UNCACHED)("emulated, without the cache: %s", (name) => {
    expect(run("emulated", name, { SURPRISAL_DEVICE_CACHE: "0" })).toEqual(PASSED);
  });

  const cuda = existsSync(join(root, "build-cuda/libsurprisal_cuda.so"));
  (cuda ? test : test.skip).each(TESTS)("cuda: %s: %s, or no device and the reason", (name) => {
    const { status, stdout, stderr } = run("cuda", name, {});
    if (status === 3) expect(stdout).toMatch(/^unavailable: .*(driver|device)/);
    else expect({ status, stdout, stderr }).toEqual(PASSED);
  });
}
