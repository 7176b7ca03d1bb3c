// One case with builds, roof and peers that are made up: what is recorded, what is left out and why.
import type { Build, Library } from "../../bench/harness/build";
import type { Case, Work } from "../../bench/harness/case";
import type { Errors } from "../../bench/record";
import { ONE_THREAD } from "../../bench/harness/names";
import { type Bench, runCase } from "../../bench/harness/run-case";
import type { PeerForm } from "../../bench/peers/peer";
import { resultLine } from "./result-lines";

const right: Errors = { y: { maxAbs: 1e-9, maxRel: 1e-9, budget: "1e-6", used: 1e-3 } };
const wrong: Errors = { y: { maxAbs: 1, maxRel: 1, budget: "1e-6", used: 1e6 } };

const work = (seconds: number, errors: () => Errors = () => right): Work => ({
  name: "y",
  run: () => seconds,
  check: errors,
});

function peer(name: string, seconds: number, errors: Errors): PeerForm {
  return {
    name,
    backend: "torch",
    run: () => seconds,
    check: () => errors,
    extraMegabytes: () => Promise.resolve(900),
  };
}

function setUp({
  forms = [],
  disturbed = 0.01,
  threads = true,
}: { forms?: PeerForm[]; disturbed?: number; threads?: boolean } = {}) {
  const said: string[] = [];
  const using: number[] = [];
  const kept: number[] = [];
  const build: Build = {
    name: "this tree",
    lib: {} as Library,
    level: "avx512",
    setThreads: (count) => {
      using.push(count);
      return threads || count === 1;
    },
  };
  const nothing = () => undefined;
  const bench: Bench = {
    builds: [build],
    lower: [{ ...build, level: "avx2" }],
    roof: {
      width: "avx512",
      read: nothing,
      copy: nothing,
      copyStreamed: nothing,
      rewrite: nothing,
      spin: nothing,
      stepsIn: () => 0,
    },
    disturbance: () => disturbed,
    keepOn: (threads) => void kept.push(threads),
    js: false,
    peers: {
      present: [],
      absent: [],
      formsOf: () => Promise.resolve(forms),
      pids: () => [],
      release: () => Promise.resolve(),
      close: nothing,
    },
    pace: { repetitions: 3, secondsEach: 1e9, least: 1 },
    peerMemory: true,
    facts: resultLine({}).run,
    say: (text) => void said.push(text),
  };
  return { bench, said, using, kept };
}

function caseOf(subject: ReturnType<Case["prepare"]>, fields: Partial<Case> = {}): Case {
  return {
    kernel: "k",
    op: "y",
    dtype: "float32",
    rowKind: "rows",
    shape: { name: "shape", sizes: [4] },
    threads: 1,
    least: { bytes: 8e9, formula: "2·n" },
    prepare: () => subject,
    ...fields,
  };
}

const task = { kind: "gae", arrays: {}, numbers: {}, check: () => right } as const;

test("a case gives a line for us and for each peer, with ratios to us and the errors", async () => {
  const { bench } = setUp({ forms: [peer("torch: loop", 6, { y: { maxAbs: 1e-3, maxRel: 1e-3 } })] });
  const { lines, wrong: any } = await runCase(caseOf({ ours: () => work(2), task }), bench);
  expect(any).toBe(false);
  expect(
    lines.map(({ contender, time, ratio, repetitions }) => [contender, time.median, ratio?.median, repetitions]),
  ).toEqual([
    ["surprisal", 2000, undefined, 3],
    ["torch: loop", 6000, 3, 3],
  ]);
  expect(lines[0]).toMatchObject({ level: "avx512", error: right, bytes: { least: 8e9 } });
  expect(lines[1]).toMatchObject({ level: "", backend: "torch", extraMegabytes: 900, error: { y: { maxAbs: 1e-3 } } });
});

test("shares are least bytes over time against the roof's", async () => {
  const { bench } = setUp();
  // The roof is timed from here: a millisecond or more.
  const slow = () => {
    const began = performance.now();
    while (performance.now() - began < 2);
  };
  const { lines } = await runCase(
    caseOf({ ours: () => work(2), roof: { kind: "read", bytes: 4e9, run: slow } }),
    bench,
  );
  const { roof, share } = lines[0]!;
  expect(roof!.kind).toBe("read");
  expect(share!.median).toBeCloseTo(4 / roof!.gigabytesPerSecond.median, 6);
});

test("a wrong result is not recorded, nor anything told as a ratio to it", async () => {
  const { bench, said } = setUp({ forms: [peer("torch: loop", 6, right)] });
  expect(await runCase(caseOf({ ours: () => work(2, () => wrong), task }), bench)).toEqual({ lines: [], wrong: true });
  expect(said.join("\n")).toContain("WRONG, not recorded: surprisal");
});

test("a result that is wrong after the last repetition is not recorded either", async () => {
  const { bench, said } = setUp();
  let checks = 0;
  expect(await runCase(caseOf({ ours: () => work(2, () => (++checks === 1 ? right : wrong)) }), bench)).toEqual({
    lines: [],
    wrong: true,
  });
  expect(said.join("\n")).toContain("WRONG after the last repetition");
});

test("a peer that is wrong or fails is left out and said", async () => {
  const failing = { ...peer("torch: broken", 1, right), run: () => Promise.reject(new Error("no memory")) };
  const { bench, said } = setUp({ forms: [peer("torch: wrong", 6, { y: { maxAbs: Infinity, maxRel: 1 } }), failing] });
  const { lines, wrong: any } = await runCase(caseOf({ ours: () => work(2), task }), bench);
  expect([lines.length, any]).toEqual([1, false]);
  expect(said.join("\n")).toMatch(/left out: torch: wrong[^]*left out: torch: broken: no memory/);
});

test("a peer that fails later sits out from there, and the case goes on", async () => {
  let runs = 0;
  const dying = {
    ...peer("torch: dying", 6, right),
    run: () => (++runs > 3 ? Promise.reject(new Error("python3 ended")) : 6),
  };
  const gone = {
    ...peer("torch: gone", 6, right),
    run: () => (++runs > 1 ? Promise.reject(new Error("python3 ended")) : 6),
  };
  const { bench, said } = setUp({ forms: [dying] });
  const { lines } = await runCase(caseOf({ ours: () => work(2), task }), bench);
  expect(lines.map(({ contender, repetitions }) => [contender, repetitions])).toEqual([
    ["surprisal", 3],
    ["torch: dying", 1],
  ]);
  expect(said.join("\n")).toContain("left out from here on: torch: dying: python3 ended");
  runs = 0;
  const after = await runCase(caseOf({ ours: () => work(2), task }), setUp({ forms: [gone] }).bench);
  expect(after.lines.map(({ contender }) => contender)).toEqual(["surprisal"]);
});

test("lower levels and other work run beside us where the case says so", async () => {
  const { bench } = setUp();
  const { lines } = await runCase(
    caseOf({ ours: () => work(2), beside: { "surprisal on plain rows": () => work(1) } }, { levels: true }),
    bench,
  );
  expect(lines.map(({ contender, level, ratio }) => [contender, level, ratio?.median])).toEqual([
    ["surprisal", "avx512", undefined],
    ["surprisal at avx2", "avx2", 1],
    ["surprisal on plain rows", "avx512", 0.5],
  ]);
});

test("the WebAssembly and JavaScript backends do what peers do, in calls that ask for them", async () => {
  const { bench } = setUp({ forms: [peer("plain JS", 8, right)] });
  const asked: string[] = [];
  const build = {
    ...bench.builds[0]!,
    lib: { gae: ({ backend }: { backend: string }) => void asked.push(backend) } as unknown as Library,
  };
  const ours = (lib: Library): Work => ({
    name: "gae",
    run: () => {
      (lib.gae as unknown as (options: object) => void)({ backend: "cpu" });
      return { cpu: 2, wasm: 3, js: 4 }[asked.at(-1)!]!;
    },
    check: () => right,
  });
  const { lines } = await runCase(caseOf({ ours, task }), { ...bench, builds: [build], js: true });
  expect(lines.map(({ contender, backend, level, ratio }) => [contender, backend, level, ratio?.median])).toEqual([
    ["surprisal", "cpu", "avx512", undefined],
    ["surprisal on wasm", "wasm", "", 1.5],
    ["surprisal on js", "js", "", 2],
    ["plain JS", "torch", "", 4],
  ]);
  expect((await runCase(caseOf({ ours }), { ...bench, builds: [build], js: true })).lines).toHaveLength(1);
});

test("two threads run beside one, each with its own number of threads", async () => {
  const { bench, using, kept } = setUp();
  const { lines } = await runCase(caseOf({ ours: () => work(2) }, { threads: 2 }), bench);
  expect(lines.map(({ contender, threads }) => [contender, threads])).toEqual([
    ["surprisal", 2],
    [ONE_THREAD, 1],
  ]);
  expect(new Set(using)).toEqual(new Set([1, 2]));
  expect(new Set(kept)).toEqual(new Set([2]));
});

test.each([
  [{ disturbed: 0.3 }, "not recorded: other work on the cores (a fixed piece of work varied by 30 %)"],
  [{ threads: false }, "threads: not in this build"],
])("two threads are not believed where %p", async (options, reason) => {
  const { bench, said } = setUp(options);
  expect(await runCase(caseOf({ ours: () => work(2) }, { threads: 2 }), bench)).toEqual({ lines: [], wrong: false });
  expect(said.join("\n")).toContain(reason);
});

test("what a build does not have is said", async () => {
  const { bench, said } = setUp();
  expect(await runCase(caseOf({ ours: () => undefined }), bench)).toEqual({ lines: [], wrong: false });
  expect(said).toContain("  surprisal: not in this build");
});
