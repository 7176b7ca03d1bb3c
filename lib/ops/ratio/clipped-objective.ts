// The clipped policy objective and its gradient. docs/ops/ratio.md has the formulas and the conventions of the frameworks.
import { LOSS_FORM, type RatioClipArgs } from "../../backend/contract/ratio";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { flagsOr, float64Or, int32Or, needFloats, optionalFloats, outputOr, refuseOverlap } from "../../core/arrays";
import { asFloat, DTYPE_CODE, type FloatArray, widestFloat } from "../../core/dtype";
import type { Collective, CollectiveOption } from "../../core/collective";
import { argumentError } from "../../core/errors";
import { needNumber } from "../../core/options";
import { needPerRowOrToken, type Per } from "../../core/per-row";
import { gatherRowPartials } from "../../core/row-partials";
import { DeviceArray, type DeviceFloatArray } from "../../core/device-array";
import { DeviceSummary } from "../../core/device-summary";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import type { Stream } from "../../core/stream";
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

/** Bytes that are not 0, of four at a time, in four sums of a byte each that no 255 words overflow. */
function countWords(words: Int32Array, onesOnly: boolean): number {
  let kept = 0;
  let seen = 0;
  for (let begin = 0; begin < words.length; begin += 255) {
    const end = Math.min(begin + 255, words.length);
    let sums = 0;
    if (onesOnly)
      for (let i = begin; i < end; ++i) {
        const word = words[i]!;
        seen |= word;
        sums = (sums + word) | 0;
      }
    else
      for (let i = begin; i < end; ++i) {
        const word = words[i]!;
        sums = (sums + (((((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >>> 7) & 0x01010101)) | 0;
      }
    const pairs = (sums & 0x00ff00ff) + ((sums >>> 8) & 0x00ff00ff);
    kept += (pairs & 0xffff) + (pairs >>> 16);
  }
  // A mask of 0 and 1, as most are, is its own count; where there was something else it is counted again.
  return (seen & ~0x01010101) === 0 ? kept : countWords(words, false);
}

function countKept(mask: Uint8Array | null, n: number): number {
  if (!mask) return n;
  const words = mask.byteOffset % 4 === 0 ? new Int32Array(mask.buffer, mask.byteOffset, n >> 2) : new Int32Array(0);
  let kept = countWords(words, true);
  for (let i = 4 * words.length; i < n; ++i) if (mask[i] !== 0) ++kept;
  return kept;
}

/** The batch's figures among the results. */
export type ClippedFigures = Pick<ClippedObjectiveResult, "objective" | "clipFraction" | "dualClipFraction" | "meanRatio" | "maxRatio">;

/** As the result on the host, with the batch's figures still in the sums of its rows. */
export type DeviceClippedObjectiveResult = OnDevice<Omit<ClippedObjectiveResult, keyof ClippedFigures>> & {
  readonly summary: DeviceSummary<ClippedFigures>;
};

/** 1 / kept tokens or 1 / rows; 0 where there is nothing to weigh, so that the objective is 0 and not 0/0. */
function fillDefaultWeights(op: string, { rows, level, common }: Units, collective: Collective | undefined, weights: Float64Array): void {
  if (level === "token" && DeviceArray.is(common.mask))
    throw argumentError("ERR_SURPRISAL_OPTION", op, "rowWeights", undefined, "weights, or a mask in host memory whose tokens can be counted");
  const here = level === "token" ? countKept(common.mask, rows.n) : rows.B;
  const total = collective ? collective.allReduce(Float64Array.of(here), "sum")[0]! : here;
  weights.fill(total > 0 ? 1 / total : 0);
}

/** What the rows add up from: [objective, sum and largest of the ratios, terms, clipped ones, limited ones] of each. */
const ROW_FIGURES = 6;

/** What a call needs of every row and does not give away. */
interface RowFigures {
  readonly ratioSum: Float64Array;
  readonly ratioMax: Float64Array;
  readonly terms: Int32Array;
  readonly clipped: Int32Array;
  readonly limited: Int32Array;
}

function newFigures(rows: number, stream: Stream | null): RowFigures {
  const count = () => int32Or("", "", undefined, rows, stream);
  const sum = () => float64Or("", "", undefined, rows, stream);
  return { ratioSum: sum(), ratioMax: sum(), terms: count(), clipped: count(), limited: count() };
}

const KEPT_ROWS = 4096;
let lastFigures = newFigures(0, null);

/** Memory for one call: that of the last one where it had as many rows, since small arrays cost more than their call. */
function figuresOf(rows: number, stream: Stream | null): RowFigures {
  if (stream) return newFigures(rows, stream);
  if (lastFigures.terms.length === rows) return lastFigures;
  const figures = newFigures(rows, null);
  if (rows <= KEPT_ROWS) lastFigures = figures;
  return figures;
}

/** [rows, ROW_FIGURES]: all of them side by side. */
function sideBySide(objectives: Float64Array, { ratioSum, ratioMax, terms, clipped, limited }: RowFigures): Float64Array {
  const partials = new Float64Array(objectives.length * ROW_FIGURES);
  for (let b = 0, at = 0; b < objectives.length; ++b, at += ROW_FIGURES) {
    partials[at] = objectives[b]!;
    partials[at + 1] = ratioSum[b]!;
    partials[at + 2] = ratioMax[b]!;
    partials[at + 3] = terms[b]!;
    partials[at + 4] = clipped[b]!;
    partials[at + 5] = limited[b]!;
  }
  return partials;
}

/** The figures of all workers' rows. */
function gatherFigures(op: string, collective: Collective, objectives: Float64Array, figures: RowFigures): ClippedFigures {
  const { partials } = gatherRowPartials(op, collective, sideBySide(objectives, figures), ROW_FIGURES);
  const column = (k: number): Float64Array => Float64Array.from({ length: partials.length / ROW_FIGURES }, (_, b) => partials[b * ROW_FIGURES + k]!);
  return summarize(column(0), {
    ratioSum: column(1),
    ratioMax: column(2),
    terms: Int32Array.from(column(3)),
    clipped: Int32Array.from(column(4)),
    limited: Int32Array.from(column(5)),
  });
}

/** Batch figures from the rows', in row order. */
function summarize(objectives: Float64Array, { ratioSum, ratioMax, terms, clipped, limited }: RowFigures): ClippedFigures {
  let [objective, ratios, all, cut, held] = [0, 0, 0, 0, 0];
  let maxRatio = -Infinity;
  for (let b = 0; b < objectives.length; ++b) {
    objective += objectives[b]!;
    ratios += ratioSum[b]!;
    maxRatio = Math.max(maxRatio, ratioMax[b]!);
    all += terms[b]!;
    cut += clipped[b]!;
    held += limited[b]!;
  }
  return {
    objective,
    clipFraction: all > 0 ? cut / all : 0,
    dualClipFraction: all > 0 ? held / all : 0,
    meanRatio: all > 0 ? ratios / all : NaN,
    maxRatio: all > 0 ? maxRatio : NaN,
  };
}

/** The weights of a call on a device, put into its output. */
function sendWeights(op: string, weights: FloatArray | null, units: Units, rowWeights: Float64Array): void {
  const there = rowWeights as unknown as DeviceArray<"float64">;
  if (DeviceArray.is(weights)) {
    there.copyFrom(asFloat(weights, "float64") as unknown as DeviceArray<"float64">);
    return;
  }
  const host = weights ? Float64Array.from(weights) : new Float64Array(units.rows.B);
  if (!weights) fillDefaultWeights(op, units, undefined, host);
  there.write(host);
}

/** The rows' figures of a call on a device, and how they add up. */
function deviceFigures(objectives: Float64Array, figures: RowFigures): DeviceSummary<ClippedFigures> {
  const names = Object.keys(figures) as (keyof RowFigures)[];
  const parts = [objectives, ...names.map((name) => figures[name])] as unknown as DeviceArray[];
  return new DeviceSummary(parts, ([first, ...rest]) =>
    summarize(first as Float64Array, Object.fromEntries(names.map((name, i) => [name, rest[i]])) as unknown as RowFigures),
  );
}

/** A checked call: what a backend needs, and what it writes. `figuresFor` brings the memory of the rows' figures. */
function clippedCall(
  op: string,
  current: FloatArray,
  old: FloatArray,
  advantages: FloatArray,
  options: ClippedObjectiveOptions,
  figuresFor: (rows: number, stream: Stream | null) => RowFigures,
) {
  const stream = streamOf(op, options, current, old, advantages, options.mask, options.rowWeights);
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
    gradLogProbs: outputOr(op, "gradLogProbs", out?.gradLogProbs, dtype, n, stream),
    terms: outputOr(op, "terms", out?.terms, dtype, termCount, stream),
    ratios: outputOr(op, "ratios", out?.ratios, dtype, units.count, stream),
    clippedRatios: outputOr(op, "clippedRatios", out?.clippedRatios, dtype, units.count, stream),
    clipped: flagsOr(op, "clipped", out?.clipped, termCount, stream),
    objectives: float64Or(op, "objectives", out?.objectives, B, stream),
    rowWeights: float64Or(op, "rowWeights", out?.rowWeights, B, stream),
  };
  const { mask, offsets, groupOffsets } = common;
  const inputs = { current: units.current, old: units.old, advantages: checked.array, mask, offsets, groupOffsets, rowWeights: weights };
  refuseOverlap(op, outputs, inputs);

  const { gradLogProbs, terms, ratios, clippedRatios, clipped, objectives, rowWeights } = outputs;
  if (stream) sendWeights(op, weights, units, rowWeights);
  else if (weights) rowWeights.set(weights);
  else fillDefaultWeights(op, units, options.collective, rowWeights);
  const figures = figuresFor(B, stream);
  const args: RatioClipArgs = {
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
    clipLow: parameters.clipLow,
    clipHigh: parameters.clipHigh,
    dualClip: parameters.dualClip,
    ratioCap: parameters.ratioCap,
    logClamp: parameters.logClamp,
    maxLogRatio: parameters.maxLogRatio,
    mask,
    offsets,
    members: common.members,
    groupOffsets,
    n,
    B,
    T: common.T,
    G: common.G,
    level: common.level,
    reduce: common.reduce,
  };
  return { stream, args, inputs, outputs, figures };
}

/** As clippedObjective, in the name of the public function `op`. */
export function evaluateClipped(
  op: string,
  current: FloatArray,
  old: FloatArray,
  advantages: FloatArray,
  options: ClippedObjectiveOptions,
): ClippedObjectiveResult {
  const { stream, args, outputs, figures } = clippedCall(op, current, old, advantages, options, figuresOf);
  selectBackend(op, options.backend, stream).ops.ratioClip(args);
  const { objectives } = outputs;
  if (stream) return { ...outputs, summary: deviceFigures(objectives, figures) } as unknown as ClippedObjectiveResult;
  return { ...(options.collective ? gatherFigures(op, options.collective, objectives, figures) : summarize(objectives, figures)), ...outputs };
}

/** The same on a device, where the first array lies. */
export function clippedObjective(current: DeviceFloatArray, old: AnyFloatArray, advantages: AnyFloatArray, options: Anywhere<ClippedObjectiveOptions>): DeviceClippedObjectiveResult;
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
export function clippedObjective(current: FloatArray, old: FloatArray, advantages: FloatArray, options: ClippedObjectiveOptions): ClippedObjectiveResult;
export function clippedObjective(current: AnyFloatArray, old: AnyFloatArray, advantages: AnyFloatArray, anywhere: ClippedObjectiveOptions | Anywhere<ClippedObjectiveOptions>): ClippedObjectiveResult | DeviceClippedObjectiveResult {
  const options = anywhere as ClippedObjectiveOptions;
  return evaluateClipped("clippedObjective", current as FloatArray, old as FloatArray, advantages as FloatArray, options);
}

/**
 * `clippedObjective` off the event loop, without a `collective`. The arrays must not be touched until it resolves, and their buffers
 * can never be transferred afterwards.
 */
export async function clippedObjectiveAsync(
  current: FloatArray,
  old: FloatArray,
  advantages: FloatArray,
  options: Omit<ClippedObjectiveOptions, "collective"> & AsyncOption,
): Promise<ClippedObjectiveResult> {
  const op = "clippedObjectiveAsync";
  // Before the weights are written into the caller's memory.
  options.signal?.throwIfAborted();
  // Memory of its own: another call may begin before this one ends.
  const { args, inputs, outputs, figures } = clippedCall(op, current, old, advantages, options, newFigures);
  await runWhole(op, "ratioClip", args, { ...inputs, ...outputs }, options);
  return { ...summarize(outputs.objectives, figures), ...outputs };
}
