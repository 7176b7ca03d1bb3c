// The version stands in package.json; what else says it, says the same.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { version as told } from "../../lib/cli/version";

const read = (path: string): string => readFileSync(join(__dirname, "..", "..", path), "utf8");
const { version } = JSON.parse(read("package.json")) as { version: string };

test("the lock file, the newest section of the changelog and the command line say it", () => {
  const lock = JSON.parse(read("package-lock.json")) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  const [, newest] = /^## (\d\S+)/m.exec(read("CHANGELOG.md"))!;
  expect([lock.version, lock.packages[""]!.version, newest, told()]).toEqual([version, version, version, version]);
});

test("the CUDA package takes it from there", () => {
  expect(read("scripts/release/cuda-package.mjs")).not.toContain(version);
});
