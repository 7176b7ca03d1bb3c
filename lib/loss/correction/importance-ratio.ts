// Ratios of the trainer's and the sampler's probabilities, bounded or cut off: the factor of a policy loss.
import type { BackendOption } from "../../backend/select";
import type { FloatArray } from "../../core/dtype";
import type { UnknownSamplerOption } from "../../core/unknown-sampler";
import { widestFloat } from "../../core/float-arrays";
import { optionError } from "../../core/errors";
import { needBounds, needFlag, needNumber, needWord } from "../../core/option-checks";
import { boundMismatch, type OutsideRule } from "../../ops/correction";
import { IMPORTANCE_RATIOS, type ImportanceRatioName } from "../../presets/importance-ratios";
import { eachKept, type RowLayout } from "../../core/row-layout";
import { average, bounded, share, sum } from "./figures";
import { type Bounds, Mismatch, UNBOUNDED } from "./mismatch";

const LEVELS = ["token", "sequence", "geometric"] as const;
const OUTSIDE = ["clamp", "zero"] as const satisfies readonly OutsideRule[];
const BOUNDS_OF = ["ratio", "rowMean"] as const;

/** What a framework's name stands for. */
export interface ImportanceRatioConventions extends UnknownSamplerOption {
  /**
   * A ratio for every token, or one for a row: exp of the sum of its log ratios (`"sequence"`) or of their mean (`"geometric"`). Segments
   * are rows: give their `offsets` and `mask`.
   */
  readonly level?: (typeof LEVELS)[number];
  /** A ratio outside of [low, high] becomes the bound (`"clamp"`) or 0 (`"zero"`). Default `"clamp"`. */
  readonly outside?: OutsideRule;
  /**
   * What `low` and `high` bound: the ratio, or (`"rowMean"`, with `outside: "zero"`) exp of the mean log ratio of the row, whose
   * tokens then keep their unbounded ratios or all get 0. Default `"ratio"`.
   */
  readonly boundsOf?: (typeof BOUNDS_OF)[number];
  /** Lower bound, >= 0. Default: none. */
  readonly low?: number;
  /** Upper bound, >= `low`. Default: none. */
  readonly high?: number;
  /** Where the mask is 0: 0, or 1 as if both log-probs were equal, bounded like any other. Default 0. */
  readonly maskedRatio?: 0 | 1;
  /** D of a token is clamped to ±logClamp, > 0, nats. Default: Infinity, off. */
  readonly logClamp?: number;
  /**
   * The bounded ratios are divided by their mean: over the kept tokens (`"token"`), or over the rows that have one. A mean of 1e-8 or less
   * does not divide. Default false.
   */
  readonly batchNormalize?: boolean;
}

export interface ImportanceRatioOptions extends ImportanceRatioConventions, RowLayout, BackendOption {
  /**
   * As a framework calls it: `"trl/sequence_mask"`, `"openrlhf/icepop"`. Options that are given win. Default: none; `level` must
   * be given then.
   */
  readonly mode?: ImportanceRatioName;
  /** 1 = the policy's token. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface ImportanceRatioResult {
  /** One per token, or per row, as `level` says; constants for the gradient. Float64 if an input is, else float32. */
  readonly ratios: FloatArray;
  /** 1 where the bounds hold, one per ratio; 0 for a masked token. */
  readonly kept: Uint8Array;
}

/** The convention of that name under the options that are given. */
function settle(op: string, { mode, ...given }: ImportanceRatioOptions): ImportanceRatioOptions {
  if (mode === undefined) return given;
  needWord<string>(op, "mode", mode, Object.keys(IMPORTANCE_RATIOS));
  const present = Object.entries<unknown>({ ...given }).filter(([, value]) => value !== undefined);
  return { ...IMPORTANCE_RATIOS[mode], ...Object.fromEntries(present) };
}

function inside(x: number, { low, high }: Bounds): boolean {
  return x >= low && x <= high;
}

/** A NaN stays one: whose ratio is unknown is not 0. */
function bound(x: number, bounds: Bounds, outside: OutsideRule): number {
  return outside === "clamp" || Number.isNaN(x) ? bounded(x, bounds) : inside(x, bounds) ? x : 0;
}

/** 1 for each row whose geometric mean ratio lies within the bounds. */
function rowFactors(batch: Mismatch, bounds: Bounds): Float64Array {
  const { differences, kept } = batch;
  return differences.map((sum, b) => (kept[b] === 0 || inside(Math.exp(sum / kept[b]!), bounds) ? 1 : 0));
}

/** Σ or mean of the clamped log ratios of each row's kept tokens. */
function rowLogRatios(batch: Mismatch, mean: boolean): Float64Array {
  const { rows, kept, oldLogProbs, samplerLogProbs, logClamp } = batch;
  const totals = new Float64Array(rows.B);
  const clamp = { low: -logClamp, high: logClamp };
  eachKept(batch, (i, b) => (totals[b]! += bounded(oldLogProbs[i]! - samplerLogProbs[i]!, clamp)));
  return mean ? totals.map((total, b) => total / Math.max(kept[b]!, 1)) : totals;
}

/** What divides weights so that their mean is 1; 1 where that mean is too small. */
function normOf(batch: Mismatch, weights: FloatArray, perToken: boolean): number {
  const { liveRows, tokens } = batch;
  const mean = perToken
    ? share(sum(weights.filter((_, i) => batch.mask?.[i] !== 0)), tokens)
    : average(liveRows.map((b) => weights[b]!));
  return mean > 1e-8 ? mean : 1;
}

/**
 * The ratio of the trainer's and the sampler's probabilities, per token or per row, bounded: what multiplies the terms of a
 * policy loss where the sampler is another engine. With D = o − u:
 *
 *     token     exp(D_t)          sequence  exp(Σ_t m_t·D_t)          geometric  exp(mean of D over the row)
 *     "clamp"   min(max(ratio, low), high)
 *     "zero"    ratio where low <= ratio <= high, else 0
 *     rowMean   exp(D_t) where low <= exp(mean of D over the row) <= high, else 0
 *
 * @param oldLogProbs o: of the trainer before its update, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u: of the sampler, the same tokens
 * @returns at sequence and geometric level one ratio per row; a row without tokens has 1, bounded
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function importanceRatio(
  oldLogProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: ImportanceRatioOptions,
): ImportanceRatioResult {
  const op = "importanceRatio";
  const settings = settle(op, options);
  const level = LEVELS[needWord<string>(op, "level", settings.level ?? "none", LEVELS)];
  const outside = OUTSIDE[needWord(op, "outside", settings.outside ?? "clamp", OUTSIDE)]!;
  const byRow = needWord(op, "boundsOf", settings.boundsOf ?? "ratio", BOUNDS_OF) === 1;
  if (byRow && (level !== "token" || outside !== "zero"))
    throw optionError(op, "boundsOf", "rowMean", '"ratio" unless level is "token" and outside is "zero"');
  const bounds = needBounds(op, settings, { min: 0 });
  const maskedRatio = needNumber(op, "maskedRatio", settings.maskedRatio ?? 0, { min: 0, max: 1, integer: true });
  const normalize = needFlag(op, "batchNormalize", settings.batchNormalize) === 1;
  const logClamp = settings.logClamp ?? Infinity;
  const batch = new Mismatch(op, oldLogProbs, samplerLogProbs, { ...settings, logClamp });
  if (level !== "token") {
    const logs =
      level === "sequence" && logClamp === Infinity ? batch.differences : rowLogRatios(batch, level === "geometric");
    const exact = logs.map(Math.exp);
    const held = exact.map((ratio) => bound(ratio, bounds, outside));
    const norm = normalize ? normOf(batch, held, false) : 1;
    const ratios = norm === 1 ? held : held.map((ratio) => ratio / norm);
    return {
      ratios: widestFloat(oldLogProbs, batch.samplerLogProbs) === "float64" ? ratios : Float32Array.from(ratios),
      kept: Uint8Array.from(exact, (ratio) => (inside(ratio, bounds) ? 1 : 0)),
    };
  }
  const rule = {
    ...batch.layout,
    statistic: "ratio",
    outside,
    logClamp,
    maskedWeight: maskedRatio === 0 ? 0 : byRow ? 1 : bound(1, bounds, outside),
    low: byRow ? UNBOUNDED.low : bounds.low,
    high: byRow ? UNBOUNDED.high : bounds.high,
  } as const;
  const factors = byRow ? rowFactors(batch, bounds) : undefined;
  const { weights, kept } = boundMismatch(oldLogProbs, batch.samplerLogProbs, { ...rule, rowFactors: factors });
  const norm = normalize ? normOf(batch, weights, true) : 1;
  if (norm === 1) return { ratios: weights, kept };
  const shares = (factors ?? new Float64Array(batch.rows.B).fill(1)).map((factor) => factor / norm);
  return { ratios: boundMismatch(oldLogProbs, batch.samplerLogProbs, { ...rule, rowFactors: shares }).weights, kept };
}
