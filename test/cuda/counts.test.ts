// The instructions of the hot loops: how they are counted, and that the kept counts are of these sources and within their limits.
import { GPU_GOALS, TENSOR_GOALS } from "../../bench/gpu/goals";
import { run, script } from "./ledger-program";

/** cuobjdump's text of a function, its instructions 16 bytes apart. */
const listing = (name: string, ...code: readonly string[]) =>
  [
    `\t\tFunction : ${name}`,
    '\t.headerflags\t@"EF_CUDA_SM90"',
    ...code.flatMap((line, i) => [
      `        /*${(16 * i).toString(16).padStart(4, "0")}*/    ${line} ;   /* 0x00000a00ff017b82 */`,
      "                                    /* 0x000fe20000000800 */",
    ]),
  ].join("\n");

/** A loop of eight-byte loads whose body goes round a division by a branch, and in it a loop of one float64 addition. */
const LOOP = listing(
  "_Z4loopv",
  "S2R R0, SR_TID.X",
  "LDG.E.64 R2, desc[UR4][R4.64]", // 0x10: the head
  "DADD R6, R6, R2", // 0x20: the inner loop
  "@P1 BRA 0x20",
  "@P0 BRA 0x80",
  "MUFU.RCP R8, R9",
  "FMUL R8, R8, R9",
  "FADD R8, R8, R9",
  "STG.E.U8 desc[UR4][R4.64], R8", // 0x80
  "@!P2 BRA 0x10",
  "EXIT",
  "BRA 0xb0",
);

const turn = (text: string, way: object) =>
  run(`import { blocksOf, readSass } from ${script("sass.mjs")};
import { turnOf } from ${script("turns.mjs")};
const [code] = readSass(${JSON.stringify(text)}).values();
console.log(JSON.stringify(turnOf(blocksOf(code), ${JSON.stringify(way)}) ?? null));`);
const count = (needed: object, more: object = {}) => turn(LOOP, { needed, ...more });

test("a turn is the cheapest way through the loop that does what is needed", () => {
  expect(count({ loaded: 8 })).toMatchObject({
    instructions: 6,
    loaded: 8,
    stored: 1,
    special: 0,
    float64: 1,
    branches: 3,
  });
  expect(count({ loaded: 8, special: 1 })).toMatchObject({ instructions: 9, special: 1 });
});

test("loops inside of a turn count as often as they turn", () => {
  expect(count({ loaded: 8 }, { inner: 4 })).toMatchObject({ instructions: 12, float64: 4 });
});

test("where no loop does what is needed the whole kernel is a turn, and what nothing does is not found", () => {
  expect(count({ shared: 1 })).toBeNull();
  const straight = listing(
    "_Z8straightv",
    "LDG.E.128 R4, desc[UR4][R2.64]",
    "FADD R4, R4, R5",
    "STG.E desc[UR4][R2.64], R4",
    "EXIT",
  );
  expect(turn(straight, { needed: { loaded: 16, stored: 4 } })).toMatchObject({
    instructions: 4,
    loads16: 1,
    stored: 4,
  });
});

test("a way may be asked to have none of something, or to be the kernel's from its begin to its end", () => {
  expect(count({}, { none: ["float64"] })).toBeNull();
  expect(count({ special: 1 }, { whole: true })).toMatchObject({ instructions: 11, special: 1 });
});

test("loads and stores of shared memory are told apart, and wide ones take more cycles", () => {
  const shared = listing(
    "_Z6sharedv",
    "LDS.128 R4, [R2]",
    "STS.64 [R2], R4",
    "SHFL.BFLY PT, R0, R4, 0x1, 0x1f",
    "EXIT",
  );
  expect(turn(shared, { needed: { read: 1, written: 1 } })).toMatchObject({
    read: 1,
    written: 1,
    shuffles: 1,
    shared: 7,
  });
});

test("warps whose threads are together pass by the code for those that have parted", () => {
  const parted = listing(
    "_Z6partedv",
    "LDG.E R2, desc[UR4][R4.64]", // 0x0: the head
    "BRA.DIV UR4, 0x60", // 0x10
    "SHFL.BFLY PT, R0, R2, 0x1, 0x1f",
    "@P0 BRA 0x0", // 0x30
    "@P1 CALL.REL.NOINC 0x50",
    "EXIT",
    "FADD R0, R0, R2", // 0x60
    "FADD R0, R0, R2",
    "BRA 0x30",
  );
  expect(turn(parted, { needed: { loaded: 4 } })).toMatchObject({ instructions: 4, shuffles: 1 });
});

test("a turn of the ledger is read, and one that says something else is refused", () => {
  const program = `import { readTurn } from ${script("turn-text.mjs")};
const refused = (text) => { try { readTurn(text); } catch (error) { return error.message; } };
console.log(JSON.stringify([
  readTurn("V = 1,024: 8 of sum_kernel<float, 2>: 32 loaded, no stored, inner 7 + 2.5 x whole, 16 stored; 4 bytes; at most 4.5, 5 on sm_89; must 0.5; threads 64"),
  refused("8 of sum_kernel<float>: 32 loaded"), refused("8 of sum_kernel<float>: 32 words; 4 bytes; at most 3"),
  refused("8 of sum_kernel<float>: 32 loaded; 4 bytes; at most 3; perhaps 4")]));`;
  expect(run(program)).toEqual([
    {
      title: "V = 1,024",
      elements: 8,
      instance: "sum_kernel<float, 2>",
      ways: [
        { times: 1, needed: { loaded: 32 }, none: ["stored"], inner: 7, whole: false },
        { times: 2.5, needed: { stored: 16 }, none: [], inner: 1, whole: true },
      ],
      bytes: 4,
      most: { sm_90: 4.5, sm_89: 5 },
      must: 0.5,
      threads: 64,
    },
    expect.stringContaining('a turn is "N of KERNEL<...>'),
    expect.stringContaining("not 32 words"),
    expect.stringContaining("not perhaps 4"),
  ]);
});

test("another source, another turn, too many instructions, and kernels that one side lacks are named", () => {
  const turnOf = (most: number) => `4 of a<float>: 16 loaded; 4 bytes; at most ${most}, 12 on sm_89`;
  const entry = (most: number) => ({ file: "native/cuda/a.cu", turns: [{ turn: turnOf(most) }] });
  const kept = (sources: string, most: number) => {
    const count = { of: turnOf(most), turn: { instructions: 42, loaded: 16 } };
    return { loops: { a: { file: "native/cuda/a.cu", sources, sm_90: count, sm_89: count } } };
  };
  const cases = [
    [{ a: entry(11) }, kept("1", 11)],
    [{ a: entry(11) }, kept("2", 11)],
    [{ a: entry(11) }, kept("1", 12)],
    [{ a: entry(10) }, kept("1", 10)],
    [{ a: entry(11) }, { loops: {} }],
    [{}, kept("1", 11)],
  ];
  const program = `import { faultsOfCounts } from ${script("counts.mjs")};
console.log(JSON.stringify(${JSON.stringify(cases)}.map(([entries, kept]) => faultsOfCounts(entries, kept, { "native/cuda/a.cu": "1" }))));`;
  const [good, source, turn, many, missing, gone] = run(program) as string[][];
  expect(good).toEqual([]);
  expect(source).toEqual([expect.stringContaining("a was counted in another native/cuda/a.cu")]);
  expect(turn).toEqual([expect.stringContaining("a was counted by another turn")]);
  expect(many).toEqual([
    expect.stringContaining("a takes 10.5 instructions an element on sm_90, at most 10 are allowed"),
  ]);
  expect(missing).toEqual([expect.stringContaining("a is missing")]);
  expect(gone).toEqual([expect.stringContaining("a has no turn in the ledger")]);
});

test("the larger bound of a loop is that of its busiest unit", () => {
  const program = `import { boundsOf } from ${script("bounds.mjs")};
const card = { multiprocessors: 100, clock: 1e9, bandwidth: 1e12, rates: { instructions: 4, float64: 2 } };
console.log(JSON.stringify([{ bytes: 8, instructions: 64, float64: 0 }, { bytes: 8, instructions: 64, float64: 64 }]
  .map((counts) => boundsOf(counts, card))));`;
  expect(run(program)).toEqual([
    { bytes: 8, issue: 5, unit: "instructions", share: 1 },
    { bytes: 8, issue: 10, unit: "float64", share: 0.8 },
  ]);
});

test("a loop on tensor cores has its share of their peak, and loads of four matrices count four times", () => {
  const program = `import { boundsOf } from ${script("bounds.mjs")};
const card = { multiprocessors: 100, clock: 1e9, bandwidth: 1e12, rates: { instructions: 4, tensor: 0.5 }, tensorPeak: 1, l2: 2e12 };
console.log(JSON.stringify(boundsOf({ bytes: 1, instructions: 1, tensor: 1.6 }, card)));`;
  expect(run(program)).toEqual({ bytes: 0.5, issue: 1, unit: "tensor", share: 0.5 });
  const matrices = listing(
    "_Z8matricesv",
    "LDSM.16.M88.4 R4, [R2]",
    "HMMA.16816.F32.BF16 R8, R4, R6, R8",
    "@!P2 BRA 0x0",
    "EXIT",
  );
  expect(turn(matrices, { needed: { tensor: 1 } })).toMatchObject({ instructions: 3, shared: 4, tensor: 1 });
});

test("a hash of sources does not see comments and blanks, but texts", () => {
  const program = `import { bare } from ${script("sources.mjs")};
const texts = ["a = 1;  // one\\n", "a = 1;\\n/* two */", 'a = "//";', 'a = "";'];
console.log(JSON.stringify(texts.map(bare)));`;
  const [one, two, three, four] = run(program) as string[];
  expect(one?.trim()).toBe(two?.trim());
  expect(three).not.toBe(four);
});

test("the kept counts are of these sources, and within their limits", () => {
  const program = `import { readLedger } from ${script("entries.mjs")};
import { faultsOfCounts, keptCounts } from ${script("counts.mjs")};
console.log(JSON.stringify(faultsOfCounts(readLedger().entries, keptCounts())));`;
  expect(run(program)).toEqual([]);
});

test("what a loop must reach is the goal of its kernel", () => {
  const program = `import { readLedger } from ${script("entries.mjs")};
import { turnsOf } from ${script("counts.mjs")};
import { readTurn } from ${script("turn-text.mjs")};
console.log(JSON.stringify(Object.fromEntries(turnsOf(readLedger().entries).map(({ key, of }) => [key, readTurn(of.sm_90).must]))));`;
  const goals = GPU_GOALS.flatMap(({ kernel, must }) => (kernel === undefined ? [] : [[kernel, must] as const]));
  expect(goals.length).toBeGreaterThan(4);
  expect(run(program)).toMatchObject({ ...Object.fromEntries(goals), ...TENSOR_GOALS });
});
