// Every JavaScript example in README and docs is a program: it runs, and each console.log prints what its comment says.
import { spawnSync } from "node:child_process";
import { Console } from "node:console";
import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { Writable } from "node:stream";
import { runInThisContext } from "node:vm";
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

/** In a process of its own. */
function outputOfProcess(program: string): string {
  // In the package's own folder its name resolves to itself.
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", program], { cwd: root, encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout;
}

/** In this process, in Node's own realm and with Node's own modules, where all of them find the package loaded. */
function outputHere(program: string, title: string): string {
  const { createRequire } = process.getBuiltinModule("node:module");
  let output = "";
  const stream = new Writable({
    write(text: Buffer, _, done) {
      output += text.toString();
      done();
    },
  });
  const run = runInThisContext(`(function (require, console) {${program}\n})`, { filename: title }) as (
    require: NodeJS.Require,
    console: Console,
  ) => void;
  run(createRequire(path.join(root, "package.json")), new Console(stream));
  return output;
}

/** What begins or waits for something ends with its process; and a reader tries the README's first. */
const needsProcess = ({ title, program }: Example): boolean =>
  title.startsWith("README") || /\bawait\b|\.then\(|\bprocess\.|\bWorker\b/.test(program);

test.each(all.map((example) => [example.title, example] as const))("%s prints what it says", (title, example) => {
  const { program, prints } = example;
  expect(prints.length).toBeGreaterThan(0);
  const output = needsProcess(example) ? outputOfProcess(program) : outputHere(program, title);
  expect(output.trimEnd().split("\n")).toEqual(prints);
});
