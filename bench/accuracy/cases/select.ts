// Thresholds and selections: the same bits everywhere, so the budget is 0.
import { covarianceMask, quantileMask, topMask } from "../../../lib";
import { covariancesOracle, membersOf, quantileOracle, topOracle } from "../../../test/oracle/select";
import { rng } from "../../../test/support/rng";
import { exact } from "../budgets";
import { floats, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Case } from "../measure";

const KINDS: Readonly<Record<string, (n: number) => ArrayLike<number>>> = {
  random: (n) => rng(111).f64(n, 0, 3),
  "flat, 0.1": (n) => new Float64Array(n).fill(0.1),
  "many ties": (n) => rng(112).i32(n, 0, 4),
  "hot, ±1e30": (n) => rng(113).f64(n, -1e30, 1e30),
  "neighbours, 1 ulp of float32": (n) =>
    rng(114)
      .i32(n, 0, 64)
      .map((k) => 2 ** 24 + k),
};

function kindCases(
  dtype: WideFloat,
  input: string,
  make: (n: number) => ArrayLike<number>,
  over: "row" | "all",
): Case[] {
  const shape = [4, 75] as const;
  const values = floats(dtype, make(300));
  const mask = rng(115).mask(300, 0.7);
  const units = membersOf(300, 4, mask, over);
  const q = 0.8;
  const thresholds = units.map((unit) =>
    quantileOracle(
      unit.map((i) => values[i]!),
      q,
    ),
  );
  const above = new Uint8Array(300);
  units.forEach((unit, u) => unit.forEach((i) => (above[i] = values[i]! >= thresholds[u]! ? 1 : 0)));
  const count = (candidates: number): number => Math.floor(0.25 * candidates);
  return [
    {
      op: `quantileMask (${over})`,
      dtype,
      input,
      want: { thresholds: { values: thresholds, budget: exact }, selected: { values: above, budget: exact } },
      run: (backend) => ({ ...quantileMask(values, { shape, mask, over, q, backend }) }),
    },
    {
      op: `topMask (${over})`,
      dtype,
      input,
      want: {
        selected: { values: topOracle(values, units, count), budget: exact },
        counts: { values: units.map((unit) => count(unit.length)), budget: exact },
      },
      run: (backend) => ({ ...topMask(values, { shape, mask, over, share: 0.25, backend }) }),
    },
  ];
}

/** Flags alone: no covariance of these lies so near another one, or an end of the range, that rounding decides. */
function covarianceCases(dtype: WideFloat): Case[] {
  const shape = [4, 75] as const;
  const logProbs = floats(dtype, rng(116).f64(300, -3, 0));
  const advantages = floats(dtype, rng(117).f64(300, -1, 2));
  const mask = rng(118).mask(300, 0.7);
  const [members] = membersOf(300, 4, mask, "all");
  const covariances = covariancesOracle(logProbs, advantages, members!);
  const [low, high] = [0.1, 0.5];
  const inside = Uint8Array.from(covariances, (x) => (x > low && x < high ? 1 : 0));
  const largest = topOracle(covariances, [members!], (candidates) => Math.floor(0.1 * candidates));
  return [
    {
      op: "covarianceMask (between)",
      dtype,
      input: "random",
      want: { selected: { values: inside, budget: exact } },
      run: (backend) => ({
        selected: covarianceMask(logProbs, advantages, { shape, mask, between: [low, high], backend }).selected,
      }),
    },
    {
      op: "covarianceMask (share)",
      dtype,
      input: "random",
      want: { selected: { values: largest, budget: exact } },
      run: (backend) => ({
        selected: covarianceMask(logProbs, advantages, { shape, mask, share: 0.1, backend }).selected,
      }),
    },
  ];
}

export default function selectCases(): Case[] {
  return WIDE_FLOATS.flatMap((dtype) => [
    ...Object.entries(KINDS).flatMap(([input, make]) =>
      (["row", "all"] as const).flatMap((over) => kindCases(dtype, input, make, over)),
    ),
    ...covarianceCases(dtype),
  ]);
}
