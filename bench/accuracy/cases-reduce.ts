// Moments against exact arithmetic, whitening against the differences of all pairs.
import { affine, mergeMoments, moments, type Moments, whiten } from "../../lib";
import { whitened } from "../../test/oracle/estimators";
import { momentsOracle } from "../../test/oracle/reduce";
import { rng } from "../../test/support/rng";
import { exact, float64Sum, U64, ulps, unstated } from "./budgets";
import { floats, largest, rowsOf, WIDE_FLOATS, type WideFloat } from "./inputs";
import type { Case, Expected } from "./measure";

type Make = (n: number) => ArrayLike<number>;

const KINDS: Readonly<Record<string, Make>> = {
  random: (n) => rng(61).f64(n, -1, 1),
  "flat, 0.1": (n) => new Float64Array(n).fill(0.1),
  "offset 1e6": (n) => rng(62).f64(n, 1e6, 1e6 + 4),
  "hot, ±1e30": (n) => rng(63).f64(n, -1e30, 1e30),
  "one outlier, 1e6": (n) => rng(64).f64(n).map((x, i) => (i === 11 ? 1e6 : x)),
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
          values: Array.from(values, (x, i) => (mask[i] ? (x - center[Math.floor(i / T)]!) * scale[Math.floor(i / T)]! : 0)),
          budget: float64Sum(dtype, 1, (want) => Math.abs(want)),
        },
      },
      run: (backend) => ({ mapped: affine(values, { shape, mask, center, scale, backend }) }),
    },
  ];
}

export function reduceCases(reduced: boolean): Case[] {
  return WIDE_FLOATS.flatMap((dtype) =>
    Object.entries(KINDS).flatMap(([input, make]) => [
      ...momentCases(dtype, input, make, 4, 300),
      // Several chunks of 4096; 60 000 is the length up to which the header gives figures.
      ...(reduced ? [] : momentCases(dtype, `${input}, 3 rows of 20 000`, make, 3, 20_000)),
      ...mapCases(dtype, input, make),
    ]),
  );
}
