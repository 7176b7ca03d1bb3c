// Log ratios and the clipped objective (contract: native/include/surprisal/ratio.h). Numbers are float64 here; an array
// rounds once when it stores.
import type { FloatArray } from "../../core/dtype";
import { rowBegin, rowEnd } from "../../core/rows";
import { LEVELS, type RatioClipArgs, type RatioLogArgs, type RatioOps, REDUCTIONS } from "../contract/ratio";
import { type ClipParameters, clipTerm, type LossTerm, scaled } from "./loss-forms";

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
  let sum = 0;
  let kept = 0;
  for (let r = 0; r < rows.length; ++r)
    for (let i = rowBegin(a, rows[r]!); i < rowEnd(a, rows[r]!); ++i) {
      if (!isKept(a, i)) continue;
      sum += a.current[i]! - a.old[i]!;
      ++kept;
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

/** Partial sums over the terms of a row. */
class RowFigures {
  termSum = 0;
  ratioSum = 0;
  ratioMax = -Infinity;
  terms = 0;
  clipped = 0;
  limited = 0;

  add(t: LossTerm): void {
    this.termSum += negated(t.loss);
    this.ratioSum += t.ratio;
    this.ratioMax = Math.max(this.ratioMax, t.ratio); // NaN stays
    this.terms += 1;
    this.clipped += t.clipped ? 1 : 0;
    this.limited += t.limited ? 1 : 0;
  }

  store(a: RatioClipArgs, b: number, weight: number): void {
    put(a.objective, b, scaled(weight, this.termSum));
    put(a.ratioSum, b, this.ratioSum);
    put(a.ratioMax, b, this.ratioMax);
    put(a.terms, b, this.terms);
    put(a.clippedCount, b, this.clipped);
    put(a.limitedCount, b, this.limited);
  }
}

function storeTerm(a: RatioClipArgs, i: number, term: number, clipped: boolean): void {
  put(a.term, i, term);
  put(a.clipped, i, clipped ? 1 : 0);
}

function rowWeight(a: RatioClipArgs, b: number): number {
  return a.rowWeight ? a.rowWeight[b]! : 1;
}

function clipTokens(a: RatioClipArgs): void {
  const parameters = clipParameters(a);
  const { mask, current, old, advantage, advantagePerToken, ratio, clippedRatio, term, clipped, grad } = a;
  for (let b = 0; b < a.B; ++b) {
    const weight = rowWeight(a, b);
    const figures = new RowFigures();
    const end = rowEnd(a, b);
    for (let i = rowBegin(a, b); i < end; ++i) {
      if (mask && mask[i] === 0) {
        if (ratio) ratio[i] = 0;
        if (clippedRatio) clippedRatio[i] = 0;
        if (term) term[i] = 0;
        if (clipped) clipped[i] = 0;
        if (grad) grad[i] = 0;
        continue;
      }
      const t = clipTerm(current[i]! - old[i]!, advantage[advantagePerToken ? i : b]!, parameters);
      figures.add(t);
      if (ratio) ratio[i] = t.ratio;
      if (clippedRatio) clippedRatio[i] = t.clippedRatio;
      if (term) term[i] = negated(t.loss);
      if (clipped) clipped[i] = t.clipped ? 1 : 0;
      if (grad) grad[i] = negated(scaled(weight, t.slope));
    }
    figures.store(a, b, weight);
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
      const figures = new RowFigures();
      figures.add(t);
      figures.store(a, b, rowWeight(a, b));
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
