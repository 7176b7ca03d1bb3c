// Where float64 is slow, single tokens and ids are pairs of float32 (native/cuda/two_floats.cuh): what comes of them is that of float64.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { distFile } from "../support/dist";
import { eachBackend } from "../support/each-backend";
import { HANG_MS } from "../support/hang";

type Result = readonly [op: string, name: string, kind: string, numbers: readonly string[]];

function resultsOn(capability: string): readonly Result[] {
  const program = join(__dirname, "slow-float64.cjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, distFile("index.js")], {
    env: { ...process.env, SURPRISAL_EMULATION_CAPABILITY: capability },
    encoding: "utf8",
    timeout: HANG_MS,
    maxBuffer: 1 << 28,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as readonly Result[];
}

/** How far two finite numbers may be apart: a sum of a row, 700 terms of about 1, by 1e-12; a divergence as its contract says; what is rounded by one unit of the last place. */
const ALLOWED: Readonly<Record<string, (x: number) => number>> = {
  sums: (x) => 1e-12 * (700 + Math.abs(x)),
  divergences: (x) => 1e-12 * x + 1e-14,
  float32: (x) => 2 ** -23 * Math.abs(x),
  bfloat16: (x) => 2 ** -7 * Math.abs(x),
};

function apart(kind: string, a: string, b: string): boolean {
  const x = Number(a);
  const y = Number(b);
  return !(Number.isFinite(x) && Number.isFinite(y)) || Math.abs(x - y) > ALLOWED[kind]!(x);
}

eachBackend(() => {
  test("pairs of float32 give what float64 gives, in sums to 1e-12", () => {
    const pairs = resultsOn("8.9");
    const ops = new Set<string>();
    const inPairs = new Set<string>();
    const wrong = resultsOn("8.0").flatMap(([op, name, kind, numbers], k) => {
      const others = pairs[k]![3];
      const differ = numbers.flatMap((number, i) => (number === others[i] ? [] : [i]));
      ops.add(op);
      if (differ.length > 0) inPairs.add(op);
      const far = differ.filter((i) => apart(kind, numbers[i]!, others[i]!));
      // What is rounded differs where float64 lies next to the middle of two values.
      const many = kind !== "sums" && kind !== "divergences" && differ.length > numbers.length / 100;
      return far.length > 0 || many ? [`${name}: ${differ.length} differ, ${far.length} by more`] : [];
    });
    expect(wrong).toEqual([]);
    // Bounds are rounded to float32, and the log ratios of a row add up exactly either way: of these nothing has to show.
    expect([...ops].filter((op) => !inPairs.has(op) && !/^(rowLoss|boundMismatch)/.test(op))).toEqual([]);
    expect(ops.size).toBe(7 + 1 + 2 * 8 + 2);
  });
}, ["emulated"]);
