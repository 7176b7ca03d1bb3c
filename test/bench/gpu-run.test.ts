// run.sh of the GPU bundle, over parts that only say their names: which run, and what comes back.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { folderOf } from "../../bench/gpu/import";

const PARTS = [
  "bench/gpu/card.js",
  "bench/gpu/short.js",
  "bench/gpu/summary.js",
  "bench/gpu/node/main.js",
  "node_modules/jest/bin/jest.js",
  "test/conformance/main.js",
];

let bundle: string;
beforeAll(() => {
  bundle = mkdtempSync(join(tmpdir(), "gpu-bundle-"));
  copyFileSync(join(__dirname, "../../scripts/gpu/run.sh"), join(bundle, "run.sh"));
  symlinkSync(process.execPath, join(bundle, "node"));
  writeFileSync(join(bundle, "bundle.json"), "{}");
  for (const part of PARTS) {
    mkdirSync(dirname(join(bundle, "app", part)), { recursive: true });
    writeFileSync(join(bundle, "app", part), `console.log("this is ${part}");\n`);
  }
});
afterAll(() => {
  rmSync(bundle, { recursive: true });
});

/** run.sh with these tools alone on PATH, beside those of the system without python. */
function run(results: string, ...args: readonly string[]) {
  return spawnSync("bash", [join(bundle, "run.sh"), join(bundle, results), ...args], {
    encoding: "utf8",
    env: { ...process.env, PATH: `${join(bundle, "tools")}:${process.env.PATH ?? ""}` },
  });
}

const states = (folder: string) =>
  Object.fromEntries(
    readFileSync(join(folder, "parts.tsv"), "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split("\t").slice(0, 2) as [string, string]),
  );

test("the parts that are named run, the others are skipped, and one tar file has all of it", () => {
  const { status, stdout } = run("some", "--only", "suite,conformance", "--backend", "emulated");
  expect({ status, stdout: status === 0 ? "" : stdout }).toEqual({ status: 0, stdout: "" });
  expect(states(join(bundle, "some"))).toEqual({
    card: "passed",
    torch: "skipped",
    suite: "passed",
    conformance: "passed",
    nccl: "skipped",
    node: "skipped",
    bench: "skipped",
    memcheck: "skipped",
    racecheck: "skipped",
  });
  const unpacked = folderOf(join(bundle, "some.tar"));
  expect(readFileSync(join(unpacked, "conformance.log"), "utf8")).toBe("this is test/conformance/main.js\n");
  expect(states(unpacked)).toEqual(states(join(bundle, "some")));
  rmSync(dirname(unpacked), { recursive: true });
});

test("a part that there is not is refused, with those that there are", () => {
  const { status, stderr } = run("none", "--only", "suite,benches");
  expect(status).toBe(2);
  expect(stderr).toContain("no part is called benches: there are torch suite");
  expect(existsSync(join(bundle, "none"))).toBe(false);
});

test("a sanitizer that the machine refuses counts as skipped, one that finds errors as failed", () => {
  const tool = join(bundle, "tools", "compute-sanitizer");
  mkdirSync(dirname(tool), { recursive: true });
  const says = (text: string, code: number) => {
    writeFileSync(tool, `#!/bin/sh\necho '========= ${text}'\nexit ${String(code)}\n`);
    chmodSync(tool, 0o755);
  };
  says("Error: Device not supported", 1);
  expect(run("refused", "--only", "memcheck").status).toBe(0);
  expect(states(join(bundle, "refused"))).toMatchObject({ memcheck: "skipped" });
  says("ERROR SUMMARY: 2 errors", 9);
  expect(run("errors", "--only", "memcheck").status).toBe(1);
  expect(states(join(bundle, "errors"))).toMatchObject({ memcheck: "failed" });
});

test("what was cut off has the parts that ended", () => {
  writeFileSync(
    join(bundle, "app/test/conformance/main.js"),
    "process.kill(process.ppid, 'SIGKILL'); process.kill(Number(process.env.RUN_SH), 'SIGKILL');",
  );
  spawnSync("bash", [
    "-c",
    `export RUN_SH=$$; exec bash ${join(bundle, "run.sh")} ${join(bundle, "cut")} --only suite,conformance --backend emulated`,
  ]);
  const unpacked = folderOf(join(bundle, "cut.tar"));
  expect(states(unpacked)).toMatchObject({ card: "passed", suite: "passed" });
  rmSync(dirname(unpacked), { recursive: true });
});
