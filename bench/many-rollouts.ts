// What a million rollouts cost `inspect` and `report`, in one group and in as many groups, as texts and as tokens with their log-probs and
// entropies: `npx tsx bench/many-rollouts.ts`, after a build, or a part of it: `… "tokens, one group"`. Writes bench/results/many-rollouts.json
// (what was not asked for stays there): processor time and peak memory of each, and how much more a rollout takes than among a tenth as
// many, which is 1 where nothing grows with the square.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./harness/machine";

const MANY = 1_000_000;
const FEW = MANY / 10;
const AT_ONCE = 10_000;

/** Tokens of a rollout that has some. */
const TOKENS = 32;
const WORDS = " so the train goes on from here to there and takes twelve more minutes .".split(" ");

const GROUPS = [
  ["one group", () => 0],
  ["a group each", (i: number) => i],
] as const;

type RecordOf = (i: number, group: number) => object;

/** A dump of texts as trainers write them, every second of them right. */
const textsOf: RecordOf = (i, group) => ({
  input: `user\nProblem ${group}: what is ${group}+1?\nassistant\n`,
  output: `I add one. The answer is ${group + 1 + (i % 2)}.`,
  score: 1 - (i % 2),
  step: 1,
  gts: String(group + 1),
  acc: i % 2 === 0,
});

const numbers = (value: (t: number) => number): readonly number[] => Array.from({ length: TOKENS }, (_, t) => value(t));

/** The same with tokens, in the package's own dialect. */
const tokensOf: RecordOf = (i, group) => ({
  prompt: `Problem ${group}: what is ${group}+1?`,
  group: `p${group}`,
  reward: 1 - (i % 2),
  step: 1,
  token_ids: numbers((t) => (7 * i + t) % 50_000),
  tokens: numbers((t) => i + t).map((w) => ` ${WORDS[w % WORDS.length]}`),
  old_logprobs: numbers((t) => -((i + 3 * t) % 997) / 331),
  sampler_logprobs: numbers((t) => -((i + 3 * t) % 997) / 330),
  entropies: numbers((t) => ((5 * i + t) % 991) / 613),
});

const KINDS = [
  ["texts", textsOf],
  ["tokens", tokensOf],
] as const;

function writeDump(file: string, count: number, recordOf: RecordOf, groupOf: (i: number) => number): void {
  const out = openSync(file, "w");
  for (let begin = 0; begin < count; begin += AT_ONCE) {
    const own = Array.from({ length: Math.min(AT_ONCE, count - begin) }, (_, k) => begin + k);
    writeSync(out, own.map((i) => `${JSON.stringify(recordOf(i, groupOf(i)))}\n`).join(""));
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

const COMMANDS = ["inspect", "report"] as const;

interface Cost {
  readonly rollouts: number;
  readonly megabytesOfDump: number;
  readonly seconds: number;
  readonly megabytes: number;
  readonly megabytesOfPage: number | undefined;
  readonly timesATenth: number;
}

/** What the commands take of a million rollouts, and of a tenth of them. */
function costsOf(recordOf: RecordOf, groupOf: (i: number) => number): readonly Cost[] {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-many-rollouts-"));
  try {
    const [dump, page] = [join(folder, "dump.jsonl"), join(folder, "page.html")];
    const [few, many] = [FEW, MANY].map((count) => {
      writeDump(dump, count, recordOf, groupOf);
      return COMMANDS.map((command) => run(folder, command, dump, ...(command === "report" ? ["--out", page] : [])));
    }) as [Usage[], Usage[]];
    return COMMANDS.map((command, i) => ({
      rollouts: MANY,
      megabytesOfDump: Math.round(statSync(dump).size / 1e6),
      seconds: Number(many[i]!.cpu.toFixed(1)),
      megabytes: Math.round(many[i]!.megabytes),
      megabytesOfPage: command === "report" ? Math.round(statSync(page).size / 1e6) : undefined,
      timesATenth: Number((many[i]!.cpu / few[i]!.cpu / (MANY / FEW)).toFixed(2)),
    }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Result extends Partial<Cost> {
  readonly command: string;
  readonly of: string;
  readonly groups: string;
}

const FILE = join(__dirname, "results", "many-rollouts.json");

/** Puts these results where others of the same dump stood; `machine` is that of each result. */
function keep(of: string, groups: string, costs: readonly Cost[]): void {
  const { results } = JSON.parse(readFileSync(FILE, "utf8")) as { results: readonly Result[] };
  const machine = { cpu: cpus()[0]!.model, cores: cpus().length, node: process.versions.node };
  const own = costs.map((cost, i): Result & { machine: object } => ({
    command: COMMANDS[i]!,
    of,
    groups,
    ...cost,
    machine,
  }));
  const others = results.filter((one) => one.of !== of || one.groups !== groups);
  const whole = { unit: "seconds of processor time, megabytes at the peak", results: [...others, ...own] };
  writeFileSync(FILE, `${JSON.stringify(whole, null, 1)}\n`);
  for (const result of own) console.log(JSON.stringify(result));
}

const asked = process.argv[2] ?? "";
for (const [of, recordOf] of KINDS)
  for (const [groups, groupOf] of GROUPS)
    if (`${of}, ${groups}`.includes(asked)) keep(of, groups, costsOf(recordOf, groupOf));
