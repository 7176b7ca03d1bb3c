// The clipped loss without anything beside it, of tokens, rows and groups of rows: loops over numbers, a tenth of the time that
// tokens as objects take.
import type { FloatArray } from "../../core/dtype";
import { rowBegin, rowEnd } from "../../core/row-layout";
import { LOSS_FORM, LOSS_SUMS, type LossParameters, type LossTokenArgs, ROW_FORM } from "../contract/loss";
import { RATIO_REDUCTIONS } from "../contract/ratio";
import { ratioOf } from "./exp-less-one";
import { figuresBehind, put, rowWeight, storeSums, storeToken } from "./loss-figures";
import { clampLogRatio, clipTerm, scaled } from "./loss-forms";
import { logRatiosOf, toldLogRatiosOf } from "./loss-log-ratios";
import { addOutside, clipPlainRow } from "./loss-plain";
import { hasBounds, heldTo, parametersAt } from "./loss-tokens";

/** What a number that is the same for all kept tokens of a row adds up to. */
export function timesKept(kept: number, each: number): number {
  return kept > 0 ? kept * each : 0;
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

/** What the band is asked of `count` tokens of advantage A, in the figures behind the sums. */
function addBand(behind: Float64Array, band: number, A: number, p: LossParameters, count = 1): void {
  if (band < 1 - p.clipLow) addOutside(behind, true, A, count);
  else if (band > 1 + p.clipHigh) addOutside(behind, false, A, count);
}

/** The clipped surrogate of tokens in a bare call without factors. */
export function clipTokens(a: LossTokenArgs): void {
  const p = a.parameters;
  const free =
    p.dualClip === Infinity && p.ratioCap === Infinity && p.logClamp === Infinity && p.maxLogRatio === Infinity;
  for (let b = 0; b < a.B; ++b) {
    const weight = rowWeight(a, b);
    if (!(free && weight !== 0 && !Number.isNaN(weight) && clipPlainRow(a, b, weight))) clipRow(a, b, weight);
  }
}

/** A row of it, whatever its numbers are. */
function clipRow(a: LossTokenArgs, b: number, weight: number): void {
  const { mask, logProbs, advantages, parameters: p } = a;
  const oldLogProbs = a.oldLogProbs!;
  let sum = 0;
  let ratios = 0;
  let largest = -Infinity;
  let kept = 0;
  let clipped = 0;
  let limited = 0;
  const behind = figuresBehind(a, b);
  if (behind) toldLogRatiosOf(a, b, behind);
  const end = rowEnd(a, b);
  for (let i = rowBegin(a, b); i < end; ++i) {
    if (mask !== null && mask[i] === 0) {
      storeToken(a, i, 0, 0, 0, 0, 0);
      continue;
    }
    const x = logProbs[i]! - oldLogProbs[i]!;
    const A = a.advantagesPerToken ? advantages[i]! : advantages[b]!;
    const t = clipTerm(x, A, p);
    if (behind) addBand(behind, Math.min(t.ratio, p.ratioCap), A, p);
    sum += t.loss;
    ratios += t.ratio;
    largest = Math.max(largest, t.ratio); // NaN stays
    ++kept;
    if (t.clipped) ++clipped;
    if (t.limited) ++limited;
    storeToken(a, i, t.loss, t.ratio, 0, t.clipped ? 1 : 0, scaled(weight, t.slope));
  }
  storeSums(a, b, sum, kept, clipped, limited, largest, ratios);
}

/** The same number for each kept token of a row, 0 for the others. */
function spread(a: LossTokenArgs, b: number, to: FloatArray | Uint8Array, value: number): void {
  const { mask } = a;
  const end = rowEnd(a, b);
  to.fill(value, rowBegin(a, b), end);
  if (mask === null || value === 0) return;
  for (let i = rowBegin(a, b); i < end; ++i) if (mask[i] === 0) to[i] = 0;
}

/** The clipped surrogate of a row's one ratio for each of its tokens, in a bare call. */
export function clipRows(a: LossTokenArgs): void {
  const { mask, advantages, parameters: p, losses, clipped, gradLogProbs: grad } = a;
  for (let b = 0; b < a.B; ++b) {
    const behind = figuresBehind(a, b);
    const { sum, kept } = behind ? toldLogRatiosOf(a, b, behind) : logRatiosOf(a, b);
    const divisor = a.reduce === RATIO_REDUCTIONS.indexOf("sum") || kept === 0 ? 1 : kept;
    const s = sum / divisor;
    const ratio = ratioOf(clampLogRatio(s, p));
    const factor = a.factors ? a.factors[b]! : 1;
    const band = Math.min(ratio, p.ratioCap);
    let loss = 0;
    let slope = 0;
    let clippedTokens = 0;
    let limitedTokens = 0;
    if (a.advantagesPerToken) {
      const end = rowEnd(a, b);
      for (let i = rowBegin(a, b); i < end; ++i) {
        if (mask !== null && mask[i] === 0) {
          if (losses) losses[i] = 0;
          if (clipped) clipped[i] = 0;
          continue;
        }
        const t = clipTerm(s, advantages[i]!, p);
        if (behind) addBand(behind, band, advantages[i]!, p);
        const value = scaled(factor, t.loss) + 0;
        loss += value;
        slope += scaled(factor, t.slope);
        if (t.clipped) ++clippedTokens;
        if (t.limited) ++limitedTokens;
        if (losses) losses[i] = value;
        if (clipped) clipped[i] = t.clipped ? 1 : 0;
      }
    } else {
      const t = clipTerm(s, advantages[b]!, p);
      if (behind) addBand(behind, band, advantages[b]!, p, kept);
      const value = scaled(factor, t.loss) + 0;
      loss = timesKept(kept, value);
      slope = timesKept(kept, scaled(factor, t.slope));
      if (t.clipped) clippedTokens = kept;
      if (t.limited) limitedTokens = kept;
      if (losses) spread(a, b, losses, value);
      if (clipped) spread(a, b, clipped, t.clipped ? 1 : 0);
    }
    put(a.ratios, b, ratio);
    storeSums(a, b, loss, kept, clippedTokens, limitedTokens, ratio, timesKept(kept, ratio));
    if (grad) spread(a, b, grad, scaled(rowWeight(a, b), slope / divisor) + 0);
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
  const grad = a.gradLogProbs;
  const units = a.groupOffsets ? a.G : a.B;
  for (let u = 0; u < units; ++u) {
    const rows = unitRows(a, u);
    const keptOf: number[] = [];
    let sum = 0;
    let all = 0;
    for (let r = 0; r < rows.length; ++r) {
      const row = logRatiosOf(a, rows[r]!);
      sum += row.sum;
      keptOf.push(row.kept);
      all += row.kept;
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
      storeSums(a, b, loss, kept, t.clipped ? counts : 0, t.limited ? counts : 0, t.ratio, timesKept(kept, t.ratio));
      slope += scaled(rowWeight(a, b), scaled(factor, t.slope));
    }
    const share = slope / divisor + 0;
    for (let r = 0; grad && r < rows.length; ++r) spread(a, rows[r]!, grad, share);
  }
}
