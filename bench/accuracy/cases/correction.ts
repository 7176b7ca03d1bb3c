// Statistics of two policies and their bounds, against their definitions.
import { boundMismatch, measureMismatch, type MismatchStatistic } from "../../../lib";
import { keptRows, m2Of, mean, statisticOf, statistics, sum } from "../../../test/oracle/correction";
import { rng } from "../../../test/support/rng";
import { roundingOf, U64 } from "../budgets";
import { floats, largest, sumOf, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Case } from "../measure";

const SHAPE = [4, 60] as const;
const STATISTICS = ["k1", "k2", "k3", "ratio", "current", "total"] as const;
const UNITS = 8; // 4 ulp of float64 in the header, in units of 2^-53

const KINDS: Readonly<Record<string, (r: ReturnType<typeof rng>, n: number) => ArrayLike<number>>> = {
  random: (r, n) => r.normal(n, 0, 0.25),
  "close: differences of 1e-6": (r, n) => r.normal(n, 0, 1e-6),
  "flat: the same policy": (_, n) => new Float64Array(n),
  "apart: ratios from e⁻²⁰ to e²⁰": (r, n) => r.f64(n, -20, 20),
};

function cases(dtype: WideFloat, input: string, shift: ArrayLike<number>, statistic: MismatchStatistic): Case[] {
  const [B, T] = SHAPE;
  const n = B * T;
  const r = rng(92);
  const old = floats(dtype, r.f64(n, -30, -20));
  const current = floats(
    dtype,
    Array.from(old, (x, i) => x + shift[i]!),
  );
  const mask = r.mask(n, 0.7);
  const rows = keptRows(current, old, mask, T);
  const values = rows.map((row) => statistics(statistic, row));
  const size = values.map((list) => sumOf(list.map(Math.abs)));
  const spread = values.map((list) => largest(list.map((x) => x - mean(list))));
  const options = { shape: SHAPE, mask, statistic } as const;
  return [
    {
      op: `measureMismatch (${statistic})`,
      dtype,
      input,
      want: {
        sums: {
          values: values.map(sum),
          budget: {
            says: "4 ulp of each, c·2⁻⁵³ of their size",
            allowed: (_, b) => (UNITS + values[b]!.length) * U64 * size[b]!,
          },
        },
        m2s: {
          values: values.map(m2Of),
          // Each of the statistics may be off by 4 ulp, and its definition by as much; a deviation, by two of them.
          budget: {
            says: "(8 + c)·2⁻⁵³, and 4 ulp of each",
            allowed: (want, b) =>
              (8 + values[b]!.length) * U64 * want +
              8 * (UNITS + 1) * U64 * size[b]! * spread[b]! +
              (2 * UNITS * U64 * size[b]!) ** 2,
          },
        },
      },
      run: (backend) => {
        const { sums, m2s } = measureMismatch(current, old, { ...options, backend }).moments;
        return { sums, m2s };
      },
    },
    {
      op: `boundMismatch (${statistic})`,
      dtype,
      input,
      want: {
        weights: {
          values: Array.from(current, (x, i) => (mask[i] ? statisticOf(statistic, x, old[i]!) : 0)),
          budget: {
            says: "4 ulp of float64, rounded once",
            allowed: (want) => UNITS * U64 * Math.abs(want) + roundingOf(dtype, want),
          },
        },
      },
      run: (backend) => ({ weights: boundMismatch(current, old, { ...options, backend }).weights }),
    },
  ];
}

export default function correctionCases(reduced: boolean): Case[] {
  const kinds = Object.entries(KINDS);
  return WIDE_FLOATS.flatMap((dtype) =>
    (reduced ? kinds.slice(0, 2) : kinds).flatMap(([input, shift]) =>
      STATISTICS.flatMap((statistic) => cases(dtype, input, shift(rng(91), SHAPE[0] * SHAPE[1]), statistic)),
    ),
  );
}
