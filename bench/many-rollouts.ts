// What a million rollouts cost `inspect` and `report`, in one group and in as many groups: `npx tsx bench/many-rollouts.ts`, after a build.
// Writes bench/results/many-rollouts.json: processor time and peak memory of each, and how much more a rollout takes than among a tenth as
// many, which is 1 where nothing grows with the square.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./harness/machine";

const MANY = 1_000_000;
const FEW = MANY / 10;
const AT_ONCE = 10_000;

const LAYOUTS = [
  ["one group", () => 0],
  ["a group each", (i: number) => i],
] as const;

/** A dump of texts as trainers write them, every second of them right. */
function writeDump(file: string, count: number, groupOf: (i: number) => number): void {
  const out = openSync(file, "w");
  for (let begin = 0; begin < count; begin += AT_ONCE) {
    const lines = Array.from({ length: Math.min(AT_ONCE, count - begin) }, (_, k) => {
      const [i, group] = [begin + k, groupOf(begin + k)];
      const answer = String(group + 1 + (i % 2));
      const input = `user\nProblem ${group}: what is ${group}+1?\nassistant\n`;
      return `${JSON.stringify({ input, output: `I add one. The answer is ${answer}.`, score: 1 - (i % 2), step: 1, gts: String(group + 1), acc: i % 2 === 0 })}\n`;
    });
    writeSync(out, lines.join(""));
  }
  closeSync(out);
}

interface Usage {
  readonly cpu: number;
  readonly megabytes: number;
}

/** Runs the command line in a process of its own. */
function run(folder: string, ...args: readonly string[]): Usage {
  const usage = join(folder, "usage.json");
  const flags = ["--require", join(__dirname, "shards", "usage.cjs"), join(root, "dist", "cli", "main.js")];
  const { status, stderr } = spawnSync(process.execPath, [...flags, ...args, "--quiet"], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, SURPRISAL_BENCH_USAGE: usage },
  });
  if (status !== 0) throw new Error(`surprisal ${args.join(" ")}: ${stderr}`);
  return JSON.parse(readFileSync(usage, "utf8")) as Usage;
}

function main(): void {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-many-rollouts-"));
  try {
    const results = [];
    const [dump, page] = [join(folder, "dump.jsonl"), join(folder, "page.html")];
    for (const [groups, groupOf] of LAYOUTS)
      for (const command of ["inspect", "report"] as const) {
        const more = command === "report" ? ["--out", page] : [];
        const cost = [FEW, MANY].map((count) => {
          writeDump(dump, count, groupOf);
          return run(folder, command, dump, ...more);
        });
        const [few, many] = cost as [(typeof cost)[0], (typeof cost)[0]];
        results.push({
          command,
          groups,
          rollouts: MANY,
          seconds: Number(many.cpu.toFixed(1)),
          megabytes: Math.round(many.megabytes),
          megabytesOfPage: command === "report" ? Math.round(statSync(page).size / 1e6) : undefined,
          timesATenth: Number((many.cpu / few.cpu / (MANY / FEW)).toFixed(2)),
        });
        console.log(JSON.stringify(results.at(-1)));
      }
    const machine = { cpu: cpus()[0]!.model, cores: cpus().length, node: process.versions.node };
    const whole = { unit: "seconds of processor time, megabytes at the peak", machine, results };
    writeFileSync(join(__dirname, "results", "many-rollouts.json"), `${JSON.stringify(whole, null, 1)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

main();
