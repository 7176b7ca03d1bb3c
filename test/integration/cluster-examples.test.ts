// The files of examples/cluster: bash reads the scripts, and their commands run as a cluster would start them, on stand-ins for its programs
// that say what they were called with; the flags are those of the command line.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { surprisal } from "../cli/in-process";
import { recordText } from "../cli/records";
import { HANG_MS } from "../support/hang";

const EXAMPLES = path.join(__dirname, "..", "..", "examples", "cluster");
const scripts = readdirSync(EXAMPLES).filter((name) => name.endsWith(".sh"));

let place: string;
let calls: string;
const home = process.cwd();
beforeAll(() => {
  place = mkdtempSync(path.join(tmpdir(), "surprisal-cluster-"));
  calls = path.join(place, "calls");
  mkdirSync(path.join(place, "bin"));
  mkdirSync(path.join(place, "rollouts"));
  // A line a call: its words between tabs, in one write, since the server runs beside what asks for it. sbatch answers with a number,
  // as --parsable does.
  const words = `line="\${0##*/}$(printf '\\t%s' "$@")"; printf '%s\\n' "$line" >> "$CALLS"`;
  // The server that curl asks is well once it was called: it is started beside the script, within five minutes.
  const answers = new Map([
    ["sbatch", 'wc -l < "$CALLS"'],
    ["curl", 'for i in {1..3000}; do grep -q ^npx "$CALLS" && exit; sleep 0.1; done; exit 1'],
  ]);
  for (const name of ["npx", "sbatch", "ray", "torchrun", "curl"]) {
    const stand = path.join(place, "bin", name);
    writeFileSync(stand, `#!/usr/bin/env bash\n${words}\n${answers.get(name) ?? ""}\n`);
    chmodSync(stand, 0o755);
  }
  for (const seed of [1, 2, 3, 10]) writeFileSync(path.join(place, "rollouts", `${seed}.jsonl`), recordText(seed));
  process.chdir(place);
});
afterAll(() => {
  process.chdir(home);
  rmSync(place, { recursive: true, force: true });
});

/** What a script calls, in order. */
function callsOf(script: string, args: readonly string[], env: Record<string, string> = {}): string[][] {
  writeFileSync(calls, "");
  const PATH = `${path.join(place, "bin")}${path.delimiter}${process.env["PATH"]!}`;
  execFileSync("bash", [path.join(EXAMPLES, script), ...args], {
    cwd: place,
    env: { ...process.env, PATH, CALLS: calls, ...env },
    timeout: HANG_MS,
  });
  return readFileSync(calls, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
}

/** The words behind `npx surprisal`, run here. */
async function run(words: readonly string[], env: Record<string, string> = {}): Promise<string> {
  expect(words.slice(0, 2)).toEqual(["npx", "surprisal"]);
  const outcome = await surprisal(words.slice(2), { env });
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  return outcome.stdout;
}

test.each(scripts)("bash reads %s", (name) => {
  execFileSync("bash", ["-n", path.join(EXAMPLES, name)]);
});

test("the Slurm array: four jobs that wait for each other; their commands make the file of one process", async () => {
  const jobs = callsOf("slurm-array.sh", [], { PARTS: "3" });
  expect(jobs.map((words) => words.slice(1, -2))).toEqual([
    ["--parsable", "--array=0-2"],
    ["--parsable", "--dependency=afterok:1"],
    ["--parsable", "--dependency=afterok:2", "--array=0-2"],
    ["--parsable", "--dependency=afterok:3"],
  ]);
  expect(jobs.map((words) => words.at(-1))).toEqual(["part", "merge", "part", "merge"]);
  let said = "";
  for (const job of jobs) {
    const step = job.at(-1)!;
    for (const task of step === "part" ? ["0", "1", "2"] : ["0"]) {
      const [words] = callsOf("slurm-array.sh", [step], { PARTS: "3" });
      said = await run(words!, { SLURM_ARRAY_TASK_ID: task, SLURM_ARRAY_TASK_MIN: "0" });
    }
  }
  expect(said).toContain("wrote advantages.jsonl");
  const flags = [
    "-e",
    "gae",
    "--gamma",
    "1",
    "--lambda",
    "0.95",
    "--whitening",
    "{}",
    "--batch",
    "all",
    "-o",
    "whole.jsonl",
  ];
  expect(await surprisal(["advantages", ...[1, 2, 3, 10].map((n) => `rollouts/${n}.jsonl`), ...flags])).toMatchObject({
    code: 0,
  });
  expect(readFileSync("advantages.jsonl", "utf8")).toBe(readFileSync("whole.jsonl", "utf8"));
});

/** The items of a list of YAML, each on a line of its own, as this file writes them. */
function listBehind(text: string, name: string): string[] {
  const block = new RegExp(`^ *${name}:\\n((?: +- .*\\n)+)`, "m").exec(text)![1]!;
  return block
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^ +- /, "").replace(/^"(.*)"$/, "$1"));
}

test("the Indexed Job: as many completions as parts, and every pod's command is a part", async () => {
  const text = readFileSync(path.join(EXAMPLES, "kubernetes-indexed-job.yaml"), "utf8");
  expect(text).toMatch(/^apiVersion: batch\/v1\nkind: Job\n/m);
  expect(text).toContain("completionMode: Indexed");
  const [count] = /(?<=^ {2}completions: )\d+$/m.exec(text)!;
  const words = listBehind(text, "command").map((word) => (word === "advantages.jsonl" ? "pods.jsonl" : word));
  expect(words.slice(-2)).toEqual(["--shard", count]);
  for (let pod = 0; pod < Number(count); ++pod)
    expect(await run(words, { JOB_COMPLETION_INDEX: String(pod) })).toContain(`part ${pod} of ${count}: computed`);
  expect((await surprisal(["merge", "pods.jsonl.shards"])).stdout).toContain("wrote pods.jsonl");
});

test("Ray: a job a part, whose entry point is a part", async () => {
  const jobs = callsOf("ray-job.sh", [], { PARTS: "2" });
  expect(jobs).toHaveLength(2);
  for (const [part, words] of jobs.entries()) {
    expect(words.slice(0, 3)).toEqual(["ray", "job", "submit"]);
    const entry = words
      .slice(words.indexOf("--") + 1)
      .map((word) => (word === "advantages.jsonl" ? "ray.jsonl" : word));
    expect(await run(entry)).toContain(`part ${part} of 2: computed`);
  }
});

test("beside torchrun: a server with flags that there are, asked until it is well, then the trainer with what it was given", async () => {
  const said = callsOf("beside-torchrun.sh", ["--nproc-per-node", "8", "train.py"]);
  const names = said.map(([name]) => name);
  expect(names.filter((name) => name === "torchrun")).toHaveLength(1);
  expect(names.indexOf("curl")).toBeLessThan(names.indexOf("torchrun"));
  expect(said.find(([name]) => name === "torchrun")).toEqual(["torchrun", "--nproc-per-node", "8", "train.py"]);
  const server = said.find(([name]) => name === "npx")!;
  const outcome = await surprisal([...server.slice(2), "--help"]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
});
