import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { distFile } from "../../support/dist";
import { HANG_MS } from "../../support/hang";

/** What a script of this folder prints on an emulated device of so many multiprocessors, whose threads come in this order. */
export function printedOnDevice(script: string, order: string, multiprocessors: number): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(__dirname, script), distFile("index.js")], {
    env: {
      ...process.env,
      SURPRISAL_EMULATION_ORDER: order,
      SURPRISAL_EMULATION_MULTIPROCESSORS: String(multiprocessors),
    },
    encoding: "utf8",
    timeout: HANG_MS,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}
