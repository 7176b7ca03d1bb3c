// Selection by covariance (contract: native/include/surprisal/select.h). The order of additions is that of the contract, so
// that every backend compares the same bits.
import { notFinite } from "../../core/not-finite";
import { rowBegin, rowEnd } from "../../core/row-layout";
import { COVARIANCE_MODES, type SelectCovarianceArgs } from "../contract/select";
import { topCount, topCut } from "./top-cut";

type Args = SelectCovarianceArgs;

const RANGE = COVARIANCE_MODES.indexOf("range");
const LANES = 256;
const WARP = 32;

/** Adds what the lanes hold and leaves them at 0. */
function total(lanes: Float64Array): number {
  for (let first = 0; first < LANES; first += WARP)
    for (let half = WARP / 2; half >= 1; half /= 2)
      for (let lane = first; lane < first + half; ++lane) lanes[lane]! += lanes[lane + half]!;
  let sum = lanes[0]!;
  for (let first = WARP; first < LANES; first += WARP) sum += lanes[first]!;
  lanes.fill(0);
  return sum;
}

/** Visits every token with its row. */
function eachToken(a: Args, visit: (i: number, b: number) => void): void {
  for (let b = 0; b < a.B; ++b) for (let i = rowBegin(a, b), end = rowEnd(a, b); i < end; ++i) visit(i, b);
}

/** Mean over the kept tokens of what `value` says, numbers of the argument `name`. */
function meanOf(a: Args, name: string, value: (i: number, b: number) => number): number {
  const lanes = new Float64Array(LANES);
  const rows = new Float64Array(LANES);
  let count = 0;
  let min = Infinity;
  let max = -Infinity;
  for (let b = 0; b < a.B; ++b) {
    const begin = rowBegin(a, b);
    for (let i = begin, end = rowEnd(a, b); i < end; ++i) {
      if (a.mask && a.mask[i] === 0) continue;
      const x = value(i, b);
      lanes[(i - begin) % LANES]! += x;
      min = Math.min(min, x);
      max = Math.max(max, x);
      ++count;
    }
    rows[b % LANES]! += total(lanes);
  }
  if (count > 0 && !(min > -Infinity && max < Infinity)) throw notFinite(name);
  const divisor = count + a.countEpsilon;
  // Equal numbers have themselves as mean; the rounded quotient need not be.
  return min === max ? min * (count / divisor) : total(rows) / divisor;
}

export function selectCovariance(a: Args): void {
  const advantage = (i: number, b: number): number => a.advantages[a.advantagesPerToken ? i : b]!;
  const meanAdvantage = meanOf(a, "advantages", advantage);
  const meanCurrent = meanOf(a, "logProbs", (i) => a.logProbs[i]!);
  const covariance = (i: number, b: number): number =>
    (advantage(i, b) - meanAdvantage) * (a.logProbs[i]! - meanCurrent);
  const isCandidate = (i: number): boolean => (!a.mask || a.mask[i] !== 0) && !(a.excluded && a.excluded[i] !== 0);
  // A token's flag is written after its `excluded` was read for the last time: both may be the same byte.
  let selected = 0;
  if (a.mode === RANGE) {
    eachToken(a, (i, b) => {
      const value = isCandidate(i) ? covariance(i, b) : NaN;
      selected += a.selected[i] = value > a.low && value < a.high ? 1 : 0;
    });
  } else {
    const numbers = new Float64Array(a.n);
    let count = 0;
    let size = 0;
    eachToken(a, (i, b) => {
      if (!isCandidate(i)) return;
      ++count;
      // -0 becomes 0, since typed arrays sort the two apart.
      const value = covariance(i, b) + 0;
      if (!Number.isNaN(value)) numbers[size++] = value;
    });
    selected = topCount(a, count);
    const takes = topCut(numbers.subarray(0, size).sort(), selected);
    eachToken(a, (i, b) => {
      a.selected[i] = isCandidate(i) && takes(covariance(i, b)) ? 1 : 0;
    });
  }
  if (a.counts) a.counts[0] = selected;
}
