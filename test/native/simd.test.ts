// The exponentials of every instruction-set level under UBSan (test/native/simd): numbers whose bits mean nothing overflow nothing.
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { levelsHere } from "./kernels/program";
import { findCompiler, whyNot } from "./programs";

const root = join(__dirname, "../..");
const FLAGS = [
  "-std=c++17",
  "-O1",
  "-g1",
  "-ffp-contract=off",
  "-fsanitize=undefined",
  "-fno-sanitize-recover=undefined",
];

const AVX512 = ["-DSRP_LANES=16", "-DSRP_LEVEL_AVX512", ..."f bw dq vl".split(" ").map((part) => `-mavx512${part}`)];

/** What native/cpu/level_*.cpp and its target region say. */
const LEVELS: Readonly<Record<string, readonly string[]>> = {
  avx512bf16: AVX512,
  avx512: AVX512,
  avx2: ["-DSRP_LANES=8", "-DSRP_LEVEL_AVX2", "-mavx2"],
  neon: ["-DSRP_LANES=4", "-DSRP_LEVEL_NEON"],
  baseline: ["-DSRP_LANES=4"],
};

const compiler = findCompiler();
const reason = "reason" in compiler ? compiler.reason : whyNot(compiler.path, "asan");

if ("reason" in compiler || reason !== undefined) {
  test.skip(`exponentials are not run under UBSan: ${reason}`, () => undefined);
} else {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-simd-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  for (const level of levelsHere())
    test(`exponentials of level ${level}`, async () => {
      const program = join(folder, level);
      const wide = level.startsWith("avx") ? ["-mfma", "-mf16c", "-mbmi2"] : [];
      const sources = [join(__dirname, "simd/main.cpp"), "-o", program];
      const includes = [`-I${join(root, "native")}`, `-I${join(root, "native/include")}`];
      await promisify(execFile)(compiler.path, [
        ...FLAGS,
        "-DSRP_LEVEL=level",
        ...LEVELS[level]!,
        ...wide,
        ...includes,
        ...sources,
      ]);
      const { status, stdout, stderr } = spawnSync(program, { encoding: "utf8" });
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "passed\n", stderr: "" });
    });
}
