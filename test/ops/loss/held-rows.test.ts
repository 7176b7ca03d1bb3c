// Rows of logits that a device keeps in shared memory between their two readings, in blocks alone and in clusters: every bit is that of
// the three calls which read them again, in whatever order the threads come, and whether blocks have one row each or many.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { distFile } from "../../support/dist";
import { eachBackend } from "../../support/each-backend";
import { HANG_MS } from "../../support/hang";

type Case = readonly [dtype: string, shape: readonly [rows: number, vocab: number, stride?: number]];

/** A part of a slice; slices that end within and without 16 bytes; clusters of two, four and eight blocks, the last with fewer slices. */
const CASES: readonly Case[] = [
  ["bfloat16", [7, 8]],
  ["float16", [9, 1000]],
  ["float32", [7, 1002, 1004]],
  ["bfloat16", [7, 4096]],
  ["bfloat16", [7, 4101, 4120]],
  ["float16", [5, 12_296]],
  ["bfloat16", [5, 57_344]],
  ["float16", [3, 57_353, 57_360]],
  ["bfloat16", [3, 110_600]],
  ["float32", [5, 29_000]],
  ["float32", [3, 70_000]],
  ["float32", [3, 120_000]],
];

/** The cases with what of them differs. */
function compared(cases: readonly Case[], environment: NodeJS.ProcessEnv): unknown {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(__dirname, "held-rows.cjs"), distFile("index.js"), JSON.stringify(cases)],
    { env: { ...process.env, ...environment }, encoding: "utf8", timeout: HANG_MS },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout);
}

const SAME = CASES.map(([dtype, [rows, vocab, stride = vocab]]) => {
  const finite = rows > 4 ? rows - 2 : rows; // entropies: see there
  return { dtype, rows, vocab, stride, finite, differ: [] };
});

eachBackend(() => {
  test.each(["forward", "reverse", "random"])("the bits are those of rows that are read again, order %s", (order) => {
    for (const multiprocessors of ["1", "132"])
      expect(
        compared(CASES, {
          SURPRISAL_EMULATION_ORDER: order,
          SURPRISAL_EMULATION_MULTIPROCESSORS: multiprocessors,
        }),
      ).toEqual(SAME);
  });

  test("and where a device has no clusters", () => {
    expect(compared(CASES, { SURPRISAL_EMULATION_CAPABILITY: "8.0" })).toEqual(SAME);
  });
}, ["emulated"]);
