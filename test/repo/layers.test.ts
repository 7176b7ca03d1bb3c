import { spawnSync } from "node:child_process";
import { familiesOf, missingLayers, namedSources } from "./rules/layers";
import { read, repositoryFiles, root } from "./rules/files";

const files = repositoryFiles();
const headerPaths = files.filter((path) => /^native\/include\/surprisal\/[a-z0-9_]+\.h$/.test(path));
const headers = new Map(headerPaths.map((path) => [path, read(path)]));
const families = familiesOf(headers);

test("the families are those of the first release", () => {
  expect(families).toEqual(expect.arrayContaining(["delim", "group", "logprob", "modulate", "ratio", "scan"]));
});

test.each(families)("%s has all its layers", (family) => {
  expect(missingLayers(family, files)).toEqual([]);
});

test("the addon is every source of native/binding and native/cpu", () => {
  const existing = files.filter((path) => /^native\/(binding|cpu)\/.*\.(cc|cpp)$/.test(path));
  const { stdout } = spawnSync(process.execPath, ["scripts/build/addon-sources.mjs"], { cwd: root, encoding: "utf8" });
  expect(stdout.trim().split("\n").sort()).toEqual(existing.sort());
});

test.each(["binding.gyp", "CMakeLists.txt", "native/binding/addon.cmake"])("%s keeps no list of sources", (path) => {
  expect(namedSources(read(path))).toEqual([]);
});

describe("the rule itself", () => {
  const header = `typedef struct {
  uint32_t size;
} srp_scan_gae_args;
typedef struct { int x; } srp_scan_returns_args;
`;

  test("tells a family from a shared header", () => {
    const sample = new Map([
      ["native/include/surprisal/scan.h", header],
      ["native/include/surprisal/backend.h", "srp_status (*scan_gae)(srp_queue*, const srp_scan_gae_args*);"],
    ]);
    expect(familiesOf(sample)).toEqual(["scan"]);
  });

  test("names each missing layer", () => {
    const present = ["native/include/surprisal/scan.h", "native/cpu/scan.cpp", "lib/ops/scan/gae.ts"];
    expect(missingLayers("scan", present)).toEqual([
      "scan: no native/shared/scan.h",
      "scan: no native/cuda/scan.cu",
      "scan: no lib/backend/js/scan.ts or lib/backend/js/scan/",
      "scan: no test/oracle/scan.ts",
      "scan: no test/ops/scan.test.ts or test/ops/scan/",
      "scan: no test/native/kernels/scan.cpp",
      "scan: no bench/accuracy/cases/scan.ts",
      "scan: no bench/gpu/python/torch_ops/scan.py",
      "scan: no docs/ops/scan.md",
    ]);
  });

  test("finds sources that a build file names", () => {
    expect(namedSources('"sources": ["native/cpu/scan.cpp"] # native/cuda/*.cu')).toEqual(["native/cpu/scan.cpp"]);
  });
});
