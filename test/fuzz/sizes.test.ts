// Arrays of a few hundred numbers on the ways of large ones (native/cpu/sizes.h): threads, pieces, stores past the cache.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { backendInfo } from "../../lib";
import { HANG_MS } from "../support/hang";
import { bitsOnCpu } from "./bits";

const CALLS = 30;
const root = join(__dirname, "../..");
const { available, reason } = backendInfo().backends.find(({ name }) => name === "cpu")!;

if (available) {
  test("the ways of large arrays give the bits of the ways of small ones, in every op, on 1 to 8 threads", () => {
    const bits = bitsOnCpu(CALLS);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, "node_modules/tsx/dist/cli.mjs"), join(__dirname, "bits.ts"), String(CALLS)],
      { encoding: "utf8", timeout: HANG_MS, env: { ...process.env, SURPRISAL_CPU_SIZES: "tiny" } },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual(Array.from({ length: 8 }, () => bits));
  });
} else {
  test.skip(`the ways of large arrays are not compared: cpu is not available: ${reason}`, () => undefined);
}
