// What reading a tensor takes beside the tensor.
import { spawnSync } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { join } from "node:path";
import { distFile } from "../support/dist";
import { writeTensors } from "../../lib/io";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();
const dist = distFile();

const bytes = (count: number) => ({
  x: { dtype: "uint8", shape: [count], data: randomFillSync(new Uint8Array(count)) } as const,
});

// Random bytes: the packed ones are as many.
test.each([
  ["stored", false],
  ["deflated", true],
])("a large tensor of an npz, %s, is read straight into its memory", async (_, compress) => {
  await writeTensors(folder.at("small.npz"), bytes(1000), { compress });
  await writeTensors(folder.at("large.npz"), bytes(64 * 1024 * 1024), { compress });
  const script = join(__dirname, "peak-memory.cjs");
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [script, dist, folder.at("small.npz"), folder.at("large.npz")],
    { encoding: "utf8" },
  );
  expect(stderr).toBe("");
  // The tensor, and what the collector leaves of the pieces for a while.
  expect(Number(stdout)).toBeLessThan(1.7);
});
