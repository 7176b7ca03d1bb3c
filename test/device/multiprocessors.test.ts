// Launches are cut by how many multiprocessors a device has: few long rows are shared by many blocks there, and not by others. The
// bits are the same.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const root = join(__dirname, "../..");
const built = ["dist/index.js", "build/Release/surprisal.node", "build-emulated/libsurprisal_emulated.so"];
const missing = built.filter((path) => !existsSync(join(root, path)));

function bitsWith(multiprocessors: number): Record<string, string> {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(__dirname, "multiprocessors.cjs"), distFile("index.js")],
    {
      env: { ...process.env, SURPRISAL_EMULATION_MULTIPROCESSORS: String(multiprocessors) },
      encoding: "utf8",
      timeout: HANG_MS,
    },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, string>;
}

if (missing.length > 0) {
  test.skip(`the number of multiprocessors: ${missing.join(", ")} missing`, () => undefined);
} else {
  test("no bit depends on the number of multiprocessors", () => {
    const one = bitsWith(1);
    expect(Object.keys(one).length).toBeGreaterThan(5);
    expect(bitsWith(132)).toEqual(one);
  });
}
