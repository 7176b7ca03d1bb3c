// The table of docs/cuda.md: what it computes, and that it is of the kernels that were built.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root, run, script } from "./ledger-program";

describe("occupancy", () => {
  const cases: [
    arch: string,
    threads: number,
    registers: number,
    sharedMemory: number,
    blocks: number,
    share: number,
    by: string,
  ][] = [
    ["sm_80", 256, 32, 0, 8, 1, "warps"],
    ["sm_80", 256, 33, 0, 6, 0.75, "registers"], // 40 a thread: units of 256 a warp
    ["sm_90", 256, 64, 0, 4, 0.5, "registers"],
    ["sm_90", 256, 255, 0, 1, 0.125, "registers"],
    ["sm_100", 128, 40, 0, 12, 0.75, "registers"],
    ["sm_100", 32, 16, 0, 32, 0.5, "blocks"],
    ["sm_80", 256, 16, 49152, 3, 0.375, "shared memory"], // 1 KiB more of each block is the system's
    ["sm_90", 256, 16, 49152, 4, 0.5, "shared memory"],
    ["sm_90", 1024, 65, 0, 0, 0, "registers"], // cannot be launched
    ["sm_89", 256, 32, 0, 6, 1, "warps"], // three quarters of the warps of sm_90
    ["sm_89", 32, 16, 0, 24, 0.5, "blocks"],
    ["sm_75", 256, 16, 32768, 2, 0.5, "shared memory"], // nothing of a block is the system's
  ];

  test.each(cases)(
    "%s, blocks of %i threads with %i registers and %i bytes: %i blocks",
    (arch, threads, registers, sharedMemory, blocks, share, by) => {
      const kernel = JSON.stringify({ threads, registers, sharedMemory });
      const program = `import { occupancy } from ${script("occupancy.mjs")};
console.log(JSON.stringify(occupancy(${JSON.stringify(arch)}, ${kernel})));`;
      expect(run(program)).toEqual({ blocks, share, by });
    },
  );
});

test("formulas of bytes: side by side multiplies, 'and' adds, 'then' takes the larger, unknown names have no value", () => {
  const formulas = [
    "2 s V N + 4",
    "n (s inputs + 1)",
    "n / 8 delimiters + S",
    "B inputs and outputs",
    "n, then 3 n",
    "s of spans",
    "(n",
    "4 %",
  ];
  const values = { s: 4, V: 10, N: 3, n: 16, inputs: 2, delimiters: 3, S: 5, B: 7, outputs: 1 };
  const program = `import { evaluate } from ${script("bytes.mjs")};
const values = ${JSON.stringify(values)};
console.log(JSON.stringify(${JSON.stringify(formulas)}.map((formula) => evaluate(formula, values) ?? null)));`;
  expect(run(program)).toEqual([244, 144, 11, 21, 48, null, null, null]);
});

test("every kernel says what it moves, in the comment above it", () => {
  const program = `import { readLedger } from ${script("entries.mjs")};
const { entries, faults } = readLedger();
console.log(JSON.stringify({ kernels: Object.keys(entries).length, faults }));`;
  expect(run(program)).toEqual({ kernels: expect.any(Number) as number, faults: [] });
});

test("a ledger is read from the comment above a kernel, and what it lacks is named", () => {
  const text = `// Rows.
//
// ledger    scan_gae, scan_returns
// bytes     n (s inputs + mask)
// limit     latency
// notes     one dependent addition; threads wait
//           for each other
// turn      8 of rows_kernel<float>: 32 loaded; 4 bytes; at most 3
// sm_89     4 of rows_kernel<float>: 16 loaded; 4 bytes; at most 3
// turn      long: 8 of rows_kernel<float>: 32 loaded; 4 bytes; at most 3
// short     of registers
// threads   128
// values    inputs 1, S 4096
template <class F,
          int kRows>
__global__ void __launch_bounds__(kThreads, 2)
    rows_kernel(srp_args a) {

// ledger    scan_gae
// limit     luck
// omitted   it has no loop
__global__ void bare_kernel(int n) {

#define LAUNCH __global__
`;
  const program = `import { entriesOf } from ${script("entries.mjs")};
console.log(JSON.stringify(entriesOf("scan.cu", ${JSON.stringify(text)})));`;
  expect(run(program)).toEqual({
    entries: {
      rows_kernel: {
        file: "scan.cu",
        op: "scan_gae, scan_returns",
        minimumBytes: "n (s inputs + mask)",
        limit: "latency",
        notes: "one dependent addition; threads wait for each other",
        turns: [
          {
            turn: "8 of rows_kernel<float>: 32 loaded; 4 bytes; at most 3",
            sm_89: "4 of rows_kernel<float>: 16 loaded; 4 bytes; at most 3",
          },
          { turn: "long: 8 of rows_kernel<float>: 32 loaded; 4 bytes; at most 3", short: "of registers" },
        ],
        threads: 128,
        values: { inputs: 1, S: 4096 },
      },
      bare_kernel: {
        file: "scan.cu",
        op: "scan_gae",
        limit: "luck",
        turns: [],
        omitted: "it has no loop",
        values: {},
      },
    },
    faults: [
      "scan.cu:22: the comment above bare_kernel has no bytes, no notes",
      "scan.cu:22: the limit of bare_kernel is luck, expected memory, latency, issue",
    ],
  });
});

test("a kernel's plain name has no namespace, arguments or parameters", () => {
  const names = [
    "void srp::cuda::(anonymous namespace)::group_kernel<srp::cuda::(anonymous namespace)::Softmax, Team<int (*)(int)>, float>(srp_args, unsigned int*)",
    "srp::cuda::(anonymous namespace)::merge_kernel(srp_logprob_merge_args, unsigned int*)",
  ];
  const program = `import { plainName } from ${script("names.mjs")};
console.log(JSON.stringify(${JSON.stringify(names)}.map(plainName)));`;
  expect(run(program)).toEqual(["group_kernel", "merge_kernel"]);
});

test("a kernel that memory or instructions limit has a turn, or says why not", () => {
  const kernel = (limit: string, more = "") =>
    `// ledger    op\n// bytes     n\n// limit     ${limit}\n// notes     none\n${more}__global__ void a_kernel(int n) {`;
  const turn = "// turn      1 of a_kernel: 4 loaded; 4 bytes; at most 9\n";
  const texts = [
    kernel("latency"),
    kernel("memory", turn),
    kernel("memory", "// omitted   it is not hot\n"),
    kernel("issue"),
    kernel("memory", `${turn}// omitted   it is not hot\n`),
  ];
  const program = `import { entriesOf } from ${script("entries.mjs")};
console.log(JSON.stringify(${JSON.stringify(texts)}.map((text) => entriesOf("a.cu", text).faults.length)));`;
  expect(run(program)).toEqual([0, 0, 0, 1, 1]);
});

test("a kernel's variants are its template arguments that are no types of numbers", () => {
  const names = [
    "void srp::cuda::(anonymous namespace)::f<srp::BFloat16, true, srp::cuda::(anonymous namespace)::Tiles>(int)",
    "void srp::cuda::(anonymous namespace)::f<srp::cuda::GaeScan<float> >(srp::cuda::GaeScan<float>::Args)",
    "void srp::cuda::(anonymous namespace)::f<float>(int)",
  ];
  const program = `import { variantOf } from ${script("variants-section.mjs")};
console.log(JSON.stringify(${JSON.stringify(names)}.map(variantOf)));`;
  expect(run(program)).toEqual(["true, Tiles", "GaeScan", ""]);
});

test("cuobjdump is the one that is named, else one on PATH or of a Triton, else none", () => {
  const program = `import { findCuobjdump } from ${script("cuobjdump.mjs")};
process.env.SURPRISAL_CUOBJDUMP = "/named/cuobjdump";
const named = await findCuobjdump();
delete process.env.SURPRISAL_CUOBJDUMP;
process.env.PATH = "/nowhere";
console.log(JSON.stringify([named, (await findCuobjdump()) ?? null]));`;
  expect(run(program)).toEqual(["/named/cuobjdump", null]);
});

describe("registers of all architectures", () => {
  const registers = JSON.stringify(join(root, "scripts/ledger/registers.mjs"));
  const kernel = (name: string, arch: string, count: number, spillStores = 0) => ({
    name: `${name}(int)`,
    arch,
    registers: count,
    spillStores,
    spillLoads: 0,
  });

  test("are the most that an instance takes, and those of sm_90 where that has others", () => {
    const program = `import { ARCHS, keptOr, registersOf } from ${registers};
const every = (name, count) => ARCHS.map((arch) => ({ name: name + "(int)", arch, registers: count, spillStores: 0, spillLoads: 0 }));
const all = [...every("a", 32), ${JSON.stringify(kernel("a", "sm_90", 38))}, ${JSON.stringify(kernel("a", "sm_61", 99))}];
const kept = registersOf(all);
const alike = (count) => Object.fromEntries(ARCHS.map((arch) => [arch, count]));
console.log(JSON.stringify({ kept: kept.kernels.a, expected: { ...alike(32), sm_90: 38 }, spills: kept.spills, lacking: registersOf(all.slice(1)) ?? null,
  same: keptOr(kept, "a", 38), other: keptOr(kept, "a", 37), unknown: keptOr(kept, "b", 12), alike: [alike(37), alike(12)] }));`;
    const got = run(program) as Record<string, unknown>;
    expect(got["kept"]).toEqual(got["expected"]);
    expect(got["same"]).toEqual(got["expected"]);
    expect([got["other"], got["unknown"]]).toEqual(got["alike"]);
    expect(got).toMatchObject({ spills: 0, lacking: null });
  });

  test("lack no kernel, have none that is gone, and none that spills", () => {
    const program = `import { ARCHS, faultsOfRegisters } from ${registers};
const row = Object.fromEntries(ARCHS.map((arch) => [arch, 32]));
const cases = [{ spills: 0, kernels: { a: row } }, { spills: 8, kernels: { b: row } }, { spills: 0, kernels: { a: { sm_90: 32 } } }];
console.log(JSON.stringify(cases.map((kept) => faultsOfRegisters({ a: {} }, kept))));`;
    const [good, bad, lacking] = run(program) as string[][];
    expect(good).toEqual([]);
    expect(bad).toEqual([
      expect.stringContaining("a is missing"),
      expect.stringContaining("b is gone"),
      expect.stringContaining("spill 8 bytes"),
    ]);
    expect(lacking).toHaveLength(1);
  });

  test("are those that a release compiles", () => {
    const program = `import { ARCHS } from ${registers};
import { RELEASE } from ${JSON.stringify(join(root, "scripts/build/cuda.mjs"))};
console.log(JSON.stringify([ARCHS, RELEASE.archs.split(";").map((arch) => "sm_" + arch)]));`;
    const [kept, released] = run(program) as string[][];
    expect(kept).toEqual(released);
  });

  test("are on file for every kernel", () => {
    const program = `import { readFileSync } from "node:fs";
import { readLedger } from ${script("entries.mjs")};
import { faultsOfRegisters } from ${registers};
console.log(JSON.stringify(faultsOfRegisters(readLedger().entries, JSON.parse(readFileSync("native/cuda/registers.json", "utf8")))));`;
    expect(run(program)).toEqual([]);
  });
});

if (existsSync(join(root, "build-cuda/resources.json"))) {
  test("docs/cuda.md is not stale", () => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/ledger.mjs"), "--check"], {
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
} else {
  test.skip("docs/cuda.md is not compared: no CUDA build here", () => undefined);
}
