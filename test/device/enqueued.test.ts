// What EMPG on a device asks of the runtime between the call and the first read: nothing that waits, and no copy to the host.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const root = join(__dirname, "../..");
const built = ["dist/index.js", "build/Release/surprisal.node", "build-emulated/libsurprisal_emulated.so"];
const missing = built.filter((path) => !existsSync(join(root, path)));

interface Report {
  enqueued: Record<string, number>;
  read: Record<string, number>;
  steps: number;
}

if (missing.length > 0) {
  test.skip(`calls of the runtime are not counted: no ${missing.join(", no ")}`, () => undefined);
} else {
  test("EMPG from ids to advantages is enqueued without a wait or a copy to the host", () => {
    const env = { ...process.env, SURPRISAL_EMULATION_FAIL: "off" };
    const program = [join(__dirname, "enqueued.cjs"), distFile("index.js")];
    const { status, stdout, stderr } = spawnSync(process.execPath, program, {
      env,
      encoding: "utf8",
      timeout: HANG_MS,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const { enqueued, read, steps } = JSON.parse(stdout) as Report;
    expect(steps).toBeGreaterThan(20);
    const { launch, cudaMemcpyAsync, ...others } = enqueued;
    // The marks and their pairs; the means of steps; the weights of steps; rows to tokens; three of modulateSpans.
    expect(launch).toBe(8);
    // To the device: ids and offsets of the two delimiters.
    expect(cudaMemcpyAsync).toBe(4);
    for (const [name, calls] of Object.entries(others)) expect([name, calls]).toEqual([name, 0]);
    // The counting does see them: a read waits.
    expect(Object.values(read).some((calls) => calls > 0)).toBe(true);
  });
}
