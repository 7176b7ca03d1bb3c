// A row of the clipped loss where nothing but the band can hold: loops over numbers, one exponential for a token's ratio and its k3, and
// the figures in registers. The same numbers as clipTerm() has for its tokens.
//
// Whether the band holds a token is as good as random: what would be a branch is an element chosen by a comparison.
import { rowBegin, rowEnd } from "../../core/row-layout";
import { LOSS_FIGURES, type LossTokenArgs } from "../contract/loss";
import { isNear, nearExpLessOne } from "./exp-less-one";
import { figuresBehind, PLACE, storeSums } from "./loss-figures";
import { PIECE } from "./pieces";

/** exp of log ratios up to here is neither 0 nor infinite. */
const PLAIN_LOG_RATIO = 700;

/** What the pieces of a row add up to, each figure in its place. */
const told = new Float64Array(LOSS_FIGURES.length);
/** The band of the ratios: its low end, its high one. */
const band = new Float64Array(2);
/** What the gradient of a row is multiplied by, and its advantage. */
const row = new Float64Array(2);
/** What a token gains, and at most. */
const gains = new Float64Array(2);
/** Its gradient, and that of a held token. */
const slopes = new Float64Array(2);

/** Counts tokens of advantage A whose ratio lies under the band or over it. */
export function addOutside(row: Float64Array, under: boolean, A: number, count: number): void {
  row[PLACE.outside]! += count;
  if (A > 0) row[PLACE.outsidePositive]! += count;
  if (A < 0) row[PLACE.outsideNegative]! += count;
  if (under && A < 0) row[PLACE.below]! += count;
  if (!under && A > 0) row[PLACE.above]! += count;
}

/** Tokens from `begin` on, as clipPlainRow(). */
function clipPiece(a: LossTokenArgs, begin: number, end: number): boolean {
  const { mask, logProbs, advantages, advantagesPerToken, losses, ratios, clipped, gradLogProbs } = a;
  const oldLogProbs = a.oldLogProbs!;
  const low = band[0]!;
  const high = band[1]!;
  const weight = row[0]!;
  const ofRow = row[1]!;
  let gained = 0;
  let ratio = 0;
  let largest = told[PLACE.rowRatio]!;
  let kept = 0;
  let cuts = 0;
  let sum = 0;
  let absolute = 0;
  let squared = 0;
  let k3 = 0;
  let below = 0;
  let above = 0;
  let outside = 0;
  let outsidePositive = 0;
  let outsideNegative = 0;
  for (let i = begin; i < end; ++i) {
    if (mask !== null && mask[i] === 0) {
      if (losses !== null) losses[i] = 0;
      if (ratios !== null) ratios[i] = 0;
      if (clipped !== null) clipped[i] = 0;
      if (gradLogProbs !== null) gradLogProbs[i] = 0;
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
    const positive = Number(A > 0);
    const negative = Number(A < 0);
    const gain = A * r;
    const most = A * band[positive]!;
    const cut = Number(most < gain);
    gains[0] = gain;
    gains[1] = most;
    const held = gains[cut]!;
    gained += held;
    ratio += r;
    if (r > largest) largest = r;
    ++kept;
    cuts += cut;
    sum += x;
    absolute += Math.abs(x);
    squared += x * x;
    k3 += lessOne - x;
    const under = Number(r < low);
    const over = Number(r > high);
    below += under & negative;
    above += over & positive;
    outside += under | over;
    outsidePositive += (under | over) & positive;
    outsideNegative += (under | over) & negative;
    if (losses !== null) losses[i] = 0 - held; // 0 −: never −0
    if (ratios !== null) ratios[i] = r;
    if (clipped !== null) clipped[i] = cut;
    if (gradLogProbs === null) continue;
    slopes[0] = weight * gain;
    gradLogProbs[i] = 0 - slopes[cut]!;
  }
  told[PLACE.rowRatio] = largest;
  told[PLACE.loss]! -= gained;
  told[PLACE.ratio]! += ratio;
  told[PLACE.kept]! += kept;
  told[PLACE.clipped]! += cuts;
  told[PLACE.logRatio]! += sum;
  told[PLACE.clampedLogRatio]! += sum;
  told[PLACE.absoluteLogRatio]! += absolute;
  told[PLACE.squaredLogRatio]! += squared;
  told[PLACE.ratioK3]! += k3;
  told[PLACE.below]! += below;
  told[PLACE.above]! += above;
  told[PLACE.outside]! += outside;
  told[PLACE.outsidePositive]! += outsidePositive;
  told[PLACE.outsideNegative]! += outsideNegative;
  return true;
}

let went = false;

/**
 * V8 compiles a loop for the ways that it went. A store that it comes to later makes it give up that code, and at times it then compiles
 * no more than the loop, which takes twice the time from there on. So the loop goes the usual ways, with and without a gradient, before
 * it is compiled.
 */
function goUsualWays(): void {
  const n = 256;
  const waves = (step: number): Float32Array => Float32Array.from({ length: n }, (_, i) => Math.sin(step * i) - 1.5);
  const mask = Uint8Array.from({ length: n }, (_, i) => i & 7);
  const tokens = { mask, logProbs: waves(1), oldLogProbs: waves(2), losses: null, ratios: null, clipped: null };
  const rest = { advantages: waves(3), gradLogProbs: waves(4) };
  for (let k = 0; k < 8; ++k)
    clipPiece({ ...tokens, ...rest, advantagesPerToken: k & 1 } as unknown as LossTokenArgs, 0, n);
  went = true;
}

/**
 * Row b of a bare call without clamps, with a weight that is a number and not 0. False where a log ratio is too large for it, or NaN: then
 * all that was stored of the row is to be stored anew.
 */
export function clipPlainRow(a: LossTokenArgs, b: number, weight: number): boolean {
  if (!went) goUsualWays();
  band[0] = 1 - a.parameters.clipLow;
  band[1] = 1 + a.parameters.clipHigh;
  row[0] = weight;
  row[1] = a.advantagesPerToken ? 0 : a.advantages[b]!;
  told.fill(0);
  told[PLACE.rowRatio] = -Infinity;
  const end = rowEnd(a, b);
  for (let i = rowBegin(a, b); i < end; i += PIECE) if (!clipPiece(a, i, Math.min(i + PIECE, end))) return false;
  figuresBehind(a, b)?.set(told);
  const { loss, kept, clipped, rowRatio, ratio } = PLACE;
  storeSums(a, b, told[loss]!, told[kept]!, told[clipped]!, 0, told[rowRatio]!, told[ratio]!);
  return true;
}
