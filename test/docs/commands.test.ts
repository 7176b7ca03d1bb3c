// Every console example in README and docs is a session: its commands run, in order, and print what the page shows. "…" stands for
// any text in a line, a line "…" for any lines.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { COMMANDS } from "../../lib/cli/commands";
import { surprisal } from "../cli/in-process";

const root = path.join(__dirname, "..", "..");

interface Step {
  readonly command: string;
  readonly shown: readonly string[];
}

/** `$ command` and the lines up to the next one. */
function stepsOf(block: string): Step[] {
  const steps: { command: string; shown: string[] }[] = [];
  for (const line of block.trimEnd().split("\n")) {
    if (line.startsWith("$ ")) steps.push({ command: line.slice(2), shown: [] });
    else steps.at(-1)?.shown.push(line);
  }
  return steps;
}

const sessionOf = (page: string): Step[] =>
  [...readFileSync(path.join(root, page), "utf8").matchAll(/^```console\n([\s\S]*?)^```/gm)].flatMap(([, block]) => stepsOf(block!));

/** Words of a command line, with quotes as a shell has them and nothing else. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:'([^']*)'|"([^"]*)"|([^\s'"]+))/g)].map(([, single, double, plain]) => single ?? double ?? plain!);
}

function patternOf(lines: readonly string[]): RegExp {
  const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const body = lines.map((line) => (line.trim() === "…" ? "(?:.*\\n)*?" : `${line.trimEnd().split("…").map(escaped).join(".*")}\\s*\\n`)).join("");
  return new RegExp(`^\\s*${body}\\s*$`);
}

const pages = ["README.md", ...readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md")).map((file) => path.join("docs", file))];
const sessions = pages.map((page) => [page, sessionOf(page)] as const).filter(([, steps]) => steps.length > 0);

const home = process.cwd();
let shared: string;
beforeAll(async () => {
  shared = mkdtempSync(path.join(tmpdir(), "surprisal-session-"));
  // What the pages start from: the rollouts of the demo, and two completions with their answer.
  process.chdir(shared);
  const { code, stderr } = await surprisal(["demo", "--out", "demo"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const answers = ["\\boxed{\\frac{1}{2}}", "\\boxed{2}"].map((answer) => ({ group: "3/6", text: `3/6 is ${answer}`, meta: { answer: "0.5" } }));
  writeFileSync("answers.jsonl", answers.map((line) => `${JSON.stringify(line)}\n`).join(""));
  process.chdir(home);
});
afterAll(() => {
  process.chdir(home);
  rmSync(shared, { recursive: true, force: true });
});

test("every command has a page with an example, but for those that measure or compile", () => {
  const withExample = sessions.map(([page]) => page);
  const without = COMMANDS.filter(({ name }) => !["bench", "build", "demo", "doctor"].includes(name)).map(({ name }) => path.join("docs", "cli", `${name}.md`));
  expect(without.filter((page) => !withExample.includes(page))).toEqual([]);
  for (const { name } of COMMANDS) expect(pages).toContain(path.join("docs", "cli", `${name}.md`));
});

test.each(sessions)("%s shows what its commands print", async (_, steps) => {
  const folder = mkdtempSync(path.join(shared, "page-"));
  cpSync(path.join(shared, "demo"), path.join(folder, "demo"), { recursive: true });
  cpSync(path.join(shared, "answers.jsonl"), path.join(folder, "answers.jsonl"));
  process.chdir(folder);
  try {
    for (const { command, shown } of steps) {
      const [program, ...args] = wordsOf(command.replace(/^npx /, ""));
      expect(program).toBe("surprisal");
      const { stdout, stderr } = await surprisal(args);
      const printed = stdout + stderr;
      if (!patternOf(shown).test(printed)) expect({ command, printed }).toEqual({ command, printed: `${shown.join("\n")}\n` });
    }
  } finally {
    process.chdir(home);
  }
});
