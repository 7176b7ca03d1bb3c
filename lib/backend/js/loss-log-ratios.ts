// What the log ratios of a row's kept tokens add up to, for the losses of rows in a bare call (loss-bare.ts).
import { rowBegin, rowEnd } from "../../core/row-layout";
import type { LossTokenArgs } from "../contract/loss";
import { isNear, nearExpLessOne } from "./exp-less-one";
import { addLogRatios, type LogRatios } from "./log-ratio-sum";
import { PLACE } from "./loss-figures";
import { PIECE } from "./pieces";

/** Their sum, and how many there are. */
export function logRatiosOf(a: LossTokenArgs, b: number): LogRatios {
  const found = { sum: 0, kept: 0 };
  addLogRatios(found, a, b);
  return found;
}

/** The clamp of a log ratio, as a float64 (pieces.ts). */
const clamp = new Float64Array(1);

function tellPiece(to: LogRatios, behind: Float64Array, a: LossTokenArgs, begin: number, end: number): void {
  const { mask, logProbs } = a;
  const oldLogProbs = a.oldLogProbs!;
  const high = clamp[0]!;
  const low = -high;
  const clamps = high < Infinity;
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
    if (clamps) clamped += x > high ? high : x < low ? low : x;
    absolute += Math.abs(x);
    squared += x * x;
    if (isNear(x)) k3 += nearExpLessOne(x) - x;
    else k3 += x === Infinity ? Infinity : Math.expm1(x) - x;
  }
  to.sum += sum;
  to.kept += kept;
  behind[PLACE.logRatio]! += sum;
  behind[PLACE.clampedLogRatio]! += clamps ? clamped : sum;
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
