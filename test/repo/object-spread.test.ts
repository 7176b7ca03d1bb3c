// What the build makes of object spread is the same object: its properties, their order and their values.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { runInNewContext } from "node:vm";

const folder = join(__dirname, "..", "..", "scripts", "build");

const LITERALS = [
  "{ ...a, ...b }",
  "{ ...a, x: 1 }",
  "{ x: 1, ...a }",
  "{ p: 0, ...a, q: 1, ...b, r: 2 }",
  "{ ...none, ...(a && { z: 3 }), ...(none && { no: 1 }), w: { ...b, ...a } }",
  "{ ...a, later: 7, ['com' + 'puted']: 8, method() { return 9; } }",
  "{ ...[5, 6], ...'ab' }",
];

function lower(text: string): string {
  const program = `
    import ts from "typescript";
    import { objectSpreadAsAssign } from "./object-spread.mjs";
    const { outputText } = ts.transpileModule(${JSON.stringify(text)}, {
      compilerOptions: { target: ts.ScriptTarget.ES2022 },
      transformers: { before: [objectSpreadAsAssign] },
    });
    process.stdout.write(outputText);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { cwd: folder, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

function evaluate(text: string): unknown {
  return runInNewContext(text, { a: { x: "a", y: 2, later: 1 }, b: { y: "b", x: 4 }, none: undefined });
}

test("an object literal with a spread and more becomes Object.assign, with the same properties in the same order", () => {
  const list = `[${LITERALS.map((literal) => `(${literal})`).join(", ")}];`;
  const lowered = lower(list);
  expect(lowered.match(/Object\.assign\(/g)).toHaveLength(LITERALS.length + 1);
  expect(lowered).not.toContain("...");
  const [got, wanted] = [evaluate(lowered), evaluate(list)].map((value) => (value as object[]).map((object) => Object.entries(object)));
  expect(String(got!.at(-2)!.at(-1)![1])).toContain("method");
  expect(JSON.stringify(got)).toBe(JSON.stringify(wanted));
});

test("a copy alone, a literal with an accessor and the spread of a list stay as they are", () => {
  const text = '"use strict";\nconst copy = { ...a };\nconst lazy = { ...a, get later() { return 7; } };\nconst list = [...copy, ...b];\n';
  expect(lower(text)).toBe(text);
});
