// Statistics of a batch as workers have them who see a part each: the parts' moments, merged.
import { mergeMoments, moments } from "../../../lib";
import type { BackendName } from "../../support/each-backend";
import { cpgd, gpg, multiReward, outcome, ppo, rlooWithKl, type Run } from "./estimator-runs";
import { subset, type TokenCase } from "./token-batch";

/** Both sides of a law: the results of the whole, and what comes of its parts. */
export type Merge = (
  whole: TokenCase,
  backend: BackendName,
) => readonly [whole: ArrayLike<number>, parts: ArrayLike<number>];

interface Statistics {
  readonly mean: number;
  readonly count: number;
  /** Σ (x − mean)². */
  readonly m2: number;
}

const variance = ({ m2, count }: Statistics): number => (count > 1 ? m2 / (count - 1) : 0);

/** Rows of group "0", and the others: no group is cut. */
export function partsOf({ padded, rows }: TokenCase): number[][] {
  const all = Array.from({ length: rows }, (_, b) => b);
  return [all.filter((b) => padded.groups[b] === "0"), all.filter((b) => padded.groups[b] !== "0")];
}

/** Puts numbers of the parts, per row or per token, where the whole has them. */
export function joined(given: TokenCase, parts: readonly ArrayLike<number>[]): number[] {
  const { rows, width } = given;
  const orders = partsOf(given);
  const perToken = parts.some((part, i) => part.length > orders[i]!.length) || rows === 0;
  const size = perToken ? width : 1;
  const whole = new Array<number>(rows * size).fill(0);
  orders.forEach((order, i) => {
    order.forEach((b, k) => {
      for (let t = 0; t < size; ++t) whole[b * size + t] = parts[i]![k * size + t]!;
    });
  });
  return whole;
}

/**
 * Each part gives its raw numbers and those that are `measured`, per row or at kept tokens (NaN counts as missing); `map` makes
 * advantages of them with the merged moments. 0 under the mask.
 */
function merged(part: Run, map: (raw: number, statistics: Statistics) => number, whole: Run): Merge {
  return (given, backend) => {
    const batches = partsOf(given).map((order) => subset(given, order));
    const results = batches.map((batch) => part(batch, backend));
    const perToken = (values: ArrayLike<number>, i: number): boolean => values.length === batches[i]!.mask.length;
    const state = mergeMoments(
      results.map(({ raw, measured = raw }, i) => {
        const values = Float64Array.from(measured!);
        return moments(values, { ...(perToken(values, i) && { mask: batches[i]!.mask }), nan: "abstain", backend });
      }),
      { backend },
    );
    const statistics = { mean: state.means[0]!, count: state.counts[0]!, m2: state.m2s[0]! };
    const mapped = results.map(({ raw }, i) =>
      Array.from(raw!, (x, k) => (perToken(raw!, i) && batches[i]!.mask[k] === 0 ? 0 : map(x, statistics))),
    );
    return [whole(given.padded, backend)["advantages"]!, joined(given, mapped)];
  };
}

export const whitened = (part: Run, whole: Run): Merge =>
  merged(part, (x, statistics) => (x - statistics.mean) / Math.sqrt(variance(statistics) + 1e-8), whole);

/** Advantages before whitening are returns less values. */
export const rawPpo: Run = (batch, backend) => {
  const { returns } = ppo({})(batch, backend);
  return { raw: Float64Array.from(returns!, (x, i) => x - batch.tokens.b[i]! / 2) };
};

/** Before the normalisation over the batch, in which a row without siblings has no say. */
const rawRloo: Run = (batch, backend) => {
  const alone = (b: number): boolean => batch.groups.filter((group) => group === batch.groups[b]).length < 2;
  const { advantages } = rlooWithKl({ beta: 0 })(batch, backend);
  return { raw: Float64Array.from(advantages!, (a, b) => (alone(b) ? NaN : a)) };
};

const standardised =
  (epsilon: number) =>
  (x: number, statistics: Statistics): number =>
    Number.isNaN(x) ? 0 : (x - statistics.mean) / (Math.sqrt(variance(statistics)) + epsilon);

export const normalisedRloo = merged(rawRloo, standardised(1e-6), rlooWithKl({ beta: 0, normalize: true }));

export const batchScale = merged(
  (batch, backend) => {
    const { advantages, sums } = multiReward({ scale: "none" })(batch, backend);
    return { raw: advantages!, measured: sums! };
  },
  (x, statistics) => (x === 0 ? 0 : x / (Math.sqrt(variance(statistics)) + 1e-6)),
  multiReward({ scale: "batch" }),
);

const PER_FUNCTION = { aggregation: "normalizeThenSum", epsilon: 1e-4 } as const;
export const normalizeThenSum = merged(
  (batch, backend) => ({ raw: multiReward(PER_FUNCTION)(batch, backend)["sums"]! }),
  standardised(1e-4),
  multiReward(PER_FUNCTION),
);

export const whitenedBaseline = whitened(
  (batch, backend) => ({
    raw: outcome("reinforcePlusPlusBaseline", { whitening: false }, "row")(batch, backend)["advantages"]!,
  }),
  outcome("reinforcePlusPlusBaseline", {}, "row"),
);

export const mergedCpgd = merged(
  ({ rewards }) => ({ raw: rewards }),
  (x, { mean, m2, count }) => (x - mean) / (Math.sqrt(m2 / count) + 1e-6),
  (batch, backend) => ({ advantages: cpgd({})(batch, backend)["rowAdvantages"]! }),
);

/** α of the batch: its rows over those with a score. */
export const mergedGpg: Merge = (given, backend) => {
  const parts = partsOf(given).map((order) => gpg(subset(given, order), backend));
  const scoring = parts.reduce((sum, { scores }) => sum + scores.filter((score) => score !== 0).length, 0);
  const alpha = given.rows / Math.max(scoring, 1);
  const wanted = parts.map((part) => part.rowAdvantages.map((a) => (a / part.alpha) * alpha));
  return [gpg(given.padded, backend).rowAdvantages, joined(given, wanted)];
};
