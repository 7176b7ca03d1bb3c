// Arrays in shared memory that another thread changes during a call: the call gives something or is refused, and it ends.
import { spawnSync } from "node:child_process";
import * as path from "node:path";

import { distFile } from "../support/dist";
import { backendInfo } from "../../lib";
import { HANG_MS } from "../support/hang";

const dist = distFile();
const { available, reason } = backendInfo().backends.find(({ name }) => name === "cpu")!;

if (!available) test.skip(`arrays that change under a call are not tried: no cpu backend (${reason})`, () => undefined);
else
  test("arrays that another thread changes under a call neither hang nor crash it", () => {
    const script = path.join(__dirname, "changing-memory.cjs");
    const { stdout, stderr, status, signal } = spawnSync(process.execPath, [script, dist, "cpu", "60"], {
      encoding: "utf8",
      timeout: HANG_MS,
    });
    expect({ stderr, status, signal }).toEqual({ stderr: "", status: 0, signal: null });
    const { answered, refused } = JSON.parse(stdout) as { answered: number; refused: number };
    expect(answered + refused).toBe(15 * 60);
  });
