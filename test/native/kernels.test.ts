// Every op on the CPU backend and on the emulated one, under the sanitizers: on good data both agree, bad data is refused,
// and nobody touches memory that is not theirs. The cases are C++ (test/native/kernels), compiled here.
import { findCompiler, whyNot, type Build } from "./programs";
import { KernelProgram, tableOps } from "./kernels/program";

const ORDERS = ["0", "1", "2"]; // forward, reverse, random

const compiler = findCompiler();

if ("reason" in compiler) {
  test.skip(`the kernels are not run under sanitizers: ${compiler.reason}`, () => undefined);
} else {
  const program = new KernelProgram(compiler.path);
  const reasons = { asan: whyNot(compiler.path, "asan"), tsan: whyNot(compiler.path, "tsan") };
  const builds = (["asan", "tsan"] as const).filter((build) => reasons[build] === undefined);

  beforeAll(() => program.build(builds), 600_000);
  afterAll(() => program.remove());

  /** Registers a test of one build, or a skipped one with the reason. */
  const sanitized = (build: "asan" | "tsan", title: string, run: () => Promise<void>) => {
    const reason = reasons[build];
    if (reason === undefined) test(title, run, 400_000);
    else test.skip(`${title}: not run, ${reason}`, () => undefined);
  };

  const expectPassed = async (build: Build, what: "agree" | "refuse", orders: readonly string[]) => {
    const { status, stderr, lines } = await program.run(build, what, ...orders);
    // A report first: it says more than the line that is missing.
    expect(stderr).toBe("");
    const claim = new RegExp(`^passed: (\\w+) ${what}s, [1-9]\\d* cases$`);
    const passed = lines.map((line) => claim.exec(line)?.[1] ?? line);
    expect(passed.sort()).toEqual(tableOps().sort());
    expect(status).toBe(0);
  };

  sanitized("asan", "ASan and UBSan: both backends agree, with the same bits in every thread order", () => expectPassed("asan", "agree", ORDERS));

  sanitized("asan", "ASan and UBSan: both backends refuse bad arguments and bad data", () => expectPassed("asan", "refuse", ORDERS));

  // Good data only: where offsets go down two rows share tokens, and two blocks write them. The contract leaves those
  // outputs open.
  sanitized("tsan", "TSan: no kernel has a data race", () => expectPassed("tsan", "agree", ["2"]));
}
