// Quantile and top-k masks (contract: native/include/surprisal/select.h), by sorting the candidates of each unit.
import { notFinite } from "../../core/not-finite";
import { rowBegin, rowEnd } from "../../core/row-layout";
import { REDUCE_SCOPES } from "../contract/reduce";
import type { SelectOps, SelectQuantileArgs, SelectTopArgs } from "../contract/select";
import { selectCovariance } from "./select-covariance";
import { topCount, topCut } from "./top-cut";

const OVER_ALL = REDUCE_SCOPES.indexOf("all");

type UnitArgs = SelectQuantileArgs | SelectTopArgs;

/** The elements of one unit, and what its candidates are. */
interface Unit {
  readonly number: number;
  readonly begin: number;
  readonly end: number;
  /** Candidates. */
  readonly count: number;
  /** Those that are not NaN, upwards. */
  readonly sorted: Float64Array;
}

function kept(a: UnitArgs, i: number): boolean {
  return !a.mask || a.mask[i] !== 0;
}

function eachUnit(a: UnitArgs, visit: (unit: Unit) => void): void {
  const all = a.over === OVER_ALL;
  for (let number = 0; number < (all ? 1 : a.B); ++number) {
    const begin = all ? 0 : rowBegin(a, number);
    const end = all ? a.n : rowEnd(a, number);
    const numbers = new Float64Array(end - begin);
    let count = 0;
    let size = 0;
    for (let i = begin; i < end; ++i) {
      if (!kept(a, i)) continue;
      ++count;
      // -0 becomes 0, since typed arrays sort the two apart.
      if (!Number.isNaN(a.values[i]!)) numbers[size++] = a.values[i]! + 0;
    }
    visit({ number, begin, end, count, sorted: numbers.subarray(0, size).sort() });
  }
}

/** At most `high`, see native/shared/select.h. */
function interpolate(low: number, high: number, fraction: number): number {
  if (fraction === 0) return low;
  const difference = high - low;
  if (!Number.isFinite(difference)) return (1 - fraction) * low + fraction * high;
  return low + fraction * difference;
}

function thresholdOf({ count, sorted }: Unit, q: number): number {
  if (count === 0 || sorted.length < count) return NaN;
  const rank = q * (count - 1);
  const lower = Math.floor(rank);
  return interpolate(sorted[lower]!, sorted[Math.min(lower + 1, count - 1)]!, rank - lower);
}

function selectQuantile(a: SelectQuantileArgs): void {
  eachUnit(a, (unit) => {
    const threshold = thresholdOf(unit, a.q);
    if (a.thresholds) a.thresholds[unit.number] = threshold;
    if (!a.selected) return;
    for (let i = unit.begin; i < unit.end; ++i) a.selected[i] = kept(a, i) && a.values[i]! >= threshold ? 1 : 0;
  });
}

function selectTop(a: SelectTopArgs): void {
  eachUnit(a, ({ number, begin, end, count, sorted }) => {
    const k = topCount(a, count);
    if (k > 0 && sorted.length < count) throw notFinite("values");
    if (a.counts) a.counts[number] = k;
    const takes = topCut(sorted, k);
    for (let i = begin; i < end; ++i) a.selected[i] = kept(a, i) && takes(a.values[i]!) ? 1 : 0;
  });
}

export const selectOps: SelectOps = { selectQuantile, selectTop, selectCovariance };
