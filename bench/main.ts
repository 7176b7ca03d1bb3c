// The program behind `npm run bench`: see USAGE in options.ts, or CONTRIBUTING.md.
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { allCases } from "./cases";
import { GOALS, judge } from "./goals";
import { type Build, loadBuild } from "./harness/build";
import { canary } from "./harness/canary";
import { type Case, titleOf } from "./harness/case";
import { lastCores, pinTo } from "./harness/cores";
import { machineFacts, root } from "./harness/machine";
import type { Pace } from "./harness/pairing";
import { buildRevision } from "./harness/revision";
import { type Bench, runCase } from "./harness/run-case";
import { installPeers } from "./peers/installed";
import { openPeers } from "./peers/peers";
import { type Options, readOptions, USAGE } from "./options";
import { type ResultLine, toLines } from "./record";
import { slower } from "./report/against";
import { verdictLine } from "./report/goals-table";
import { writePage } from "./report/write";
import { loadRoof } from "./roof/roof";
import { Underway } from "./underway";

const FULL: Pace = { repetitions: 15, secondsEach: 4, least: 3 };
const QUICK: Pace = { repetitions: 5, secondsEach: 0.6, least: 2 };
/** No case begins after this, so that the last one ends within a minute. */
const QUICK_SECONDS = 40;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

function keepOn(threads: number, others: readonly number[]): void {
  pinTo(lastCores(threads), [process.pid, ...others]);
}

/** Hands the arrays of the last case back ahead of the next one. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  return collect;
}

/** The main build at the instruction sets below its own; where it has only one, none. */
function lowerLevels(main: Build): Build[] {
  const below =
    { avx512bf16: ["avx2", "baseline"], avx512: ["avx2", "baseline"], avx2: ["baseline"] }[main.level] ?? [];
  return below.flatMap((level) => {
    const build = loadBuild(level, root, { level });
    if (build.level === level) return [build];
    say(`level ${level}: not in this build, which runs ${build.level}`);
    return [];
  });
}

/** In the order of the page; the quick ones from the cheapest on, so that a slow machine still sees most of them. */
function chosenCases({ quick, filter, threads }: Options): Case[] {
  const chosen = allCases().filter(
    (one) =>
      (!quick || filter !== undefined || one.quick) &&
      (filter === undefined || titleOf(one).includes(filter)) &&
      (threads === undefined || one.threads === threads),
  );
  return quick ? chosen.sort((a, b) => (a.least?.bytes ?? 0) - (b.least?.bytes ?? 0)) : chosen;
}

async function prepare(options: Options): Promise<Bench> {
  pinTo(lastCores(1));
  const roof = loadRoof();
  const main = loadBuild("this tree", root, options.level === undefined ? {} : { level: options.level });
  if (options.level !== undefined && main.level !== options.level)
    throw new Error(`--level ${options.level}: not in this build, which runs ${main.level}`);
  const revision = options.against === undefined ? undefined : buildRevision(options.against);
  const other =
    revision &&
    loadBuild(revision.commit, revision.folder, options.level === undefined ? {} : { level: options.level });
  if (options.peers.some((name) => name === "tfjs" || name === "onnxruntime") && !options.quick) installPeers(say);
  const peers = await openPeers(options.peers);
  const versions = Object.fromEntries([
    ["node", process.versions.node],
    ...peers.present.map(({ name, version }) => [name, version] as const),
  ]);
  const pinned = pinTo(lastCores(1));
  const facts = { ...machineFacts(), pinned, versions, roofs: roof.width };
  say(
    `${facts.machine}, ${facts.cores} cores, ${facts.caches}; level ${main.level}; ${pinned ? "pinned to one core" : "not pinned: no taskset"}`,
  );
  say(`peers: ${peers.present.map(({ name, version }) => `${name} (${version})`).join(", ") || "none"}`);
  for (const { name, reason } of peers.absent) say(`absent: ${name}: ${reason}`);
  const lower = options.level === undefined && !options.quick && !other ? lowerLevels(main) : [];
  return {
    builds: other ? [main, other] : [main],
    lower,
    roof,
    disturbance: (threads) => canary(roof, threads),
    keepOn,
    peers,
    pace: options.quick ? QUICK : FULL,
    js: !options.quick && options.peers.includes("plain-js"),
    peerMemory: !options.quick,
    facts,
    say,
  };
}

async function runAll(cases: readonly Case[], bench: Bench, deadline: number, underway: Underway | undefined) {
  const collect = collector();
  const lines: ResultLine[] = [];
  const late: string[] = [];
  let wrong = 0;
  for (const one of cases) {
    if (underway?.has(one)) continue;
    if (performance.now() / 1e3 > deadline) {
      late.push(titleOf(one));
      continue;
    }
    const outcome = await runCase(one, bench);
    lines.push(...outcome.lines);
    underway?.add(outcome.lines);
    if (outcome.wrong) ++wrong;
    collect();
  }
  for (const title of late) say(`left out for lack of time: ${title}`);
  return { lines: underway?.lines ?? lines, wrong, late };
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
}

/** Where the results of this run go, if they are kept: generations of a processor can share a name, so the instruction set is in it. */
function fileOf({ out, complete }: Options, { facts }: Bench): string | undefined {
  return (
    out ??
    (complete ? join(root, "bench", "results", `cpu-${slug(`${facts.machine} ${facts.roofs}`)}.jsonl`) : undefined)
  );
}

function keep(underway: Underway | undefined, file: string | undefined, { out }: Options): void {
  if (!underway) return say("not written: the run left something out; --out FILE writes it all the same");
  underway.finish();
  say(`${underway.lines.length} results: ${file}`);
  if (out === undefined) say(`page: ${writePage().join(", ")}`);
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (options.page) {
    say(`page: ${writePage().join(", ")}`);
    return 0;
  }
  const cases = chosenCases(options);
  if (options.list || cases.length === 0) {
    process.stdout.write(cases.length === 0 ? "no such case\n" : `${cases.map(titleOf).join("\n")}\n`);
    return cases.length === 0 ? 2 : 0;
  }
  const bench = await prepare(options);
  const file = fileOf(options, bench);
  const underway = file === undefined ? undefined : new Underway(file, bench.facts, options.resume);
  if (underway && underway.lines.length > 0) say(`goes on behind ${underway.lines.length} results`);
  const { lines, wrong } = await runAll(
    cases,
    bench,
    options.quick && options.filter === undefined ? QUICK_SECONDS : Infinity,
    underway,
  );
  bench.peers.close();
  keep(underway, file, options);
  const regressions = slower(lines);
  for (const text of regressions) say(text);
  const judged = GOALS.map((goal) => judge(goal, lines)).filter(({ verdict }) => verdict !== "not measured");
  process.stdout.write(options.json ? toLines(lines) : judged.map((one) => `${verdictLine(one)}\n`).join(""));
  if (wrong > 0) say(`${wrong} case${wrong === 1 ? "" : "s"} with wrong results`);
  return wrong > 0 || regressions.length > 0 ? 1 : 0;
}

// An exit cleans up behind it: shared memory of the peers, a worktree, copies of the addon.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(130));

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    say(`bench: ${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  },
);
