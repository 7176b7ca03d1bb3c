// The clipped loss without anything beside it, of tokens, rows and groups of rows: loops over numbers, a tenth of the time that
// tokens as objects take.
import { rowBegin, rowEnd } from "../../core/row-layout";
import {
  eachLossFigure,
  LOSS_FORM,
  LOSS_SUMS,
  type LossParameters,
  type LossTokenArgs,
  ROW_FORM,
} from "../contract/loss";
import { RATIO_REDUCTIONS } from "../contract/ratio";
import { put, rowScale, rowWeight } from "./loss-figures";
import { clamp, clampLogRatio, clipTerm, scaled } from "./loss-forms";
import { hasBounds, heldTo, parametersAt } from "./loss-tokens";

/** What the tokens of a row add to `ratio`, where all have the row's. */
export function ratioSum(kept: number, ratio: number): number {
  return kept > 0 ? kept * ratio : 0;
}

/** The clipped loss of tokens with nothing but log-probs and advantages. */
export const isBareClip = (a: LossTokenArgs): boolean =>
  a.form === LOSS_FORM.clip && readsLogProbsAlone(a) && !a.factors && !hasBounds(a);

/** The clipped loss of the ratios of rows, likewise. */
export const isBareRowClip = (a: LossTokenArgs): boolean =>
  a.form === ROW_FORM.clip && readsLogProbsAlone(a) && !hasBounds(a);

/** Nothing but sums is asked of the tokens, and nothing but log-probs is read of them. */
export const isBare = (a: LossTokenArgs): boolean =>
  readsLogProbsAlone(a) && (a.figures === null || a.figureCount === LOSS_SUMS);

function readsLogProbsAlone(a: LossTokenArgs): boolean {
  return (
    a.oldLogProbs !== null &&
    !a.oldLogProbsPerRow &&
    !a.factorsPerToken &&
    !a.referenceLogProbs &&
    !a.termMask &&
    !a.klValues
  );
}

/** The figures of a row of a bare call, or of one that is its KL term alone. */
export function storeSums(
  a: LossTokenArgs,
  b: number,
  loss: number,
  kept: number,
  clipped: number,
  limited: number,
  rowRatio: number,
  ratio: number,
  kl = 0,
): void {
  if (!a.figures) return;
  const at = b * a.figureCount;
  const { weight, klScale } = rowScale(a, b);
  a.figures[at] = scaled(weight, loss) + scaled(klScale, kl) + 0;
  a.figures[at + 1] = loss;
  a.figures[at + 2] = kl + 0;
  a.figures[at + 3] = kept;
  a.figures[at + 4] = kept;
  a.figures[at + 5] = clipped;
  a.figures[at + 6] = limited;
  a.figures[at + 7] = rowRatio;
  a.figures[at + 8] = ratio;
}

const PLACE = eachLossFigure((place) => place);
const { below, above, outside, outsidePositive, outsideNegative } = PLACE;
const { logRatio, clampedLogRatio, absoluteLogRatio, squaredLogRatio, ratioK3 } = PLACE;

/** Makes place for the figures behind the sums of row b; null where nobody asks for them. */
export function figuresBehind(a: LossTokenArgs, b: number): Float64Array | null {
  if (!a.figures || a.figureCount === LOSS_SUMS) return null;
  const row = a.figures.subarray(b * a.figureCount, (b + 1) * a.figureCount);
  return row.fill(0);
}

/** What a token of log ratio x and advantage A adds to them; `band` is what the band is asked of. */
function addBehind(row: Float64Array, x: number, band: number, A: number, p: LossParameters): void {
  row[logRatio]! += x;
  row[clampedLogRatio]! += clamp(x, -p.logClamp, p.logClamp);
  row[absoluteLogRatio]! += Math.abs(x);
  row[squaredLogRatio]! += x * x;
  row[ratioK3]! += x === Infinity ? Infinity : Math.expm1(x) - x;
  const [under, over] = [band < 1 - p.clipLow, band > 1 + p.clipHigh];
  if (!under && !over) return;
  if (under && A < 0) row[below]! += 1;
  if (over && A > 0) row[above]! += 1;
  row[outside]! += 1;
  if (A > 0) row[outsidePositive]! += 1;
  if (A < 0) row[outsideNegative]! += 1;
}

/** exp of log ratios up to here is neither 0 nor infinite. */
const PLAIN_LOG_RATIO = 700;

/** The clipped surrogate of tokens in a bare call without factors. */
export function clipTokens(a: LossTokenArgs): void {
  const p = a.parameters;
  const free =
    p.dualClip === Infinity && p.ratioCap === Infinity && p.logClamp === Infinity && p.maxLogRatio === Infinity;
  const [low, high] = [1 - p.clipLow, 1 + p.clipHigh];
  const {
    mask,
    logProbs,
    advantages: advantage,
    advantagesPerToken: advantagePerToken,
    losses: loss,
    ratios: ratio,
    clipped,
    gradLogProbs: grad,
  } = a;
  const oldLogProbs = a.oldLogProbs!;
  for (let b = 0; b < a.B; ++b) {
    const weight = rowWeight(a, b);
    const plain = free && weight !== 0 && !Number.isNaN(weight);
    const ofRow = advantagePerToken ? 0 : advantage[b]!;
    let [sum, ratios, largest, kept, clippedTokens, limitedTokens] = [0, 0, -Infinity, 0, 0, 0];
    const behind = figuresBehind(a, b);
    const end = rowEnd(a, b);
    for (let i = rowBegin(a, b); i < end; ++i) {
      if (mask !== null && mask[i] === 0) {
        storeToken(a, i, 0, 0, 0, 0, 0);
        continue;
      }
      const x = logProbs[i]! - oldLogProbs[i]!;
      const A = advantagePerToken ? advantage[i]! : ofRow;
      let r: number;
      let value: number;
      let slope: number;
      let cut: number;
      if (plain && x <= PLAIN_LOG_RATIO && x >= -PLAIN_LOG_RATIO) {
        // clipTerm() where nothing but the band can hold: the same numbers. 0 −: never −0.
        r = Math.exp(x);
        const gain = A * r;
        const held = A * (r < low ? low : r > high ? high : r);
        cut = held < gain ? 1 : 0;
        value = 0 - (cut === 1 ? held : gain);
        slope = 0 - (cut === 1 ? 0 : weight * gain);
      } else {
        const t = clipTerm(x, A, p);
        r = t.ratio;
        value = t.loss + 0;
        slope = scaled(weight, t.slope) + 0;
        cut = t.clipped ? 1 : 0;
        if (t.limited) ++limitedTokens;
      }
      if (behind) addBehind(behind, x, Math.min(r, p.ratioCap), A, p);
      sum += value;
      ratios += r;
      if (r > largest || Number.isNaN(r)) largest = r; // NaN stays
      ++kept;
      clippedTokens += cut;
      if (loss) loss[i] = value;
      if (ratio) ratio[i] = r;
      if (clipped) clipped[i] = cut;
      if (grad) grad[i] = slope;
    }
    storeSums(a, b, sum, kept, clippedTokens, limitedTokens, largest, ratios);
  }
}

/** The clipped surrogate of a row's one ratio for each of its tokens, in a bare call. */
export function clipRows(a: LossTokenArgs): void {
  const { mask, logProbs, advantages, parameters: p, losses, clipped, gradLogProbs: grad } = a;
  const oldLogProbs = a.oldLogProbs!;
  for (let b = 0; b < a.B; ++b) {
    const [begin, end] = [rowBegin(a, b), rowEnd(a, b)];
    let [sum, kept] = [0, 0];
    for (let i = begin; i < end; ++i) {
      if (mask !== null && mask[i] === 0) continue;
      sum += logProbs[i]! - oldLogProbs[i]!;
      ++kept;
    }
    const divisor = a.reduce === RATIO_REDUCTIONS.indexOf("sum") || kept === 0 ? 1 : kept;
    const s = sum / divisor;
    const ratio = Math.exp(clampLogRatio(s, p));
    const factor = a.factors ? a.factors[b]! : 1;
    const ofRow = a.advantagesPerToken ? null : clipTerm(s, advantages[b]!, p);
    const [behind, band] = [figuresBehind(a, b), Math.min(ratio, p.ratioCap)];
    let [loss, slope, clippedTokens, limitedTokens] = [0, 0, 0, 0];
    for (let i = begin; i < end; ++i) {
      if (mask !== null && mask[i] === 0) {
        if (losses) losses[i] = 0;
        if (clipped) clipped[i] = 0;
        continue;
      }
      const A = a.advantagesPerToken ? advantages[i]! : advantages[b]!;
      const t = ofRow ?? clipTerm(s, A, p);
      if (behind) addBehind(behind, logProbs[i]! - oldLogProbs[i]!, band, A, p);
      const value = scaled(factor, t.loss) + 0;
      const cut = t.clipped ? 1 : 0;
      loss += value;
      slope += scaled(factor, t.slope);
      clippedTokens += cut;
      if (t.limited) ++limitedTokens;
      if (losses) losses[i] = value;
      if (clipped) clipped[i] = cut;
    }
    put(a.ratios, b, ratio);
    storeSums(a, b, loss, kept, clippedTokens, limitedTokens, ratio, ratioSum(kept, ratio));
    if (!grad) continue;
    const share = scaled(rowWeight(a, b), slope / divisor) + 0;
    for (let i = begin; i < end; ++i) grad[i] = mask !== null && mask[i] === 0 ? 0 : share;
  }
}

/** The rows of unit u: itself, or the members of group u. */
function unitRows(a: LossTokenArgs, u: number): ArrayLike<number> {
  if (!a.groupOffsets) return [u];
  const [begin, end] = [a.groupOffsets[u]!, a.groupOffsets[u + 1]!];
  return a.members ? a.members.subarray(begin, end) : Array.from({ length: end - begin }, (_, i) => begin + i);
}

/** One clipped ratio for a row or for a group of rows, in a bare call: a term a row, one gradient for all tokens. */
export function clipUnits(a: LossTokenArgs): void {
  const { mask, logProbs, gradLogProbs: grad } = a;
  const oldLogProbs = a.oldLogProbs!;
  const units = a.groupOffsets ? a.G : a.B;
  for (let u = 0; u < units; ++u) {
    const rows = unitRows(a, u);
    const keptOf: number[] = [];
    let sum = 0;
    let all = 0;
    for (let r = 0; r < rows.length; ++r) {
      const end = rowEnd(a, rows[r]!);
      let kept = 0;
      for (let i = rowBegin(a, rows[r]!); i < end; ++i) {
        if (mask !== null && mask[i] === 0) continue;
        sum += logProbs[i]! - oldLogProbs[i]!;
        ++kept;
      }
      keptOf.push(kept);
      all += kept;
    }
    const divisor = a.reduce === RATIO_REDUCTIONS.indexOf("sum") || all === 0 ? 1 : all;
    let slope = 0;
    for (let r = 0; r < rows.length; ++r) {
      const [b, kept] = [rows[r]!, keptOf[r]!];
      const p = parametersAt(a, b, b);
      const t = clipTerm(sum / divisor, heldTo(p, a.advantages[b]!), p);
      const factor = a.factors ? a.factors[b]! : 1;
      const loss = scaled(factor, t.loss) + 0;
      put(a.losses, b, loss);
      put(a.ratios, b, t.ratio);
      put(a.clipped, b, t.clipped ? 1 : 0);
      const counts = Math.max(kept, 1);
      storeSums(a, b, loss, kept, t.clipped ? counts : 0, t.limited ? counts : 0, t.ratio, ratioSum(kept, t.ratio));
      slope += scaled(rowWeight(a, b), scaled(factor, t.slope));
    }
    if (!grad) continue;
    const share = slope / divisor + 0;
    for (let r = 0; r < rows.length; ++r) {
      const end = rowEnd(a, rows[r]!);
      for (let i = rowBegin(a, rows[r]!); i < end; ++i) grad[i] = mask !== null && mask[i] === 0 ? 0 : share;
    }
  }
}

export function storeToken(
  a: LossTokenArgs,
  i: number,
  loss: number,
  ratio: number,
  kl: number,
  clipped: number,
  grad: number,
): void {
  if (a.losses) a.losses[i] = loss + 0;
  if (a.ratios) a.ratios[i] = ratio;
  if (a.klValues) a.klValues[i] = kl + 0;
  if (a.clipped) a.clipped[i] = clipped;
  if (a.gradLogProbs) a.gradLogProbs[i] = grad + 0;
}
