// Every op on the CPU backend and on the emulated one, under the sanitizers and as they were built: on good data both agree, bad
// data is refused, and nobody touches memory that is not theirs. The cases are C++ (test/native/kernels), compiled here.
import { join } from "node:path";
import { findCompiler, whyNot, type Build } from "./programs";
import { KernelProgram, launchedKernels, levelsHere, tableOps } from "./kernels/program";

const ORDERS = ["0", "1", "2"]; // forward, reverse, random

// The short suite takes one case in so many of each op (an odd number: dtypes take turns), and must still launch every kernel;
// `npm run test:long` takes all cases. Checked vectors take longer to compile than all else, and ASan does not see masked loads and
// stores at all: the short suite leaves them to the fences, where the processor itself checks. TSan is the long suite's, too: it takes
// as long as all else together, and most races also show as other bits in another order of threads.
const LONG = process.env.SURPRISAL_LONG === "1";
const LEVELS = levelsHere();
const CHECKED_LEVELS = LONG ? LEVELS : [];
const LIMIT = LONG ? 7_200_000 : 3_600_000; // ms: ends what hangs, also on a machine with other work
const SHORT = { SURPRISAL_KERNELS_EVERY: LONG ? "1" : "7" };
// Of failures one case an op: each makes dozens of calls fail.
const FAILURES = { SURPRISAL_KERNELS_EVERY: LONG ? "40" : "1000" };
// Every array of these cases on the ways of large ones.
const TINY = { SURPRISAL_CPU_SIZES: "tiny" };
const DELAYS = { SURPRISAL_EMULATION_STREAMS: "delay:7" };

/** Cases that reached new branches, kept: a case a line (test/native/kernels/fuzz.h). */
const CORPUS = join(__dirname, "../fuzz/corpus/abi.txt");

const compiler = findCompiler();

if ("reason" in compiler) {
  test.skip(`the kernels are not run under sanitizers: ${compiler.reason}`, () => undefined);
} else {
  const program = new KernelProgram(compiler.path);
  const reasons = {
    plain: undefined,
    asan: whyNot(compiler.path, "asan"),
    tsan: LONG ? whyNot(compiler.path, "tsan") : "`npm run test:long` does",
  };
  const builds = (["plain", "asan", "tsan"] as const).filter((build) => reasons[build] === undefined);

  beforeAll(() => program.build(builds, CHECKED_LEVELS), LIMIT);
  afterAll(() => program.remove());

  /** Registers a test of one build, or a skipped one with the reason. */
  const sanitized = (build: "asan" | "tsan", title: string, run: () => Promise<void>) => {
    const reason = reasons[build];
    if (reason === undefined) test(title, run, LIMIT);
    else test.skip(`${title}: not run, ${reason}`, () => undefined);
  };

  /** What every op must say, and every kernel has run. */
  const expectPassed = async (
    build: Build,
    what: "agree" | "refuse" | "endure",
    orders: readonly string[],
    environment: NodeJS.ProcessEnv,
  ) => {
    const { status, stderr, lines, launched } = await program.run(build, [what, ...orders], environment);
    // A report first: it says more than the line that is missing.
    expect(stderr).toBe("");
    // An op says more than once what it passed where a part of its cases stands alone: "loss_row agrees in groups, 12 cases".
    const claim = new RegExp(`^passed: (\\w+) ${what}s(?: [a-z ]+)?, [1-9]\\d* cases$`);
    const passed = new Set(lines.map((line) => claim.exec(line)?.[1] ?? line));
    expect([...passed].sort()).toEqual(tableOps().sort());
    expect(status).toBe(0);
    return launched.sort();
  };

  sanitized("asan", "ASan and UBSan: both backends agree, with the same bits in every thread order", async () => {
    expect(await expectPassed("asan", "agree", ORDERS, SHORT)).toEqual(launchedKernels().sort());
  });

  for (const level of CHECKED_LEVELS.slice(1))
    sanitized("asan", `ASan and UBSan: both backends agree on the level ${level}`, async () => {
      await expectPassed("asan", "agree", ["0"], { ...SHORT, ...TINY, SURPRISAL_CPU: level });
    });

  sanitized("asan", "ASan and UBSan: both backends refuse bad arguments and bad data", async () => {
    await expectPassed("asan", "refuse", ORDERS, SHORT);
  });

  sanitized("asan", "ASan and UBSan: every call of the CUDA runtime fails once under every op", async () => {
    await expectPassed("asan", "endure", [], FAILURES);
  });

  // Straight at the table, as a C caller would: sizes, enumerators, numbers, offsets and data that fit together, and such that do not.
  const calls = Number(process.env.SURPRISAL_FUZZ_ABI_CALLS || (LONG ? 10_000_000 : 40_000));
  const seed = Number(process.env.SURPRISAL_FUZZ_SEED || 1);
  sanitized("asan", "ASan and UBSan: random calls of every op straight at the table", async () => {
    const half = (k: number) =>
      program.fuzz(seed + k, calls / 2, CORPUS, k === 0 ? process.env.SURPRISAL_FUZZ_ABI_KEEP : undefined, {});
    for (const { status, stdout, stderr } of await Promise.all([half(0), half(1)])) {
      expect({ stderr, lines: stdout.trim().split("\n").slice(0, -2), status }).toEqual({
        stderr: "",
        lines: [],
        status: 0,
      });
      const [, done, ops] = /^(\d+) calls of (\d+) ops,/m.exec(stdout)!;
      expect(Number(done)).toBeGreaterThan(calls / 2);
      expect(Number(ops)).toBe(tableOps().length);
    }
  });

  const FENCES = ["behind", "front"] as const;
  const fenced = (fence: string, level: string): NodeJS.ProcessEnv => ({
    ...SHORT,
    ...(fence === "behind" ? TINY : {}),
    SURPRISAL_KERNELS_FENCE: fence,
    SURPRISAL_CPU: level,
  });

  for (const level of [...LEVELS, "portable"])
    for (const fence of FENCES)
      test(
        `${level}, as built: both backends agree and refuse, with a forbidden page ${{ behind: "behind", front: "in front of" }[fence]} each array`,
        async () => {
          await expectPassed("plain", "agree", ["0"], fenced(fence, level));
          await expectPassed("plain", "refuse", ["0"], fenced(fence, level));
        },
        LIMIT,
      );

  test(
    "as built, on a device whose float64 is slow: both backends agree",
    async () => {
      await expectPassed("plain", "agree", ["2"], { ...SHORT, SURPRISAL_EMULATION_CAPABILITY: "8.9" });
    },
    LIMIT,
  );

  test.each(FENCES.flatMap((fence) => ["read", "write", "input"].map((where) => [fence, where] as const)))(
    "a fence (%s) stops an op that goes astray: %s",
    (fence, where) => {
      const stopped = {
        status: null,
        signal: "SIGSEGV",
        stderr: "outside of its memory in astray, case 0: good data\n",
      };
      expect(program.astray(where, fence)).toEqual(stopped);
    },
  );

  // Good data only: where offsets go down two rows share tokens, and two blocks write them. The contract leaves those
  // outputs open. Every kernel, so also every one with shared memory.
  sanitized("tsan", "TSan: no kernel has a data race, whatever the streams' delays", async () => {
    expect(await expectPassed("tsan", "agree", ["2"], { ...SHORT, ...DELAYS })).toEqual(launchedKernels().sort());
  });
}
