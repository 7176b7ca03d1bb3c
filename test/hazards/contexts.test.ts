// The package in two contexts of one thread, as test runners and plug-in hosts make them: each has globals of its own, and so a copy
// of the package and an instance of the addon. A case is a process of its own.
import { spawnSync } from "node:child_process";
import { backendInfo } from "../../lib";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

/** `loadIn(context)`: the package with that context's globals. */
const LOADER = `
  const vm = require("node:vm"), fs = require("node:fs"), path = require("node:path"), { createRequire } = require("node:module");
  const made = () => vm.createContext({ process, Buffer, setTimeout, clearTimeout, setImmediate, performance, TextDecoder, TextEncoder });
  function loadIn(context, file = DIST, known = new Map()) {
    if (known.has(file)) return known.get(file).exports;
    const module = { exports: {} };
    known.set(file, module);
    const outside = createRequire(file);
    const inside = (name) => (name.startsWith(".") ? loadIn(context, outside.resolve(name), known) : outside(name));
    const names = ["exports", "require", "module", "__filename", "__dirname"];
    const run = vm.compileFunction(fs.readFileSync(file, "utf8"), names, { filename: file, parsingContext: context });
    run(module.exports, Object.assign(inside, outside), module, file, path.dirname(file));
    return module.exports;
  }
  const contexts = [made(), made()];
  const copies = contexts.map((context) => loadIn(context));
  const floats = (context, ...values) => vm.runInContext("Float32Array.of(" + values + ")", context);
  const gae = (s, context, backend) =>
    s.gae(floats(context, 1, 2), floats(context, 0, 0), { shape: [1, 2], gamma: 1, lambda: 1, backend });
  const print = (value) => console.log(JSON.stringify(value));`;

function run(program: string): unknown {
  const text = `const DIST = ${JSON.stringify(distFile("index.js"))};${LOADER}(async () => {${program}})();`;
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, ["--expose-gc", "-e", text], {
    encoding: "utf8",
    timeout: HANG_MS,
  });
  expect({ stderr, status, signal }).toEqual({ stderr: "", status: 0, signal: null });
  return JSON.parse(stdout);
}

const names = backendInfo()
  .backends.filter(({ name, available }) => available && name !== "cuda")
  .map(({ name }) => name);

test.each(names)("on %s both compute, with arrays of their own and of each other", (backend) => {
  const program = `
    const [[a, b], [A, B]] = [copies, contexts];
    const all = [gae(a, A), gae(b, B), gae(a, B), gae(b, A)].map(({ advantages }) => [...advantages]);
    const makers = [gae(a, A), gae(b, A)].map(({ advantages }, i) => advantages instanceof vm.runInContext("Float32Array", contexts[i]));
    print({ all, makers });`;
  expect(run(program.replaceAll(/gae\((\w), (\w)\)/g, `gae($1, $2, "${backend}")`))).toEqual({
    all: Array(4).fill([3, 2]),
    makers: [true, true],
  });
});

test("what one refuses is an error of its own, by code, and the other goes on", () => {
  const program = `
    const [[a, b], [A, B]] = [copies, contexts];
    let error;
    try { a.gae(floats(A, 1, 2), floats(A, 0), { shape: [1, 2], gamma: 1, lambda: 1 }); } catch (caught) { error = caught; }
    print([error.code, error instanceof a.SurprisalError, error instanceof b.SurprisalError, [...gae(b, B).advantages]]);`;
  expect(run(program)).toEqual(["ERR_SURPRISAL_SHAPE", true, true, [3, 2]]);
});

test("settings are each context's own", () => {
  const program = `
    copies[0].configure({ backend: "js" });
    print(copies.map((s) => s.backendInfo().requested));`;
  expect(run(program)).toEqual(["js", "auto"]);
});

test.each(names.filter((name) => name !== "js"))(
  "on %s calls under way outlive the context that made them",
  (backend) => {
    const program = `
    const many = (s) => {
      const logits = new Float32Array(64 * 4000), targets = new Int32Array(64);
      return Promise.all([0, 1, 2, 3].map(() => s.logprobAsync(logits, targets, { shape: [64, 4000], backend: "${backend}" })));
    };
    const under = copies.map(many);
    copies.length = contexts.length = 0;
    for (let i = 0; i < 5; ++i) { gc(); await new Promise(setImmediate); }
    const done = await Promise.all(under);
    print(done.map((four) => four.map(({ logProbs }) => logProbs[63].toFixed(4))));`;
    expect(run(program)).toEqual(Array(2).fill(Array(4).fill((-Math.log(4000)).toFixed(4))));
  },
);
