// Quantile and top-k masks (contract: native/include/surprisal/select.h), by sorting the candidates of each unit.
import { rowBegin, rowEnd } from "../../core/rows";
import { SCOPE_CODE, type SelectOps, type SelectQuantileArgs, type SelectTopArgs } from "../contract/select";

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
  const all = a.over === SCOPE_CODE.all;
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

/** At most `high`, see select_keys.h. */
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
    if (a.threshold) a.threshold[unit.number] = threshold;
    if (!a.selected) return;
    for (let i = unit.begin; i < unit.end; ++i) a.selected[i] = kept(a, i) && a.values[i]! >= threshold ? 1 : 0;
  });
}

function selectTop(a: SelectTopArgs): void {
  eachUnit(a, ({ number, begin, end, count, sorted }) => {
    const wanted = Number.isNaN(a.share) ? a.k : Math.max(Math.floor(a.share * count), a.least);
    const k = Math.min(wanted, count);
    if (a.count) a.count[number] = k;
    // Every number above the k-th is taken, and the first of those equal to it. The k-th is NaN where numbers run out: then
    // all of them are above it, and NaN counts as equal to it.
    const smallest = k > 0 && k <= sorted.length ? sorted[sorted.length - k]! : k > 0 ? NaN : Infinity;
    const above = (x: number): boolean => (Number.isNaN(smallest) ? !Number.isNaN(x) : x > smallest);
    const equal = (x: number): boolean => (Number.isNaN(smallest) ? Number.isNaN(x) : x === smallest);
    let left = k;
    for (const x of sorted) if (above(x)) --left;
    for (let i = begin; i < end; ++i) {
      const x = a.values[i]!;
      a.selected[i] = kept(a, i) && (above(x) || (equal(x) && left-- > 0)) ? 1 : 0;
    }
  });
}

export const selectOps: SelectOps = { selectQuantile, selectTop };
