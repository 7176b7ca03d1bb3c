// What the log ratios of a row's kept tokens add up to, for the losses of rows in a bare call (loss-bare.ts).
import { rowBegin, rowEnd } from "../../core/row-layout";
import type { LossTokenArgs } from "../contract/loss";
import { expLessOne } from "./exp-less-one";
import { PLACE } from "./loss-figures";
import { PIECE } from "./pieces";

interface LogRatios {
  sum: number;
  kept: number;
}

function addPiece(to: LogRatios, a: LossTokenArgs, begin: number, end: number): void {
  const { mask, logProbs } = a;
  const oldLogProbs = a.oldLogProbs!;
  let sum = 0;
  let kept = 0;
  for (let i = begin; i < end; ++i) {
    if (mask !== null && mask[i] === 0) continue;
    sum += logProbs[i]! - oldLogProbs[i]!;
    ++kept;
  }
  to.sum += sum;
  to.kept += kept;
}

/** Their sum, and how many there are. */
export function logRatiosOf(a: LossTokenArgs, b: number): LogRatios {
  const found = { sum: 0, kept: 0 };
  const end = rowEnd(a, b);
  for (let i = rowBegin(a, b); i < end; i += PIECE) addPiece(found, a, i, Math.min(i + PIECE, end));
  return found;
}

/** The clamp of a log ratio, as a float64 (pieces.ts). */
const clamp = new Float64Array(1);

function tellPiece(to: LogRatios, behind: Float64Array, a: LossTokenArgs, begin: number, end: number): void {
  const { mask, logProbs } = a;
  const oldLogProbs = a.oldLogProbs!;
  const high = clamp[0]!;
  const low = -high;
  let sum = 0;
  let kept = 0;
  let clamped = 0;
  let absolute = 0;
  let squared = 0;
  let k3 = 0;
  for (let i = begin; i < end; ++i) {
    if (mask !== null && mask[i] === 0) continue;
    const x = logProbs[i]! - oldLogProbs[i]!;
    sum += x;
    ++kept;
    clamped += x > high ? high : x < low ? low : x;
    absolute += Math.abs(x);
    squared += x * x;
    k3 += x === Infinity ? Infinity : expLessOne(x) - x;
  }
  to.sum += sum;
  to.kept += kept;
  behind[PLACE.logRatio]! += sum;
  behind[PLACE.clampedLogRatio]! += clamped;
  behind[PLACE.absoluteLogRatio]! += absolute;
  behind[PLACE.squaredLogRatio]! += squared;
  behind[PLACE.ratioK3]! += k3;
}

/** The same, and all that is told of them in the figures behind the sums. */
export function toldLogRatiosOf(a: LossTokenArgs, b: number, behind: Float64Array): LogRatios {
  const found = { sum: 0, kept: 0 };
  clamp[0] = a.parameters.logClamp;
  const end = rowEnd(a, b);
  for (let i = rowBegin(a, b); i < end; i += PIECE) tellPiece(found, behind, a, i, Math.min(i + PIECE, end));
  return found;
}
