import { execFileSync, execSync, spawnSync } from "node:child_process";
import { limited } from "./time-limit.cjs";

const started = limited((...args) => args, 5);

test("a program that is waited for by a call that blocks has a time limit, its own or this one", () => {
  expect(started("a")).toEqual(["a", { timeout: 5 }]);
  expect(started("a", ["b"])).toEqual(["a", ["b"], { timeout: 5 }]);
  expect(started("a", { cwd: "/" })).toEqual(["a", { cwd: "/", timeout: 5 }]);
  expect(started("a", ["b"], { timeout: undefined })).toEqual(["a", ["b"], { timeout: 5 }]);
  expect(started("a", ["b"], { timeout: 7, input: "c" })).toEqual(["a", ["b"], { timeout: 7, input: "c" }]);
});

test("every suite's programs have it, and run as before", () => {
  for (const start of [execFileSync, execSync, spawnSync]) expect(start.toString()).toBe(started.toString());
  expect(execFileSync("echo", ["a"]).toString()).toBe("a\n");
  expect(execSync("echo b", { encoding: "utf8" })).toBe("b\n");
  expect(spawnSync("cat", [], { input: "c" }).stdout.toString()).toBe("c");
  expect(() => execFileSync("sleep", ["600"], { timeout: 1 })).toThrow(/ETIMEDOUT/);
});
