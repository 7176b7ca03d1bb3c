import * as path from "node:path";
import * as main from "../../lib";
import * as experience from "../../lib/experience";
import * as report from "../../lib/report";
import * as reward from "../../lib/reward";
import { anchorsOf, citationsOf, isFunctionPage, linksOf, missingParts, unnamed } from "./rules/pages";
import { read, repositoryFiles } from "./rules/files";

const library = { ...main, ...reward };
const files = repositoryFiles();
const pages = files.filter((file) => file.endsWith(".md"));
const functionPages = pages.filter(isFunctionPage);
const functions = Object.entries(library).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));

test("pages about functions have their parts: sections, units, a formula, an example", () => {
  expect(functionPages.length).toBeGreaterThan(50);
  expect(functionPages.flatMap((page) => missingParts(page, read(page)))).toEqual([]);
});

test("every public function is named on a page of its own kind", () => {
  expect(functions.length).toBeGreaterThan(100);
  const elsewhere = ["docs/backends.md", "docs/device.md", "docs/memory.md"];
  expect(
    unnamed(
      functions,
      [...functionPages, ...elsewhere].map((page) => read(page)),
    ),
  ).toEqual([]);
});

test("every function of surprisal/experience is named on its pages", () => {
  const own = Object.entries(experience).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));
  expect(own.length).toBeGreaterThan(20);
  expect(
    unnamed(
      own,
      pages.filter((page) => page.startsWith("docs/experience/")).map((page) => read(page)),
    ),
  ).toEqual([]);
});

test("links lead to files and headings that exist", () => {
  const broken = pages.flatMap((page) =>
    linksOf(read(page)).flatMap(({ file, anchor }) => {
      const target = file === "" ? page : path.posix.join(path.posix.dirname(page), file);
      const exists = files.some((known) => known === target || known.startsWith(`${target.replace(/\/$/, "")}/`));
      if (!exists) return [`${page}: ${file}`];
      return anchor === "" || !target.endsWith(".md") || anchorsOf(read(target)).has(anchor)
        ? []
        : [`${page}: ${file}#${anchor}`];
    }),
  );
  expect(broken).toEqual([]);
});

test("docs/architecture.md names files that exist, but for those of a family or format x", () => {
  const named = Array.from(
    read("docs/architecture.md").matchAll(/`((?:lib|native|test|bench|scripts|docs)\/[^`<]*)`/g),
    ([, path]) => path!,
  ).filter((path) => !/\/x[-.][^/]*$/.test(path));
  expect(named.length).toBeGreaterThan(30);
  expect(
    named.filter((path) => !files.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, "")}/`))),
  ).toEqual([]);
});

describe("docs/papers.md", () => {
  const papers = read("docs/papers.md");

  test("names functions that exist", () => {
    const named = Array.from(papers.matchAll(/`([a-z][A-Za-z0-9]*)`/g), ([, name]) => name!);
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((name) => !(name in library || name in report))).toEqual([]);
  });

  test("lists every paper that a page or a docstring cites", () => {
    const listed = new Set(citationsOf(papers));
    const sources = [...functionPages, ...files.filter((file) => /^lib\/.*\.ts$/.test(file))];
    const missing = sources.flatMap((file) =>
      citationsOf(read(file))
        .filter((citation) => !listed.has(citation))
        .map((citation) => `${file}: ${citation}`),
    );
    expect(missing).toEqual([]);
  });
});

describe("the rule itself", () => {
  test("names what a page lacks", () => {
    const page =
      "# f\n\n    y = x\n\n## Shapes and options\n\nUnits: none.\n\n## Edges\n\n## Precision\n\n## Example\n\n```js\n```\n";
    expect(missingParts("docs/ops/f.md", page)).toEqual([
      'docs/ops/f.md: no section "Where systems differ"',
      'docs/ops/f.md: no section "Sources"',
    ]);
    expect(missingParts("p", "```js\n    const x = 1;\n```\n").slice(-3)).toEqual([
      'p: no line "Units: …"',
      'p: no program in section "Example"',
      "p: no formula, indented by four spaces",
    ]);
  });

  test("finds functions by whole names", () => {
    expect(unnamed(["gae", "whiten"], ["`gaeAdvantage(x)` and whiten"])).toEqual(["gae"]);
  });

  test("reads links and anchors", () => {
    expect(linksOf("[a](b.md#edges) [c](#d) [web](https://x.org) [e](../f)")).toEqual([
      { file: "b.md", anchor: "edges" },
      { file: "", anchor: "d" },
      { file: "../f", anchor: "" },
    ]);
    expect([...anchorsOf("# A b: c\n\n## x, y")]).toEqual(["a-b-c", "x-y"]);
  });

  test("reads citations, also across lines", () => {
    expect(
      citationsOf(
        "Shao et al. 2024, *X*; Ahmadian et\n * al. 2024, Williams and Peng 1991: y (Chan, Golub and LeVeque 1979)",
      ),
    ).toEqual(["Shao 2024", "Ahmadian 2024", "Williams 1991", "Chan 1979"]);
  });
});
