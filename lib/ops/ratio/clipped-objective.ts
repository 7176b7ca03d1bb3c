// The clipped policy objective and its gradient. docs/ops/ratio.md has the formulas and the conventions of the frameworks.
import { LOSS_FORM } from "../../backend/contract/ratio";
import { selectBackend } from "../../backend/select";
import { float64Or, needFloats, optionalFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import { asFloat, DTYPE_CODE, type FloatArray, widestFloat } from "../../core/dtype";
import type { Collective, CollectiveOption } from "../../core/collective";
import { argumentError } from "../../core/errors";
import { needNumber } from "../../core/options";
import { needPerRowOrToken, type Per } from "../../core/per-row";
import { gatherRowPartials } from "../../core/row-partials";
import { needUnits, type RatioOptions, type Units } from "./units";

export interface ClippedObjectiveOptions extends RatioOptions, CollectiveOption {
  /** The ratio is clipped from below at 1 − clipLow. >= 0; Infinity = not clipped. From 1 on the bound is never reached. */
  readonly clipLow: number;
  /** The ratio is clipped from above at 1 + clipHigh. >= 0; Infinity = not clipped. */
  readonly clipHigh: number;
  /** Dual clip c > 1: for a negative advantage A the term is at least c·A. Default: Infinity, off. */
  readonly dualClip?: number;
  /** Upper cap of the ratio in the unclipped term, without gradient above it ("two-sided" clipping). Default: Infinity, off. */
  readonly ratioCap?: number;
  /** The log ratio is clamped to ±logClamp, without gradient outside. Default: Infinity, off. */
  readonly logClamp?: number;
  /** The log ratio is clamped from above, without gradient there. Default: Infinity, off. */
  readonly maxLogRatio?: number;
  /**
   * Weight of each row's terms in the objective, [rows], float64.
   * Default at token level: 1 / kept tokens of the batch (the token mean). At the other levels: 1 / rows.
   */
  readonly rowWeights?: FloatArray;
  /**
   * What an advantage belongs to; `"token"` at token level only. Default: by the length of `advantages`. Packed rows that
   * are as many as tokens, but not of one token each, leave that open: then it must be said.
   */
  readonly advantagesPer?: Per;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: {
    readonly gradLogProbs?: FloatArray;
    readonly terms?: FloatArray;
    readonly ratios?: FloatArray;
    readonly clippedRatios?: FloatArray;
    readonly clipped?: Uint8Array;
    readonly objectives?: Float64Array;
    readonly rowWeights?: Float64Array;
  };
}

export interface ClippedObjectiveResult {
  /** Σ over rows of rowWeight · Σ of the row's terms, float64, to be maximised. A loss is its negative. */
  readonly objective: number;
  /** The rows' shares of it, [rows]. */
  readonly objectives: Float64Array;
  /** min(r·A, clip(r)·A) per token (0 under the mask), or per row at the other levels. Not weighted. */
  readonly terms: FloatArray;
  /** One per token (0 under the mask), row or group, as `level` says; 1 for a row or group without kept tokens. */
  readonly ratios: FloatArray;
  /** The ratios within [1 − clipLow, 1 + clipHigh]; 0 under the mask. */
  readonly clippedRatios: FloatArray;
  /** 1 where the clipped branch is strictly smaller and so cuts the gradient off; shape of `terms`. */
  readonly clipped: Uint8Array;
  /** d objective / d current, [n]; 0 under the mask, and where clipped. */
  readonly gradLogProbs: FloatArray;
  /** Share of the terms with `clipped`; 0 where there is no term. */
  readonly clipFraction: number;
  /** Share of the terms that sit on the limit of the dual clip; 0 where there is no term. */
  readonly dualClipFraction: number;
  /** Mean ratio over the terms; NaN where there is none. */
  readonly meanRatio: number;
  /** Largest ratio of a term; NaN where there is none. */
  readonly maxRatio: number;
  /** The weights that were used, [rows]. */
  readonly rowWeights: Float64Array;
}

function needAdvantages(op: string, value: unknown, { rows, level }: Units, per: Per | undefined) {
  if (level === "token") return needPerRowOrToken(op, "advantages", value, rows, per);
  if (per !== undefined && per !== "row")
    throw argumentError("ERR_SURPRISAL_OPTION", op, "advantagesPer", per, `"row" at ${level} level`);
  return { array: needFloats(op, "advantages", value, rows.B, "one per row"), perToken: false };
}

function countKept(mask: Uint8Array | null, n: number): number {
  if (!mask) return n;
  let kept = 0;
  for (let i = 0; i < n; ++i) if (mask[i] !== 0) ++kept;
  return kept;
}

/** 1 / kept tokens or 1 / rows; 0 where there is nothing to weigh, so that the objective is 0 and not 0/0. */
function fillDefaultWeights({ rows, level, common }: Units, collective: Collective | undefined, weights: Float64Array): void {
  const here = level === "token" ? countKept(common.mask, rows.n) : rows.B;
  const total = collective ? collective.allReduce(Float64Array.of(here), "sum")[0]! : here;
  weights.fill(total > 0 ? 1 / total : 0);
}

/** What the rows add up from: [objective, sum and largest of the ratios, terms, clipped ones, limited ones] of each. */
const ROW_FIGURES = 6;

/** What a call needs of every row and does not give away. */
class RowFigures {
  readonly ratioSum: Float64Array;
  readonly ratioMax: Float64Array;
  readonly terms: Int32Array;
  readonly clipped: Int32Array;
  readonly limited: Int32Array;
  /** [rows, ROW_FIGURES]: all of them side by side, the objectives first. */
  readonly partials: Float64Array;

  constructor(readonly rows: number) {
    this.partials = new Float64Array(rows * ROW_FIGURES);
    this.ratioSum = new Float64Array(rows);
    this.ratioMax = new Float64Array(rows);
    this.terms = new Int32Array(rows);
    this.clipped = new Int32Array(rows);
    this.limited = new Int32Array(rows);
  }
}

const KEPT_ROWS = 4096;
let lastFigures = new RowFigures(0);

/** Memory for one call: that of the last one where it had as many rows, since small arrays cost more than their call. */
function figuresOf(rows: number): RowFigures {
  if (lastFigures.rows === rows) return lastFigures;
  const figures = new RowFigures(rows);
  if (rows <= KEPT_ROWS) lastFigures = figures;
  return figures;
}

/** The rows' figures: those here, or of all workers. */
function rowPartials(op: string, collective: Collective | undefined, objectives: Float64Array, own: RowFigures): Float64Array {
  const { partials, ratioSum, ratioMax, terms, clipped, limited } = own;
  for (let b = 0, at = 0; b < own.rows; ++b, at += ROW_FIGURES) {
    partials[at] = objectives[b]!;
    partials[at + 1] = ratioSum[b]!;
    partials[at + 2] = ratioMax[b]!;
    partials[at + 3] = terms[b]!;
    partials[at + 4] = clipped[b]!;
    partials[at + 5] = limited[b]!;
  }
  return gatherRowPartials(op, collective, partials, ROW_FIGURES).partials;
}

/** Batch figures from the rows', in row order. */
function summarize(partials: Float64Array) {
  let [objective, ratios, terms, clipped, limited] = [0, 0, 0, 0, 0];
  let maxRatio = -Infinity;
  for (let at = 0; at < partials.length; at += ROW_FIGURES) {
    objective += partials[at]!;
    ratios += partials[at + 1]!;
    maxRatio = Math.max(maxRatio, partials[at + 2]!);
    terms += partials[at + 3]!;
    clipped += partials[at + 4]!;
    limited += partials[at + 5]!;
  }
  return {
    objective,
    clipFraction: terms > 0 ? clipped / terms : 0,
    dualClipFraction: terms > 0 ? limited / terms : 0,
    meanRatio: terms > 0 ? ratios / terms : NaN,
    maxRatio: terms > 0 ? maxRatio : NaN,
  };
}

/** As clippedObjective, in the name of the public function `op`. */
export function evaluateClipped(
  op: string,
  current: FloatArray,
  old: FloatArray,
  advantages: FloatArray,
  options: ClippedObjectiveOptions,
): ClippedObjectiveResult {
  const units = needUnits(op, current, old, options);
  const { rows, common } = units;
  const { n, B } = rows;
  if (options.collective && units.level === "group")
    throw argumentError("ERR_SURPRISAL_OPTION", op, "collective", options.collective, 'none at level "group", whose ratios need all rows of a group');
  const checked = needAdvantages(op, advantages, units, options.advantagesPer);
  const width = { min: 0, infinite: true } as const;
  const parameters = {
    clipLow: needNumber(op, "clipLow", options.clipLow, width),
    clipHigh: needNumber(op, "clipHigh", options.clipHigh, width),
    dualClip: needNumber(op, "dualClip", options.dualClip ?? Infinity, { min: 1, above: true, infinite: true }),
    ratioCap: needNumber(op, "ratioCap", options.ratioCap ?? Infinity, { min: 0, above: true, infinite: true }),
    logClamp: needNumber(op, "logClamp", options.logClamp ?? Infinity, { min: 0, above: true, infinite: true }),
    maxLogRatio: needNumber(op, "maxLogRatio", options.maxLogRatio ?? Infinity, width),
  };
  const weights = optionalFloats(op, "rowWeights", options.rowWeights, B, "one per row");
  const dtype = widestFloat(units.current, units.old, checked.array);

  const { out } = options;
  const termCount = units.level === "token" ? n : B;
  const outputs = {
    gradLogProbs: outputOr(op, "gradLogProbs", out?.gradLogProbs, dtype, n),
    terms: outputOr(op, "terms", out?.terms, dtype, termCount),
    ratios: outputOr(op, "ratios", out?.ratios, dtype, units.count),
    clippedRatios: outputOr(op, "clippedRatios", out?.clippedRatios, dtype, units.count),
    clipped: optionalMask(op, "out.clipped", out?.clipped, termCount, "the size of the result") ?? new Uint8Array(termCount),
    objectives: float64Or(op, "objectives", out?.objectives, B),
    rowWeights: float64Or(op, "rowWeights", out?.rowWeights, B),
  };
  const { mask, offsets, groupOffsets } = common;
  refuseOverlap(op, outputs, { current, old, advantages, rowWeights: weights, mask, offsets, groupOffsets });

  const { gradLogProbs, terms, ratios, clippedRatios, clipped, objectives, rowWeights } = outputs;
  if (weights) rowWeights.set(weights);
  else fillDefaultWeights(units, options.collective, rowWeights);
  const figures = figuresOf(B);
  selectBackend(op, options.backend).ops.ratioClip({
    dtype: DTYPE_CODE[dtype],
    current: asFloat(units.current, dtype),
    old: asFloat(units.old, dtype),
    advantage: asFloat(checked.array, dtype),
    rowWeight: rowWeights,
    advantagePerToken: checked.perToken ? 1 : 0,
    form: LOSS_FORM.clip,
    ratio: ratios,
    clippedRatio: clippedRatios,
    term: terms,
    clipped,
    grad: gradLogProbs,
    objective: objectives,
    ratioSum: figures.ratioSum,
    ratioMax: figures.ratioMax,
    terms: figures.terms,
    clippedCount: figures.clipped,
    limitedCount: figures.limited,
    ...parameters,
    ...common,
  });
  const { objective, clipFraction, dualClipFraction, meanRatio, maxRatio } = summarize(
    rowPartials(op, options.collective, objectives, figures),
  );
  return { objective, clipFraction, dualClipFraction, meanRatio, maxRatio, ...outputs };
}

/**
 * Clipped policy objective and its gradient, with one ratio per token (PPO), per sequence (GSPO) or per group of sequences.
 *
 *     r = exp(log ratio),  term = min(r·A, clip(r, 1 − clipLow, 1 + clipHigh)·A)
 *     objective = Σ_b rowWeight[b] · Σ terms of row b
 *
 * The gradient is that of the branch that was taken (the unclipped one in a tie), and goes through the mean of a row or
 * group to each of its tokens. An advantage of exactly 0 gives a term of exactly 0, even for an infinite ratio. NaN spreads
 * to its token, row or group, and to the sums it enters. With a `collective` the objective, its gradient and the figures are those
 * of the batch on all its workers (not at level "group").
 *
 * @param current log-probs under the current policy, nats; [n] as `shape` or `offsets` say
 * @param old log-probs under the policy that sampled, same shape; constants for the gradient
 * @param advantages [rows], or [n] at token level; constants for the gradient
 * @returns the objective to maximise, its gradient and all intermediates; arrays float64 if an input is, else float32
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman et al. 2017, Proximal Policy Optimization Algorithms, equation 7 (token); Zheng et al. 2025, Group Sequence
 * Policy Optimization (sequence); Ye et al. 2020, Mastering Complex Control in MOBA Games with Deep
 * Reinforcement Learning (dual clip)
 */
export function clippedObjective(
  current: FloatArray,
  old: FloatArray,
  advantages: FloatArray,
  options: ClippedObjectiveOptions,
): ClippedObjectiveResult {
  return evaluateClipped("clippedObjective", current, old, advantages, options);
}
