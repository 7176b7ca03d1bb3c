import { brokenImports, brokenIncludes, importsOf } from "./rules/imports";
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

test("cpu, cuda and binding never include each other, and only binding knows Node", () => {
  const sources = files.filter((path) => /^native\/.*\.(h|inc|cpp|cc|cu|cuh)$/.test(path));
  expect(sources.length).toBeGreaterThan(0);
  expect(sources.flatMap((path) => brokenIncludes(path, read(path), sources))).toEqual([]);
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
    expect(brokenImports("lib/core/rows.ts", 'import type { A } from "../ops/scan";', [])).toHaveLength(1);
  });

  test.each([
    ["native/cpu/scan.cpp", "../cuda/common.cuh"],
    ["native/cuda/scan.cu", "../cpu/pool.h"],
    ["native/cuda/scan.cu", "node_api.h"],
    ["native/cpu/scan.cpp", "napi.h"],
    ["native/cpu/scan.cpp", "cuda_runtime.h"],
    ["native/binding/scan.cc", "../cpu/pool.h"],
    ["native/include/surprisal/scan.h", "../../cpu/pool.h"],
    ["native/cpu/scan.cpp", "../cpu/gone.h"],
  ])("refuses %s including %s", (path, name) => {
    const known = ["native/cpu/pool.h", "native/cuda/common.cuh", "native/include/surprisal/scan.h"];
    expect(brokenIncludes(path, `#include "${name}"\n`, known)).toHaveLength(1);
  });
});
