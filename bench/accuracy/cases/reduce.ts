// Moments against exact arithmetic, whitening against the differences of all pairs.
import { affine, clamp, countKept, gammaWeights, mergeMoments, moments, type Moments, whiten } from "../../../lib";
import { whitened } from "../../../test/oracle/estimators";
import { momentsOracle } from "../../../test/oracle/reduce";
import { rng } from "../../../test/support/rng";
import { exact, float64Sum, roundingOf, U64, ulps, unstated } from "../budgets";
import { floats, largest, rowsOf, sumOf, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Case, Expected } from "../measure";

type Make = (n: number) => ArrayLike<number>;

const KINDS: Readonly<Record<string, Make>> = {
  random: (n) => rng(61).f64(n, -1, 1),
  "flat, 0.1": (n) => new Float64Array(n).fill(0.1),
  "offset 1e6": (n) => rng(62).f64(n, 1e6, 1e6 + 4),
  "hot, ±1e30": (n) => rng(63).f64(n, -1e30, 1e30),
  "one outlier, 1e6": (n) =>
    rng(64)
      .f64(n)
      .map((x, i) => (i === 11 ? 1e6 : x)),
  "rising, 0 to 1e4": (n) => Float64Array.from({ length: n }, (_, i) => (1e4 * i) / n),
};

/** c of the header: what a chunk adds up in order. */
const added = (count: number): number => Math.min(count, 4096);

function momentsWanted(rows: readonly (readonly number[])[]): Readonly<Record<string, Expected>> {
  const found = rows.map(momentsOracle);
  const deviations = rows.map((row, b) => largest(row.map((x) => x - found[b]!.mean)));
  const ratio = found.map(({ mean, m2, count }) => (m2 > 0 ? Math.abs(mean) / Math.sqrt(m2 / count) : 0));
  return {
    counts: { values: found.map(({ count }) => count), budget: exact },
    mins: { values: found.map(({ min }) => min), budget: exact },
    maxs: { values: found.map(({ max }) => max), budget: exact },
    sums: { values: found.map(({ sum }) => sum), budget: unstated },
    means: {
      values: found.map(({ mean }) => mean),
      budget: {
        says: "1 ulp + c·2⁻⁵³ of the largest deviation",
        allowed: (want, b) => ulps("float64", 1, want) + added(rows[b]!.length) * U64 * deviations[b]!,
      },
    },
    m2s: {
      values: found.map(({ m2 }) => m2),
      budget: {
        says: "(8 + c + |mean|/std)·2⁻⁵³, relatively",
        allowed: (want, b) => (8 + added(rows[b]!.length) + ratio[b]!) * U64 * want,
      },
    },
  };
}

const fields = ({ counts, mins, maxs, sums, means, m2s }: Moments) => ({ counts, mins, maxs, sums, means, m2s });

function momentCases(dtype: WideFloat, input: string, make: Make, B: number, T: number): Case[] {
  const values = floats(dtype, make(B * T));
  const shape = [B, T] as const;
  return [
    {
      op: "moments",
      dtype,
      input,
      want: momentsWanted(rowsOf(values, T)),
      run: (backend) => fields(moments(values, { shape, over: "row", backend })),
    },
    {
      op: "mergeMoments",
      dtype,
      input,
      want: momentsWanted([Array.from(values)]),
      run: (backend) => fields(mergeMoments(moments(values, { shape, over: "row", backend }), { backend })),
    },
  ];
}

function mapCases(dtype: WideFloat, input: string, make: Make): Case[] {
  const B = 5;
  const T = 37;
  const shape = [B, T] as const;
  const values = floats(dtype, make(B * T));
  const mask = rng(65).mask(B * T, 0.7);
  const rows = rowsOf(values, T);
  const kept = rowsOf(mask, T).map((flags) => flags.map((flag) => flag === 1));
  const rollouts = rows.map((rewards, b) => ({ rewards, kept: kept[b]!, group: 0 }));
  const inside = Array.from(values).filter((_, i) => mask[i] === 1);
  const { mean, m2, count } = momentsOracle(inside);
  const variance = m2 / (count - 1);
  const divisor = Math.sqrt(variance + 1e-8);
  const meanError = ulps("float64", 1, mean) + added(count) * U64 * largest(inside.map((x) => x - mean));
  const m2Error = (8 + added(count) + (variance > 0 ? Math.abs(mean) / Math.sqrt(variance) : 0)) * U64;
  const center = rng(66).f64(B, -1, 1);
  const scale = rng(67).f64(B, 0.5, 2);
  return [
    {
      op: "whiten",
      dtype,
      input,
      want: {
        whitened: {
          values: whitened(rows, rollouts, 1e-8).flat(),
          budget: {
            says: "2 ulp beyond mean and M2",
            allowed: (want) => ulps(dtype, 2, want) + meanError / divisor + Math.abs(want) * m2Error,
          },
        },
      },
      run: (backend) => ({ whitened: whiten(values, { shape, mask, over: "all", varianceEpsilon: 1e-8, backend }) }),
    },
    {
      op: "affine",
      dtype,
      input,
      want: {
        mapped: {
          values: Array.from(values, (x, i) =>
            mask[i] ? (x - center[Math.floor(i / T)]!) * scale[Math.floor(i / T)]! : 0,
          ),
          budget: float64Sum(dtype, 1, (want) => Math.abs(want)),
        },
      },
      run: (backend) => ({ mapped: affine(values, { shape, mask, center, scale, backend }) }),
    },
  ];
}

/** Bounds inside the range of the numbers: what comes out is one of three numbers, and counts are whole. */
function clampCase(dtype: WideFloat, input: string, make: Make): Case {
  const B = 5;
  const T = 37;
  const values = floats(dtype, make(B * T));
  const mask = rng(65).mask(B * T, 0.7);
  const sorted = Array.from(values).sort((a, b) => a - b);
  const low = sorted[Math.floor(0.2 * sorted.length)]!;
  const high = sorted[Math.floor(0.7 * sorted.length)]!;
  const inside = Array.from(values, (x) => (x < low ? low : x > high ? high : x));
  const kept = rowsOf(mask, T).map((flags) => flags.filter((flag) => flag === 1).length);
  const moved = rowsOf(
    Array.from(values, (x, i) => (mask[i] === 1 && x !== inside[i] ? 1 : 0)),
    T,
  ).map(sumOf);
  return {
    op: "clamp",
    dtype,
    input,
    want: {
      clamped: { values: inside.map((x, i) => (mask[i] === 1 ? x : 0)), budget: exact },
      kept: { values: kept, budget: exact },
      outside: { values: moved, budget: exact },
    },
    run: (backend) => ({ ...clamp(values, { shape: [B, T], mask, low, high, backend }) }),
  };
}

/** No numbers enter, so one dtype stands for both. */
function countCase(): Case {
  const T = 5000;
  const mask = rng(66).mask(3 * T, 0.7);
  const counts = rowsOf(mask, T).map((flags) => flags.filter((flag) => flag === 1).length);
  return {
    op: "countKept",
    dtype: "float64",
    input: "3 rows of 5000",
    want: { counts: { values: counts, budget: exact } },
    run: (backend) => ({ counts: countKept({ shape: [3, T], mask, backend }) }),
  };
}

/** Log ratios of rows that agree, drift apart, and lie at the bound. */
const DRIFTS: Readonly<Record<string, number>> = { "near 1": 1e-3, "drifting, ±0.3": 0.3, "at the bound, ±8": 8 };
const BOUND = 20;

function gammaCase(dtype: WideFloat, input: string, drift: number): Case {
  const B = 6;
  const T = 40;
  const ratios = floats(dtype, rng(68).f64(B * T, -drift, drift));
  const factors = floats(dtype, rng(69).f64(B * T, 0.5, 1.5));
  const signs = floats(
    dtype,
    Array.from({ length: B }, (_, b) => (b % 2 === 0 ? 1 : -1)),
  );
  const clip = (x: number): number => Math.min(Math.max(x, Math.log(1e-8)), BOUND);
  const terms = rowsOf(ratios, T).map((row, b) => [...row, ...rowsOf(factors, T)[b]!.map(Math.log)]);
  // Both sums from exact arithmetic: a plain one would have the errors that are looked for.
  const sums = terms.map((row) => momentsOracle(row.slice(0, T)).sum + clip(momentsOracle(row.slice(T)).sum));
  const logs = sums.map(clip);
  const sizes = terms.map((row) => sumOf(row.map(Math.abs)) + 1);
  const shapes = Array.from(signs, (sign): readonly [shape: number, rate: number] => (sign >= 0 ? [2, 3] : [3, 2]));
  const weights = logs.map((w, b) => Math.exp(shapes[b]![1] + shapes[b]![0] * w - shapes[b]![1] * Math.exp(w)));
  // d ln φ / d ln w = shape − rate·w, which magnifies what the sum and its exponential lose.
  const slope = (b: number): number =>
    16 + Math.abs(shapes[b]![0] * logs[b]!) + shapes[b]![1] * (1 + Math.exp(logs[b]!) * (1 + Math.abs(logs[b]!)));
  const lost = (b: number): number => (2 * T + 16) * U64 * sizes[b]!;
  return {
    op: "gammaWeights",
    dtype,
    input,
    want: {
      logWeights: {
        values: logs,
        budget: { says: "float64, rounded once", allowed: (want, b) => roundingOf(dtype, want) + lost(b) },
      },
      weights: {
        values: weights,
        budget: {
          says: "float64, rounded once, times the condition",
          allowed: (want, b) => roundingOf(dtype, want) + want * (slope(b) * (lost(b) + 4 * U64)),
        },
      },
    },
    run: (backend) => ({ ...gammaWeights(ratios, signs, { shape: [B, T], factors, bound: BOUND, backend }) }),
  };
}

export default function reduceCases(reduced: boolean): Case[] {
  return WIDE_FLOATS.flatMap((dtype) =>
    Object.entries(KINDS).flatMap(([input, make]) => [
      ...momentCases(dtype, input, make, 4, 300),
      // Several chunks of 4096; 60 000 is the length up to which the header gives figures.
      ...(reduced ? [] : momentCases(dtype, `${input}, 3 rows of 20 000`, make, 3, 20_000)),
      ...mapCases(dtype, input, make),
      clampCase(dtype, input, make),
    ]),
  ).concat(
    WIDE_FLOATS.flatMap((dtype) => Object.entries(DRIFTS).map(([input, drift]) => gammaCase(dtype, input, drift))),
    countCase(),
  );
}
