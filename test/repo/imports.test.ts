import { brokenImports, brokenIncludes, importsOf } from "./rules/imports";
import { circlesOf, importGraph, includeGraph } from "./rules/circles";
import { read, repositoryFiles } from "./rules/files";

const files = repositoryFiles();
const manifest = JSON.parse(read("package.json")) as {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

test("imports in lib/ point one way", () => {
  const dependencies = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const sources = files.filter((path) => path.startsWith("lib/") && path.endsWith(".ts"));
  expect(sources.length).toBeGreaterThan(0);
  expect(sources.flatMap((path) => brokenImports(path, read(path), dependencies))).toEqual([]);
});

test("files of lib/ do not import each other in a circle, types included", () => {
  const paths = files.filter((path) => path.startsWith("lib/") && path.endsWith(".ts"));
  expect(circlesOf(importGraph(new Map(paths.map((path) => [path, read(path)]))))).toEqual([]);
});

test("includes in native/ point one way, never round in a circle, and only binding knows Node", () => {
  const sources = files.filter((path) => /^native\/.*\.(h|inc|cpp|cc|cu|cuh)$/.test(path));
  expect(sources.length).toBeGreaterThan(0);
  expect(sources.flatMap((path) => brokenIncludes(path, read(path), sources))).toEqual([]);
  expect(circlesOf(includeGraph(new Map(sources.map((path) => [path, read(path)]))))).toEqual([]);
});

describe("the rule itself", () => {
  test("finds every form of import", () => {
    const source = `import a from "./a"; import type { B } from './b'; export * from "./c";
export type { G } from "./g"; import { h,
  type I } from "./h"; import "./d"; require("./e"); await import("./f")`;
    expect(importsOf(source)).toEqual([
      { name: "./a", typeOnly: false },
      { name: "./b", typeOnly: true },
      { name: "./c", typeOnly: false },
      { name: "./g", typeOnly: true },
      { name: "./h", typeOnly: false },
      { name: "./d", typeOnly: false },
      { name: "./e", typeOnly: false },
      { name: "./f", typeOnly: false },
    ]);
  });

  test("finds circles, of types and through an index, and of files that import themselves", () => {
    const sources = new Map([
      ["lib/a.ts", 'import { b } from "./b";'],
      ["lib/b/index.ts", 'export * from "./c";'],
      ["lib/b/c.ts", 'import type { A } from "../a";'],
      ["lib/d.ts", 'import { a } from "./a";'],
      ["lib/e.ts", 'import { e } from "./e";'],
    ]);
    expect(circlesOf(importGraph(sources))).toEqual([["lib/a.ts", "lib/b/c.ts", "lib/b/index.ts"], ["lib/e.ts"]]);
  });

  test.each([
    ["lib/core/shape.ts", "../ops/scan"],
    ["lib/backend/select.ts", "../ops"],
    ["lib/backend/js/scan.ts", "../../advantage/gae"],
    ["lib/ops/scan.ts", "../loss/policy"],
    ["lib/ops/logprob/forward.ts", "../../presets/egpo"],
    ["lib/advantage/gae.ts", "../backend/select"],
    ["lib/advantage/gae.ts", "../loss/policy"],
    ["lib/index.ts", "./cli/main"],
    ["lib/index.ts", "./report"],
    ["lib/ops/scan.ts", "../index"],
    ["lib/ops/scan.ts", "../../test/oracle/scan"],
    ["lib/ops/scan.ts", "typescript"],
    ["lib/shortcuts/scan.ts", "../core/shape"],
  ])("refuses %s importing %s", (path, name) => {
    expect(brokenImports(path, `import { x } from "${name}";`, ["node-gyp-build"])).toHaveLength(1);
  });

  test.each([
    ["lib/ops/scan.ts", "../core/shape"],
    ["lib/ops/scan.ts", "../backend"],
    ["lib/ops/logprob/forward.ts", "./backward"],
    ["lib/backend/native.ts", "node-gyp-build"],
    ["lib/cli/main.ts", "../backend/info"],
    ["lib/core/async.ts", "node:worker_threads"],
  ])("allows %s importing %s", (path, name) => {
    expect(brokenImports(path, `import { x } from "${name}";`, ["node-gyp-build"])).toEqual([]);
  });

  test("lets an estimator name the type of the backend option, and nothing that runs", () => {
    const path = "lib/advantage/gae.ts";
    expect(brokenImports(path, 'import type { BackendOption } from "../backend/select";', [])).toEqual([]);
    expect(brokenImports(path, 'import { type BackendOption, pick } from "../backend/select";', [])).toHaveLength(1);
    expect(brokenImports("lib/core/row-layout.ts", 'import type { A } from "../ops/scan";', [])).toHaveLength(1);
  });

  test.each([
    ["native/cpu/scan.cpp", "../cuda/common.cuh"],
    ["native/cuda/scan.cu", "../cpu/pool.h"],
    ["native/cuda/scan.cu", "node_api.h"],
    ["native/cpu/scan.cpp", "napi.h"],
    ["native/cpu/scan.cpp", "cuda_runtime.h"],
    ["native/binding/scan.cc", "../cpu/pool.h"],
    ["native/include/surprisal/scan.h", "../../cpu/pool.h"],
    ["native/include/surprisal/scan.h", "shared/scan.h"],
    ["native/binding/scan.cc", "shared/scan.h"],
    ["native/shared/scan.h", "cpu/pool.h"],
    ["native/cpu/scan.cpp", "../cpu/gone.h"],
  ])("refuses %s including %s", (path, name) => {
    const known = ["cpu/pool.h", "cuda/common.cuh", "include/surprisal/scan.h", "shared/scan.h"];
    const files = known.map((file) => `native/${file}`);
    expect(brokenIncludes(path, `#include "${name}"\n`, files)).toHaveLength(1);
  });

  test("finds a circle of includes, and none where two ways lead to one file", () => {
    const graphOf = (texts: Readonly<Record<string, string>>) => includeGraph(new Map(Object.entries(texts)));
    const way = { "native/cpu/a.h": '#include "b.h"\n#include "c.h"\n', "native/cpu/b.h": '#include "c.h"\n' };
    expect(circlesOf(graphOf({ ...way, "native/cpu/c.h": "" }))).toEqual([]);
    expect(circlesOf(graphOf({ ...way, "native/cpu/c.h": '#include "cpu/b.h"\n' }))).toEqual([
      ["native/cpu/b.h", "native/cpu/c.h"],
    ]);
  });
});
