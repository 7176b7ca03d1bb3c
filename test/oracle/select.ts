// Masks of the highest values by full sorts of (value, index) pairs, and quantiles by full sorts of values.
import { momentsOracle } from "./reduce";

/** Elements of a unit that take part. */
export type Members = readonly number[];

/** Rows of a padded batch, or all of it as one unit, without what the mask leaves out. */
export function membersOf(n: number, rows: number, mask: Uint8Array | undefined, over: "row" | "all"): Members[] {
  const kept = Array.from({ length: n }, (_, i) => i).filter((i) => !mask || mask[i] !== 0);
  if (over === "all") return [kept];
  return Array.from({ length: rows }, (_, b) => kept.filter((i) => Math.floor(i / (n / rows)) === b));
}

/** The k largest, equal ones by index, NaN behind everything. */
export function topOracle(
  values: ArrayLike<number>,
  units: readonly Members[],
  count: (candidates: number) => number,
): Uint8Array {
  const selected = new Uint8Array(values.length);
  const rank = (i: number): number => (Number.isNaN(values[i]) ? 1 : 0);
  for (const unit of units) {
    const order = [...unit].sort(
      (i, j) => rank(i) - rank(j) || (rank(i) === 0 ? compare(values[j]!, values[i]!) : 0) || i - j,
    );
    for (const i of order.slice(0, count(unit.length))) selected[i] = 1;
  }
  return selected;
}

function compare(x: number, y: number): number {
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Finite candidates, one at least. */
export function quantileOracle(values: readonly number[], q: number): number {
  const sorted = [...values].sort((x, y) => x - y);
  const rank = q * (values.length - 1);
  const weight = rank % 1;
  const low = sorted[Math.floor(rank)]!;
  return weight === 0 ? low : low + weight * (sorted[Math.ceil(rank)]! - low);
}

/**
 * Covariance terms of the members of a batch, about means that are exact but for one rounding; what is left out is NaN.
 * `advantages` one per token; finite numbers.
 */
export function covariancesOracle(
  logProbs: ArrayLike<number>,
  advantages: ArrayLike<number>,
  members: Members,
  countEpsilon = 0,
): Float64Array {
  const meanOf = (values: ArrayLike<number>): number => {
    const { mean, count } = momentsOracle(members.map((i) => values[i]!));
    return (mean / (count + countEpsilon)) * count;
  };
  const [middle, level] = [meanOf(logProbs), meanOf(advantages)];
  const covariances = new Float64Array(logProbs.length).fill(NaN);
  for (const i of members) covariances[i] = (logProbs[i]! - middle) * (advantages[i]! - level);
  return covariances;
}
