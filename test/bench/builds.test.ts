// Builds that the bench loads beside one another: each has an addon of its own, at the instruction set that was asked for.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { distFile } from "../support/dist";

const ROOT = join(__dirname, "..", "..");

const PROGRAM = `
const { loadBuild } = require("./bench/harness/build.ts");
const best = loadBuild("best", process.cwd(), { level: process.argv[1] });
const least = loadBuild("least", process.cwd(), { level: "portable" });
const levelOf = ({ lib }) => lib.backendInfo().backends.find(({ name }) => name === "cpu").device;
console.log(JSON.stringify([best.level, least.level, levelOf(best) === levelOf(least)]));
`;

if (!existsSync(join(ROOT, "build", "Release", "surprisal.node")))
  test.skip("no addon: build/Release/surprisal.node is not built here", () => undefined);
else
  test("two builds in one process run two instruction sets", () => {
    distFile();
    const { SURPRISAL_CPU: _cpu, SURPRISAL_NATIVE_PATH: _path, ...env } = process.env;
    const levels = spawnSync(process.execPath, [join(ROOT, "scripts", "cpu-levels.mjs")], { encoding: "utf8", env });
    const [best, ...others] = levels.stdout.trim().split("\n");
    expect(others).toContain("portable");
    const args = [join(ROOT, "node_modules", "tsx", "dist", "cli.mjs"), "-e", PROGRAM, best!];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", env });
    expect({ stdout, stderr }).toEqual({ stdout: `${JSON.stringify([best, "portable", false])}\n`, stderr: "" });
  });
