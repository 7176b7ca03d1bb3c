// What the bundle takes along of node_modules.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import * as path from "node:path";

const root = path.join(__dirname, "..", "..");

// The scripts are ES modules, which jest does not load: another process asks them.
function ask(expression: string): unknown {
  const script = `import { closure, packagesIn } from "./scripts/gpu/modules.mjs"; console.log(JSON.stringify(${expression}));`;
  return JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: root, encoding: "utf8" }),
  );
}

test("packages are found in code, files and Node's own modules are not among them", () => {
  const code = `const a = require("fast-check"), b = require("node:fs"), c = require("fs"), d = require("./x"), e = import('@jax-js/jax/sub'); require("@a/b/c")`;
  expect(ask(`[...packagesIn(${JSON.stringify(code)})]`)).toEqual(["fast-check", "@jax-js/jax", "@a/b"]);
});

test("a package comes with everything below it, from where Node would take it", () => {
  const folders = ask(`closure(["jest"])`) as string[];
  const names = folders.map((folder) => path.relative(path.join(root, "node_modules"), folder));
  expect(names).toEqual(expect.arrayContaining(["jest", "jest-cli", "jest-circus", "@jest/core", "expect"]));
  expect(new Set(names).size).toBe(names.length);
  expect(folders.every((folder) => existsSync(path.join(folder, "package.json")))).toBe(true);
  expect(names).not.toContain("typescript");
});

test("a package that is not installed is named with what to do", () => {
  expect(() => ask(`closure(["no-such-package"])`)).toThrow(/no-such-package is not installed: run npm ci/);
});
