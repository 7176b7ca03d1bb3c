// A row of the clipped loss where nothing but the band can hold: loops over numbers, one exponential for a token's ratio and its k3, and
// the figures in registers. The same numbers as clipTerm() has for its tokens.
import { rowBegin, rowEnd } from "../../core/row-layout";
import type { LossTokenArgs } from "../contract/loss";
import { isNear, nearExpLessOne } from "./exp-less-one";
import { figuresBehind, PLACE, storeLogRatios, storeSums, storeToken } from "./loss-figures";

/** exp of log ratios up to here is neither 0 nor infinite. */
const PLAIN_LOG_RATIO = 700;

/** Counts tokens of advantage A whose ratio lies under the band or over it. */
export function addOutside(row: Float64Array, under: boolean, A: number, count: number): void {
  row[PLACE.outside]! += count;
  if (A > 0) row[PLACE.outsidePositive]! += count;
  if (A < 0) row[PLACE.outsideNegative]! += count;
  if (under && A < 0) row[PLACE.below]! += count;
  if (!under && A > 0) row[PLACE.above]! += count;
}

/**
 * Row b of a bare call without clamps, with a weight that is a number and not 0. False where a log ratio is too large for it, or NaN: then
 * all that was stored of the row is to be stored anew.
 */
export function clipPlainRow(a: LossTokenArgs, b: number, weight: number): boolean {
  const { mask, logProbs, advantages, advantagesPerToken, parameters: p } = a;
  const { losses, ratios, clipped, gradLogProbs } = a;
  const oldLogProbs = a.oldLogProbs!;
  const low = 1 - p.clipLow;
  const high = 1 + p.clipHigh;
  const ofRow = advantagesPerToken ? 0 : advantages[b]!;
  let loss = 0;
  let ratio = 0;
  let largest = -Infinity;
  let kept = 0;
  let cuts = 0;
  let sum = 0;
  let absolute = 0;
  let squared = 0;
  let k3 = 0;
  const row = figuresBehind(a, b);
  const end = rowEnd(a, b);
  for (let i = rowBegin(a, b); i < end; ++i) {
    if (mask !== null && mask[i] === 0) {
      storeToken(a, i, 0, 0, 0, 0, 0);
      continue;
    }
    const x = logProbs[i]! - oldLogProbs[i]!;
    let lessOne: number;
    let r: number;
    if (isNear(x)) {
      lessOne = nearExpLessOne(x);
      r = 1 + lessOne;
    } else if (x <= PLAIN_LOG_RATIO && x >= -PLAIN_LOG_RATIO) {
      r = Math.exp(x);
      lessOne = r - 1;
    } else return false;
    const A = advantagesPerToken ? advantages[i]! : ofRow;
    const gain = A * r;
    let held = gain;
    if (r < low || r > high) {
      held = A * (r < low ? low : high);
      if (row !== null) addOutside(row, r < low, A, 1);
    }
    const cut = held < gain;
    const value = 0 - (cut ? held : gain); // 0 −: never −0
    loss += value;
    ratio += r;
    if (r > largest) largest = r;
    ++kept;
    if (cut) ++cuts;
    sum += x;
    absolute += Math.abs(x);
    squared += x * x;
    k3 += lessOne - x;
    if (losses !== null) losses[i] = value;
    if (ratios !== null) ratios[i] = r;
    if (clipped !== null) clipped[i] = cut ? 1 : 0;
    if (gradLogProbs !== null) gradLogProbs[i] = 0 - (cut ? 0 : weight * gain);
  }
  storeSums(a, b, loss, kept, cuts, 0, largest, ratio);
  if (row) storeLogRatios(row, sum, sum, absolute, squared, k3);
  return true;
}
