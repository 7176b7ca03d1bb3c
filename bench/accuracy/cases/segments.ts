// Rows inside rows: where runs of kept tokens begin, and what ops make of them: means of runs, and returns from run to run.
import { discountedReturns, endValues, moments, segments } from "../../../lib";
import { rng } from "../../../test/support/rng";
import { exact, float64Sum, U64 } from "../budgets";
import { floats, largest, sumOf, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Case } from "../measure";

const [B, T] = [5, 60];
const n = B * T;
const GAMMA = 0.9;
const INPUTS: Readonly<Record<string, (r: ReturnType<typeof rng>) => ArrayLike<number>>> = {
  random: (r) => r.normal(n, 0, 1),
  "offset 1e4": (r) => r.normal(n, 1e4, 1),
};

/** The kept tokens of each run, by row. */
function runsOf(mask: Uint8Array): number[][][] {
  return Array.from({ length: B }, (_, b) => {
    const runs: number[][] = [];
    for (let i = b * T; i < (b + 1) * T; ++i) {
      if (mask[i] === 0) continue;
      if (i > b * T && mask[i - 1] !== 0) runs[runs.length - 1]!.push(i);
      else runs.push([i]);
    }
    return runs;
  });
}

function caseOf(input: string, dtype: WideFloat): Case {
  const r = rng(91);
  const mask = r.mask(n, 0.7);
  mask.fill(0, 0, 3).fill(1, 3, 5); // a row that begins masked
  const x = floats(dtype, INPUTS[input]!(r));
  const rows = runsOf(mask);
  const runs = rows.flat();
  // A segment ends where the next run of its row begins.
  const begins = rows.flatMap((row, b) => row.map(([first], k) => (k === 0 ? b * T : first!)));
  const size = largest(x);
  const last = (run: readonly number[]): number => x[run[run.length - 1]!]!;
  const returns = rows.flatMap((row) =>
    row.map((_, k) => row.slice(k).reduce((sum, run, later) => sum + GAMMA ** later * last(run), 0)),
  );
  return {
    op: "segments",
    dtype,
    input,
    want: {
      offsets: { values: [...begins, n], budget: exact },
      means: {
        values: runs.map((run) => sumOf(run.map((i) => x[i]!)) / run.length),
        budget: { says: "c·2⁻⁵³ of the largest", allowed: (_, k) => (runs[k]!.length + 16) * U64 * size },
      },
      returns: { values: returns, budget: float64Sum(dtype, T, () => size / (1 - GAMMA)) },
    },
    run: (backend) => {
      const { offsets, rowOffsets, mask: inside } = segments({ shape: [B, T], mask });
      const { means } = moments(x, { offsets, mask: inside, over: "row", backend });
      const ends = endValues(x, { offsets, mask: inside, at: "last" });
      return { offsets, means, returns: discountedReturns(ends, { offsets: rowOffsets, gamma: GAMMA, backend }) };
    },
  };
}

export default function segmentCases(): Case[] {
  return WIDE_FLOATS.flatMap((dtype) => Object.keys(INPUTS).map((input) => caseOf(input, dtype)));
}
