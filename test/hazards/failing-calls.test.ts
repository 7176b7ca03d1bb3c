// Through the addon, as through the C ABI (test/native/kernels endure): a call of the CUDA runtime that fails is reported as what
// it is, and the next call works.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const root = join(__dirname, "../..");
const built = ["dist/index.js", "build/Release/surprisal.node", "build-emulated/libsurprisal_emulated.so"];
const missing = built.filter((path) => !existsSync(join(root, path)));

if (missing.length > 0) {
  test.skip(`failing calls are not tried: no ${missing.join(", no ")}`, () => undefined);
} else {
  test("each call of the runtime fails once: an error with its code, no wrong result, and the next call works", () => {
    const env = { ...process.env, SURPRISAL_EMULATION_FAIL: "off", SURPRISAL_EMULATION_THREADS: "1" };
    const program = [join(__dirname, "failing-calls.cjs"), distFile("index.js")];
    const { status, stdout, stderr } = spawnSync(process.execPath, program, {
      env,
      encoding: "utf8",
      timeout: HANG_MS,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const report = JSON.parse(stdout) as Record<string, { refused: number; mended: number; wrong: string[] }>;
    expect(Object.keys(report)).toHaveLength(4);
    for (const facts of Object.values(report)) {
      expect(facts.wrong).toEqual([]);
      expect(facts.refused).toBeGreaterThan(3);
    }
  });
}
