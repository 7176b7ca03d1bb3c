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
// threads   128
// values    inputs 1, S 4096
template <class F,
          int kRows>
__global__ void __launch_bounds__(kThreads, 2)
    rows_kernel(srp_args a) {

// ledger    scan_gae
// limit     luck
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
        threads: 128,
        values: { inputs: 1, S: 4096 },
      },
      bare_kernel: { file: "scan.cu", op: "scan_gae", limit: "luck", values: {} },
    },
    faults: [
      "scan.cu:17: the comment above bare_kernel has no bytes, no notes",
      "scan.cu:17: the limit of bare_kernel is luck, expected memory, latency, issue",
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

test("registers are those of the build of all architectures until a kernel takes others on sm_90", () => {
  const kernel = (name: string, arch: string, registers: number) => ({ name: `${name}(int)`, arch, registers });
  const all = [
    kernel("a", "sm_80", 40),
    kernel("a", "sm_90", 32),
    kernel("a", "sm_90", 38),
    kernel("a", "sm_100", 36),
    kernel("a", "sm_75", 99),
  ];
  const kept = { sm_80: 40, sm_90: 38, sm_100: 36 };
  const program = `import { keptOr, registersOf } from ${script("registers.mjs")};
const kept = registersOf(${JSON.stringify(all)});
const some = [${JSON.stringify(all.slice(1, 3))}, ${JSON.stringify(all.slice(4))}].map((kernels) => registersOf(kernels) ?? null);
console.log(JSON.stringify([kept, some, keptOr(kept, "a", 38), keptOr(kept, "a", 37), keptOr(kept, "b", 12)]));`;
  const alike = (registers: number) => ({ sm_80: registers, sm_90: registers, sm_100: registers });
  expect(run(program)).toEqual([{ a: kept }, [null, null], kept, alike(37), alike(12)]);
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
