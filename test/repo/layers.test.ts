import { familiesOf, missingFromTable, missingLayers, opsOf, unlisted } from "./rules/layers";
import { read, repositoryFiles } from "./rules/files";

const ADDON_SOURCE = /native\/(?:binding|cpu)\/[a-z0-9_]+\.(?:cc|cpp)/g;
const CUDA_SOURCE = /native\/cuda\/[a-z0-9_]+\.cu\b/g;

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

test.each(families)("every op of %s is in the backend table", (family) => {
  const header = headers.get(`native/include/surprisal/${family}.h`)!;
  expect(missingFromTable(header, read("native/include/surprisal/backend.h"))).toEqual([]);
});

test("binding.gyp lists the sources of the addon, all of them and no others", () => {
  const existing = files.filter((path) => /^native\/(binding|cpu)\/[^/]+\.(cc|cpp)$/.test(path));
  expect(unlisted(existing, read("binding.gyp"), ADDON_SOURCE)).toEqual([]);
});

test("CMakeLists.txt lists the CUDA sources, all of them and no others", () => {
  const existing = files.filter((path) => /^native\/cuda\/[^/]+\.cu$/.test(path));
  expect(unlisted(existing, read("CMakeLists.txt"), CUDA_SOURCE)).toEqual([]);
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
    expect(opsOf(header)).toEqual(["scan_gae", "scan_returns"]);
  });

  test("names each missing layer", () => {
    const present = ["native/include/surprisal/scan.h", "native/cpu/scan.cpp", "lib/ops/scan/gae.ts"];
    expect(missingLayers("scan", present)).toEqual([
      "scan: no native/cuda/scan.cu",
      "scan: no native/binding/scan.cc",
      "scan: no lib/backend/js/scan.ts or lib/backend/js/scan/",
      "scan: no test/ops/scan.test.ts or test/ops/scan/",
      "scan: no docs/ops/scan.md",
    ]);
  });

  test("names each op that the table lacks", () => {
    const table = "srp_status (*scan_gae)(srp_queue*, const srp_scan_gae_args*);";
    expect(missingFromTable(header, table)).toEqual(["scan_returns"]);
  });

  test("names sources that nobody builds and lists that name nothing", () => {
    const gyp = '"sources": ["native/cpu/scan.cpp", "native/cpu/gone.cpp"] # native/cpu/new.cpp';
    expect(unlisted(["native/cpu/scan.cpp", "native/cpu/new.cpp"], gyp, ADDON_SOURCE)).toEqual([
      "native/cpu/new.cpp: not listed",
      "native/cpu/gone.cpp: listed, does not exist",
    ]);
  });
});
