// Log ratios and the clipped objective (contract: native/include/surprisal/ratio.h). Numbers are float64 here; an array
// rounds once when it stores.
import type { FloatArray } from "../../core/dtype";
import { rowBegin, rowEnd } from "../../core/rows";
import { LEVELS, type RatioClipArgs, type RatioLogArgs, type RatioOps, REDUCTIONS } from "../contract/ratio";
import { type ClipParameters, clipTerm, scaled } from "./loss-forms";

const TOKEN = LEVELS.indexOf("token");
const SEQUENCE = LEVELS.indexOf("sequence");
const SUM = REDUCTIONS.indexOf("sum");

type Args = RatioLogArgs | RatioClipArgs;

function put(out: FloatArray | Uint8Array | Int32Array | null, i: number, x: number): void {
  if (out) out[i] = x;
}

// 0 - x, not -x: what is cut off is +0, never -0.
function negated(x: number): number {
  return 0 - x;
}

function isKept(a: Args, i: number): boolean {
  return !a.mask || a.mask[i] !== 0;
}

/** The rows of unit u: itself at sequence level, its members at group level. */
function unitRows(a: Args, u: number): ArrayLike<number> {
  if (a.level === SEQUENCE) return [u];
  const begin = a.groupOffsets![u]!;
  const end = a.groupOffsets![u + 1]!;
  return a.members ? a.members.subarray(begin, end) : Array.from({ length: end - begin }, (_, i) => begin + i);
}

/** Sum of differences over the unit's kept tokens, and their number as the log ratio and the gradient divide by it. */
function sumUnit(a: Args, rows: ArrayLike<number>): { x: number; divisor: number } {
  const { mask, current, old } = a;
  let sum = 0;
  let kept = 0;
  for (let r = 0; r < rows.length; ++r) {
    const end = rowEnd(a, rows[r]!);
    for (let i = rowBegin(a, rows[r]!); i < end; ++i) {
      if (mask !== null && mask[i] === 0) continue;
      sum += current[i]! - old[i]!;
      ++kept;
    }
  }
  const divisor = a.reduce === SUM || kept === 0 ? 1 : kept;
  return { x: sum / divisor, divisor };
}

// Loops over tokens read the fields of `a` once and store by themselves: `put` has seen arrays of all kinds.
function logTokens({ n, mask, current, old, logRatio, ratio }: RatioLogArgs): void {
  for (let i = 0; i < n; ++i) {
    const kept = mask === null || mask[i] !== 0;
    const x = kept ? current[i]! - old[i]! : 0;
    if (logRatio) logRatio[i] = x;
    if (ratio) ratio[i] = kept ? Math.exp(x) : 0;
  }
}

function ratioLog(a: RatioLogArgs): void {
  if (a.level === TOKEN) {
    logTokens(a);
    return;
  }
  const units = a.level === SEQUENCE ? a.B : a.G;
  for (let u = 0; u < units; ++u) {
    const { x } = sumUnit(a, unitRows(a, u));
    put(a.logRatio, u, x);
    put(a.ratio, u, Math.exp(x));
  }
}

function clipParameters(a: RatioClipArgs): ClipParameters {
  return {
    clipLow: a.clipLow,
    clipHigh: a.clipHigh,
    dualClip: a.dualClip,
    ratioCap: a.ratioCap,
    logLow: -a.logClamp,
    logHigh: Math.min(a.logClamp, a.maxLogRatio),
  };
}

/** Partial sums over the terms of row b. */
function storeFigures(
  a: RatioClipArgs,
  b: number,
  termSum: number,
  ratioSum: number,
  ratioMax: number,
  terms: number,
  clipped: number,
  limited: number,
): void {
  put(a.objective, b, scaled(rowWeight(a, b), termSum));
  put(a.ratioSum, b, ratioSum);
  put(a.ratioMax, b, ratioMax);
  put(a.terms, b, terms);
  put(a.clippedCount, b, clipped);
  put(a.limitedCount, b, limited);
}

function storeTerm(a: RatioClipArgs, i: number, term: number, clipped: boolean): void {
  put(a.term, i, term);
  put(a.clipped, i, clipped ? 1 : 0);
}

function rowWeight(a: RatioClipArgs, b: number): number {
  return a.rowWeight ? a.rowWeight[b]! : 1;
}

/** exp of log ratios up to here is neither 0 nor infinite. */
const PLAIN_LOG_RATIO = 700;

/** Neither dual clip nor cap nor clamps. */
function isPlain({ dualClip, ratioCap, logLow, logHigh }: ClipParameters): boolean {
  return dualClip === Infinity && ratioCap === Infinity && logLow === -Infinity && logHigh === Infinity;
}

function clipTokens(a: RatioClipArgs): void {
  const parameters = clipParameters(a);
  const plain = isPlain(parameters);
  const [low, high] = [1 - a.clipLow, 1 + a.clipHigh];
  const { mask, current, old, advantage, advantagePerToken, ratio, clippedRatio, term, clipped, grad } = a;
  for (let b = 0; b < a.B; ++b) {
    const weight = rowWeight(a, b);
    const multiplies = plain && weight !== 0 && Number.isFinite(weight);
    const ofRow = advantagePerToken ? 0 : advantage[b]!;
    let [termSum, ratioSum, ratioMax, terms, clippedTerms, limitedTerms] = [0, 0, -Infinity, 0, 0, 0];
    const end = rowEnd(a, b);
    for (let i = rowBegin(a, b); i < end; ++i) {
      if (mask !== null && mask[i] === 0) {
        if (ratio) ratio[i] = 0;
        if (clippedRatio) clippedRatio[i] = 0;
        if (term) term[i] = 0;
        if (clipped) clipped[i] = 0;
        if (grad) grad[i] = 0;
        continue;
      }
      const x = current[i]! - old[i]!;
      const A = advantagePerToken ? advantage[i]! : ofRow;
      let r: number;
      let banded: number;
      let value: number;
      let slope: number;
      let cut: number;
      if (multiplies && x <= PLAIN_LOG_RATIO && x >= -PLAIN_LOG_RATIO) {
        // clipTerm() where nothing but the band can hold: the same numbers. + 0: never -0.
        r = Math.exp(x);
        banded = r < low ? low : r > high ? high : r;
        const free = A * r;
        const held = A * banded;
        cut = held < free ? 1 : 0;
        value = (cut === 1 ? held : free) + 0;
        slope = (cut === 1 ? 0 : weight * free) + 0;
      } else {
        const t = clipTerm(x, A, parameters);
        r = t.ratio;
        banded = t.clippedRatio;
        value = negated(t.loss);
        slope = negated(scaled(weight, t.slope));
        cut = t.clipped ? 1 : 0;
        if (t.limited) ++limitedTerms;
      }
      termSum += value;
      ratioSum += r;
      if (r > ratioMax || Number.isNaN(r)) ratioMax = r; // NaN stays
      ++terms;
      clippedTerms += cut;
      if (ratio) ratio[i] = r;
      if (clippedRatio) clippedRatio[i] = banded;
      if (term) term[i] = value;
      if (clipped) clipped[i] = cut;
      if (grad) grad[i] = slope;
    }
    storeFigures(a, b, termSum, ratioSum, ratioMax, terms, clippedTerms, limitedTerms);
  }
}

/** Rows and groups: every row has a term with the ratio of its unit, and the unit's tokens share one gradient. */
function clipUnits(a: RatioClipArgs): void {
  const parameters = clipParameters(a);
  const units = a.level === SEQUENCE ? a.B : a.G;
  for (let u = 0; u < units; ++u) {
    const rows = unitRows(a, u);
    const { x, divisor } = sumUnit(a, rows);
    let slope = 0;
    for (let r = 0; r < rows.length; ++r) {
      const b = rows[r]!;
      const t = clipTerm(x, a.advantage[b]!, parameters);
      storeFigures(a, b, negated(t.loss), t.ratio, t.ratio, 1, t.clipped ? 1 : 0, t.limited ? 1 : 0);
      storeTerm(a, b, negated(t.loss), t.clipped);
      slope += scaled(rowWeight(a, b), t.slope);
    }
    const unit = clipTerm(x, 0, parameters); // ratios do not depend on the advantage, and an empty group has them too
    put(a.ratio, u, unit.ratio);
    put(a.clippedRatio, u, unit.clippedRatio);
    const grad = negated(slope / divisor);
    for (let r = 0; r < rows.length; ++r)
      for (let i = rowBegin(a, rows[r]!); i < rowEnd(a, rows[r]!); ++i) put(a.grad, i, isKept(a, i) ? grad : 0);
  }
}

function ratioClip(a: RatioClipArgs): void {
  if (a.level === TOKEN) clipTokens(a);
  else clipUnits(a);
}

export const ratioOps: RatioOps = { ratioLog, ratioClip };
