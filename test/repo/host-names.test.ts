import { outsideNames } from "./rules/hosts";
import { read, repositoryFiles } from "./rules/files";

const BINARY = /\.(png|jpg|gif|ico|npz|npy|safetensors|parquet|node|so|gz|tgz)$/;

test("no file names a registry, a machine's folders or anything else outside the repository", () => {
  const texts = repositoryFiles().filter((path) => !BINARY.test(path));
  expect(texts).toContain("package-lock.json");
  expect(texts.flatMap((path) => outsideNames(path, read(path)))).toEqual([]);
});

describe("the rule itself", () => {
  test.each([
    ["README.md", "npm config set registry https://registry.example.org"],
    [".npmrc", "registry=https://mirror.example.net/"],
    ["docs/install.md", "from https://mirror.example.net/api/npm/all/"],
    ["docs/install.md", "http://10.1.2.3/packages"],
    ["scripts/a.mjs", 'import("/root/x.mjs")'],
    ["docs/a.md", "see /home/someone/notes.md"],
    ["docs/a.md", "in `/root/checkout/native`"],
    ["lib/ops/scan.ts", "// see ../shared/spec/trainers.md"],
    ["lib/ops/scan.ts", "// asked for in issue 17"],
    ["package-lock.json", '"resolved": "https://example.org/a.tgz"'],
  ])("refuses in %s: %s", (path, text) => {
    expect(outsideNames(path, text)).not.toEqual([]);
  });

  test.each([
    ["README.md", "npm install surprisal; see https://example.org/paper.pdf"],
    ["scripts/a.mjs", "const cuda = '/usr/local/cuda'; mkdtemp('/tmp/x')"],
    ["lib/core/a.ts", "// memory shared by workers; an issue of rounding; home/work balance"],
    ["package-lock.json", '"integrity": "sha512-abc"'],
  ])("allows in %s: %s", (path, text) => {
    expect(outsideNames(path, text)).toEqual([]);
  });
});
