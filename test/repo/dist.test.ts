// What users run is what is tested: dist/ made of lib/ as it is, by a suite of each family at least.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { read, repositoryFiles, root } from "./rules/files";

const files = repositoryFiles();
const suites = files.filter((path) => path.endsWith(".test.ts"));
const runsDist = (path: string): boolean => /from "surprisal(\/[a-z]+)?"/.test(read(path));

const families = [...new Set(files.flatMap((path) => /^lib\/ops\/([a-z]+)\//.exec(path)?.[1] ?? []))];
const folders = ["advantage", "control", "device", "experience", "io", "loss", "report", "reward"];

test.each([...families.map((family) => `ops/${family}`), ...folders])("a suite of %s runs dist", (name) => {
  const own = suites.filter((path) => new RegExp(`^test/${name}\\b`).test(path));
  expect(own.filter(runsDist)).not.toEqual([]);
});

test("conformance runs dist, but for the list of presets", () => {
  const programs = files.filter((path) => /^test\/conformance\/.*\.ts$/.test(path));
  const others = programs.flatMap((path) =>
    [...read(path).matchAll(/from "(?:\.\.\/)+(lib[^"]*)"/g)].map(([, name]) => name),
  );
  expect([...new Set(others)]).toEqual(["lib/presets"]);
});

test("a suite that runs dist fails where dist is older than lib, and says what to do", () => {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-stale-"));
  try {
    const config = join(folder, "jest.config.cjs");
    const program = `const { configFor } = require(${JSON.stringify(join(root, "jest.config.cjs"))});
module.exports = { ...configFor(false), rootDir: ${JSON.stringify(root)}, reporters: ["default"] };`;
    writeFileSync(config, program);
    const suite = ["test/control/kl-controller.test.ts", "test/cli/doctor.test.ts", "test/core/groups.test.ts"];
    const jest = join(root, "node_modules/jest/bin/jest.js");
    const { status, stderr } = spawnSync(process.execPath, [jest, "--config", config, "--runTestsByPath", ...suite], {
      cwd: root,
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(stderr).toContain("dist is older than lib, and this suite runs dist: npm run build -- dist");
    expect(stderr).toMatch(/^FAIL test\/control\/kl-controller/m);
    expect(stderr).toMatch(/^FAIL test\/cli\/doctor/m);
    expect(stderr).toMatch(/^PASS test\/core\/groups/m);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
