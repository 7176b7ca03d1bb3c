// One case from data to lines of results: every contender checked, then timed against the others in the same repetitions.
import type { Build } from "./build";
import { QUIET } from "./canary";
import { type Case, type Subject, titleOf, type Work } from "./case";
import type { Errors } from "../record";
import { describeErrors, isWrong } from "./check";
import { peakGrowth } from "./memory";
import { levelContender, ON_JS, ON_WASM, ONE_THREAD, OURS, revisionContender } from "./names";
import { onBackend } from "./on-backend";
import { type Contender, type Pace, pair } from "./pairing";
import { pairedRatios, scaled, spreadOf, taken } from "./statistics";
import type { ResultLine, RunFacts } from "../record";
import type { PeerSet } from "../peers/peer";
import type { Roof } from "../roof/roof";

export interface Bench {
  /** The first is the one that results are about; others are compared with it. */
  readonly builds: readonly Build[];
  /** Builds of the first at lower instruction sets, for the cases that want them. */
  readonly lower: readonly Build[];
  readonly roof: Roof;
  /** How unevenly so many cores run right now: see canary.ts. */
  readonly disturbance: (threads: number) => number;
  /** Keeps this process, and others, on as many cores: see cores.ts. */
  readonly keepOn: (threads: number, others: readonly number[]) => void;
  readonly peers: PeerSet;
  readonly pace: Pace;
  /** Whether the WebAssembly and JavaScript backends do what peers do. */
  readonly js: boolean;
  /** Whether to run peers once more to see what memory they take. */
  readonly peerMemory: boolean;
  readonly facts: RunFacts;
  readonly say: (text: string) => void;
}

const ROOF = "roof";

interface Entry {
  readonly contender: Contender;
  readonly check: () => Errors;
  readonly level: string;
  readonly backend: string;
  readonly threads: number;
  readonly part?: number;
  /** This package in another build or with other work: what can be a share of the roof. */
  readonly own: boolean;
  readonly extraMegabytes?: () => Promise<number | undefined>;
}

function ownEntry(name: string, build: Build, work: Work, threads: number): Entry {
  return {
    contender: {
      name,
      prepare: () => {
        build.setThreads(threads);
        work.prepare?.();
      },
      run: work.run,
    },
    check: work.check,
    level: build.level,
    backend: "cpu",
    threads,
    own: true,
    extraMegabytes: () => {
      work.prepare?.();
      return peakGrowth(work.run);
    },
  };
}

function ownEntries({ threads, levels }: Case, subject: Subject, { builds, lower, js, say }: Bench): Entry[] {
  const [main, ...others] = builds;
  const entry = (name: string, build: Build, make: Subject["ours"], count: number): Entry[] => {
    const work = make(build.lib);
    if (!work) say(`  ${name}: not in this build`);
    return work ? [ownEntry(name, build, work, count)] : [];
  };
  const on = (backend: "js" | "wasm", name: string): Entry[] =>
    entry(name, main!, (lib) => subject.ours(onBackend(backend, lib)), 1).map((each) => ({
      ...each,
      backend,
      level: "",
    }));
  return [
    ...entry(OURS, main!, subject.ours, threads),
    ...others.flatMap((build) => entry(revisionContender(build.name), build, subject.ours, threads)),
    ...(levels ? lower.flatMap((build) => entry(levelContender(build.level), build, subject.ours, threads)) : []),
    ...Object.entries(subject.beside ?? {}).flatMap(([name, make]) => entry(name, main!, make, threads)),
    ...(threads > 1 ? entry(ONE_THREAD, main!, subject.ours, 1) : []),
    ...(js && subject.task && threads === 1 ? [...on("wasm", ON_WASM), ...on("js", ON_JS)] : []),
  ];
}

async function peerEntries({ threads }: Case, subject: Subject, { peers, say }: Bench): Promise<Entry[]> {
  if (!subject.task) return [];
  const forms = await peers.formsOf(subject.task, threads);
  return forms.map((form) => ({
    contender: {
      ...form,
      forgiven: (error: unknown) =>
        say(`  left out from here on: ${form.name}: ${error instanceof Error ? error.message : String(error)}`),
    },
    check: form.check,
    level: "",
    backend: form.backend,
    threads,
    own: false,
    ...(form.part !== undefined && { part: form.part }),
    extraMegabytes: () => form.extraMegabytes(),
  }));
}

/** Runs a contender once and checks it; undefined, with the reason said, where it is wrong or cannot run. */
async function checked(entry: Entry, strict: boolean, say: Bench["say"]): Promise<Errors | undefined> {
  const { name } = entry.contender;
  try {
    entry.contender.prepare?.();
    await entry.contender.run();
    const errors = entry.check();
    if (!isWrong(errors)) return errors;
    say(`  ${strict ? "WRONG, not recorded" : "wrong, left out"}: ${name}: ${describeErrors(errors)}`);
  } catch (error) {
    say(
      `  ${strict ? "FAILED" : "left out"}: ${name}: ${error instanceof Error ? error.message.split("\n", 1)[0] : String(error)}`,
    );
  }
  return undefined;
}

function roofEntry({ roof: wanted }: Subject, { roof }: Bench, threads: number): Contender[] {
  return wanted ? [{ name: threads === 1 ? ROOF : `${ROOF} on ${threads}`, run: () => wanted.run(roof, threads) }] : [];
}

export interface CaseOutcome {
  readonly lines: readonly ResultLine[];
  /** A result of this package was wrong. */
  readonly wrong: boolean;
}

interface Timed extends Entry {
  readonly errors: Errors;
  readonly megabytes?: number;
}

function lineOf(
  one: Case,
  subject: Subject,
  entry: Timed,
  samples: ReadonlyMap<string, number[]>,
  bench: Bench,
  disturbed: number,
): ResultLine {
  const { name } = entry.contender;
  const part = entry.part ?? 1;
  const seconds = samples.get(name)!.map((time) => time / part);
  const { least } = one;
  const roofSeconds = samples.get(entry.threads === 1 ? ROOF : `${ROOF} on ${entry.threads}`);
  const roof =
    subject.roof && roofSeconds
      ? { kind: subject.roof.kind, rates: roofSeconds.map((time) => subject.roof!.bytes / time / 1e9) }
      : undefined;
  const share =
    roof && least && entry.own
      ? pairedRatios(
          seconds.map((time) => least.bytes / time / 1e9),
          roof.rates,
        )
      : [];
  return {
    format: 1,
    run: bench.facts,
    kernel: one.kernel,
    op: one.op,
    backend: entry.backend,
    level: entry.level,
    contender: name,
    shape: { name: one.shape.name, sizes: one.shape.sizes },
    dtype: one.dtype,
    rowKind: one.rowKind,
    threads: entry.threads,
    metric: "time",
    unit: "ms",
    time: scaled(spreadOf(taken(seconds)), 1e3),
    repetitions: taken(seconds).length,
    ...(entry.part !== undefined && { part: entry.part }),
    ...(least && { bytes: { least: least.bytes, formula: least.formula } }),
    ...(roof && { roof: { kind: roof.kind, gigabytesPerSecond: spreadOf(taken(roof.rates)) } }),
    ...(share.length > 0 && { share: spreadOf(share) }),
    ...(name !== OURS && { ratio: spreadOf(pairedRatios(seconds, samples.get(OURS)!)) }),
    error: entry.errors,
    ...(entry.megabytes !== undefined && { extraMegabytes: entry.megabytes }),
    canary: disturbed,
  };
}

export function describeLine({ contender, time, share, roof, ratio, error, part }: ResultLine): string {
  const facts = [
    `${time.median.toPrecision(3)} ms`,
    share && `${share.median.toFixed(2)} of ${roof!.kind} ${roof!.gigabytesPerSecond.median.toFixed(1)} GB/s`,
    ratio && `${ratio.median.toPrecision(3)}x`,
    part !== undefined && `timed on ${(100 * part).toPrecision(2)} %`,
    describeErrors(error),
  ];
  return `  ${contender}: ${facts.filter(Boolean).join(", ")}`;
}

/** Checks and times all contenders of a case. */
export async function runCase(one: Case, bench: Bench): Promise<CaseOutcome> {
  const { say, pace, peers } = bench;
  say(titleOf(one));
  if (one.threads > 1 && !bench.builds[0]!.setThreads(one.threads)) {
    say("  threads: not in this build");
    return { lines: [], wrong: false };
  }
  const disturbed = bench.disturbance(one.threads);
  if (one.threads > 1 && disturbed > QUIET) {
    say(`  not recorded: other work on the cores (a fixed piece of work varied by ${(100 * disturbed).toFixed(0)} %)`);
    return { lines: [], wrong: false };
  }
  const subject = one.prepare();
  const own = ownEntries(one, subject, bench);
  if (!own.some(({ contender }) => contender.name === OURS)) return { lines: [], wrong: false };
  bench.keepOn(one.threads, []);

  let wrong = false;
  const ready: Timed[] = [];
  for (const entry of [...own, ...(await peerEntries(one, subject, bench))]) {
    const errors = await checked(entry, entry.own, say);
    wrong ||= entry.own && !errors;
    if (!errors) continue;
    const megabytes = entry.own || bench.peerMemory ? await entry.extraMegabytes?.().catch(() => undefined) : undefined;
    ready.push({ ...entry, errors, ...(megabytes !== undefined && { megabytes }) });
  }
  bench.keepOn(one.threads, peers.pids());
  const roofs = [...roofEntry(subject, bench, one.threads), ...(one.threads > 1 ? roofEntry(subject, bench, 1) : [])];
  const samples = await pair([...roofs, ...ready.map(({ contender }) => contender)], pace);

  // What the last repetition left is right as well, or nothing was measured.
  const lasting = ready.filter((entry) => {
    if (taken(samples.get(entry.contender.name)!).length === 0) return false;
    if (!entry.own) return true;
    const errors = entry.check();
    if (!isWrong(errors)) return true;
    wrong = true;
    say(`  WRONG after the last repetition, not recorded: ${entry.contender.name}: ${describeErrors(errors)}`);
    return false;
  });
  await peers.release();
  // Everything is told as a ratio to our own time.
  if (!lasting.some(({ contender }) => contender.name === OURS)) return { lines: [], wrong: true };
  const lines = lasting.map((entry) => lineOf(one, subject, entry, samples, bench, disturbed));
  for (const line of lines) say(describeLine(line));
  return { lines, wrong };
}
