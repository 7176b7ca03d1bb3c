// The files of the package require each other when they are needed: scripts/build/lazy.mjs, on small files.
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { compileFunction } from "node:vm";

const PROGRAM = `
import { parseAst } from "rollup/parseAst";
import { lazyRequires } from "./scripts/build/lazy.mjs";
const { code, name, programs } = JSON.parse(process.argv[1]);
const made = lazyRequires(programs).renderChunk.call({ parse: parseAst }, code, { name });
process.stdout.write(JSON.stringify(made?.code ?? null));`;

function lazily(code: string, programs: readonly string[] = []): string | null {
  const given = JSON.stringify({ code, name: "file", programs });
  const options = { cwd: resolve(__dirname, "../.."), encoding: "utf8" } as const;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", PROGRAM, given], options)) as
    | string
    | null;
}

interface Ran {
  readonly exports: Readonly<Record<string, unknown>>;
  /** What was required until now. */
  readonly loaded: string[];
}

/** Runs a file that requires x, which has these members. */
function run(code: string, members: object): Ran {
  const [exports, loaded] = [{}, [] as string[]];
  const require = (name: string): object => {
    loaded.push(name);
    return members;
  };
  const file = compileFunction(code, ["exports", "require", "module"]) as (...args: readonly unknown[]) => void;
  file(exports, require, {});
  return { exports, loaded };
}

const X = `const x = require("./x.js");`;

test("what is used in functions alone is required by the first of them that runs, once", () => {
  const { exports, loaded } = run(lazily(`${X} exports.f = () => x.a + x.a;`)!, { a: 2 });
  expect(loaded).toEqual([]);
  const f = exports["f"] as () => number;
  expect([f(), f()]).toEqual([4, 4]);
  expect(loaded).toEqual(["./x.js"]);
});

test("what is used at once is required at once", () => {
  const code = `${X} const a = x.a; exports.f = () => x.a;`;
  expect(lazily(code)).toBe(code);
});

test("new makes what the file has, and not the file", () => {
  class Made {
    readonly of = 1;
  }
  const { exports } = run(lazily(`${X} exports.f = () => [new x.Made(), new x.inner.Made(), new (x.choose())()];`)!, {
    Made,
    inner: { Made },
    choose: () => Made,
  });
  const made = (exports["f"] as () => object[])();
  expect(made.map((each) => each instanceof Made)).toEqual([true, true, true]);
});

test("a property of the same name is none of it; the short form of one has its value", () => {
  const { exports } = run(lazily(`${X} exports.f = (y) => ({ x, y: y.x, z: { x: 3 } });`)!, { a: 1 });
  const f = exports["f"] as (y: object) => object;
  expect(f({ x: 5 })).toEqual({ x: { a: 1 }, y: 5, z: { x: 3 } });
});

test.each([
  "(x) => x.a",
  "({ x }) => x.a",
  "([x = 1]) => x",
  "(...x) => x",
  "() => { const x = { a: 7 }; return x.a; }",
  "() => { try { throw { a: 7 }; } catch (x) { return x.a; } }",
  "function x() { return 1; }",
])("where another variable has the name, nothing changes: %s", (text) => {
  const code = `${X} exports.f = ${text}; exports.g = () => x.a;`;
  expect(lazily(code)).toBe(code);
});

test("what is handed on is a getter, whose name an import finds", () => {
  const text = lazily(`${X}\nexports.f = x.f;\nexports.A = x.A;\n`)!;
  const { exports, loaded } = run(text, { f: 1, A: 2 });
  expect([Object.keys(exports), loaded]).toEqual([["f", "A"], []]);
  expect([exports["A"], exports["f"]]).toEqual([2, 1]);
  expect(text).toMatch(/0 && \(module\.exports = \{ f, A \}\);\n$/);
});

test("a program requires all it needs before it begins", () => {
  expect(lazily(`${X} exports.f = () => x.a;`, ["file"])).toBeNull();
});
