// Every JavaScript example in README and docs is a program: it runs, and each console.log prints what its comment says.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { distFile } from "../support/dist";

const root = path.join(__dirname, "..", "..");

interface Example {
  readonly title: string;
  readonly program: string;
  /** The comments behind console.log(...), in order. */
  readonly prints: readonly string[];
}

function markdownFiles(): string[] {
  const docs = readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" });
  return ["README.md", ...docs.filter((file) => file.endsWith(".md")).map((file) => path.join("docs", file))].sort();
}

function examples(file: string): Example[] {
  const text = readFileSync(path.join(root, file), "utf8");
  return [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)]
    .map(([, program]) => program!)
    .filter((program) => /require\("surprisal(?:\/[a-z]+)?"\)/.test(program))
    .map((program, i) => ({
      title: `${file}, example ${i + 1}`,
      program,
      prints: [...program.matchAll(/console\.log\(.*\);\s*\/\/ (.*)$/gm)].map(([, comment]) => comment!.trim()),
    }));
}

const all = markdownFiles().flatMap(examples);

beforeAll(() => void distFile("index.js"));

test("README and every page of an op have an example", () => {
  const pages = markdownFiles().filter((file) => file === "README.md" || file.startsWith(path.join("docs", "ops")));
  const withExample = new Set(all.map(({ title }) => title.split(",")[0]));
  expect(pages.filter((page) => !withExample.has(page))).toEqual([]);
});

test.each(all.map((example) => [example.title, example] as const))("%s prints what it says", (_, { program, prints }) => {
  expect(prints.length).toBeGreaterThan(0);
  // In the package's own folder its name resolves to itself.
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", program], { cwd: root, encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  expect(stdout.trimEnd().split("\n")).toEqual(prints);
});
