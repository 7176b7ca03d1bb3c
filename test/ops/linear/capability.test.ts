// Cards of compute capability 9.0 multiply by warpgroups, others by warps: the same products in the same order.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { distFile } from "../../support/dist";
import { eachBackend } from "../../support/each-backend";
import { HANG_MS } from "../../support/hang";

function bitsOn(capability: string): string {
  const program = join(__dirname, "capability.cjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, distFile("index.js")], {
    env: { ...process.env, SURPRISAL_EMULATION_CAPABILITY: capability },
    encoding: "utf8",
    timeout: HANG_MS,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

eachBackend(() => {
  test("a head has the same bits whoever makes its tiles", () => {
    const byWarps = bitsOn("8.0");
    expect(byWarps.split("\n").length).toBeGreaterThan(10);
    expect(bitsOn("9.0")).toBe(byWarps);
  });
}, ["emulated"]);
