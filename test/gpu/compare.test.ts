// The comparison with torch that the GPU bundle runs on a device, here on the emulated one and torch's CPU: every op of the
// table, values and gradients.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { TorchResults } from "../../bench/gpu/results";

const root = path.join(__dirname, "..", "..");
const library = path.join(root, "build-emulated", "libsurprisal_emulated.so");
const python = ["/usr/bin/python3", "python3"].find((name) => spawnSync(name, ["-c", "import torch"]).status === 0);
const why = !existsSync(library)
  ? " (skipped: the emulated backend was not built)"
  : !python
    ? " (skipped: no python3 with torch)"
    : "";

(why ? test.skip : test)(
  `every op of the emulated backend agrees with torch, with the same bits in every repeat${why}`,
  () => {
    const folder = mkdtempSync(path.join(tmpdir(), "surprisal-torch-"));
    try {
      const out = path.join(folder, "torch.json");
      const script = path.join(root, "bench", "gpu", "python", "compare.py");
      const args = [script, "--library", library, "--out", out, "--repeats", "2"];
      const { status, stdout, stderr } = spawnSync(python!, args, { encoding: "utf8" });
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).toMatch(/^\d+ checks of \d+ ops against torch .*: 0 failed; no check: none\n$/);
      const { checks, missing } = JSON.parse(readFileSync(out, "utf8")) as TorchResults;
      expect(missing).toEqual([]);
      expect(checks!.length).toBeGreaterThan(80);
      expect(checks!.filter(({ passed, repeatable }) => !passed || repeatable !== true)).toEqual([]);
      // A comparison in which nothing ever differs compares something with itself.
      expect(
        checks!.filter(({ outputs }) => Object.values(outputs!).some(({ largest }) => largest > 0)).length,
      ).toBeGreaterThan(30);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  120_000,
);

(why ? test.skip : test)(`a library that cannot run says why${why}`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), "surprisal-torch-"));
  try {
    const out = path.join(folder, "torch.json");
    const script = path.join(root, "bench", "gpu", "python", "compare.py");
    const args = [script, "--library", library, "--out", out, "--device", "9"];
    expect(spawnSync(python!, args, { encoding: "utf8" }).status).toBe(3);
    expect((JSON.parse(readFileSync(out, "utf8")) as TorchResults).skipped).toContain("device 9 does not exist");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
