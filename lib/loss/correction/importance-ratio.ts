// Ratios of the trainer's and the sampler's probabilities, bounded or cut off: the factor of a policy loss.
import type { BackendOption } from "../../backend/select";
import type { FloatArray } from "../../core/dtype";
import { widestFloat } from "../../core/float-arrays";
import { argumentError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import type { RowLayout } from "../../core/row-layout";
import { boundMismatch, type OutsideRule } from "../../ops/correction";
import { IMPORTANCE_RATIOS, type ImportanceRatioName } from "../../presets/importance-ratios";
import { bounded } from "./figures";
import { type Bounds, Mismatch, UNBOUNDED } from "./mismatch";

const LEVELS = ["token", "sequence"] as const;
const OUTSIDE = ["clamp", "zero"] as const satisfies readonly OutsideRule[];
const BOUNDS_OF = ["ratio", "rowMean"] as const;

/** What a framework's name stands for. */
export interface ImportanceRatioConventions {
  /** A ratio for every token, or one for a row: exp of the sum of its log ratios. */
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

function needBounds(op: string, { low, high }: ImportanceRatioConventions): Bounds {
  const range = { min: 0, infinite: true } as const;
  const bounds = {
    low: low === undefined ? -Infinity : needNumber(op, "low", low, range),
    high: high === undefined ? Infinity : needNumber(op, "high", high, range),
  };
  if (bounds.low > bounds.high) throw argumentError("ERR_SURPRISAL_OPTION", op, "low", low, `at most high = ${high}`);
  return bounds;
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

/**
 * The ratio of the trainer's and the sampler's probabilities, per token or per row, bounded: what multiplies the terms of a
 * policy loss where the sampler is another engine. With D = o − u:
 *
 *     token     exp(D_t)          sequence  exp(Σ_t m_t·D_t)
 *     "clamp"   min(max(ratio, low), high)
 *     "zero"    ratio where low <= ratio <= high, else 0
 *     rowMean   exp(D_t) where low <= exp(mean of D over the row) <= high, else 0
 *
 * @param oldLogProbs o: of the trainer before its update, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u: of the sampler, the same tokens
 * @returns at sequence level one ratio per row; a row without tokens has 1, bounded
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
    throw argumentError(
      "ERR_SURPRISAL_OPTION",
      op,
      "boundsOf",
      "rowMean",
      '"ratio" unless level is "token" and outside is "zero"',
    );
  const bounds = needBounds(op, settings);
  const maskedRatio = needNumber(op, "maskedRatio", settings.maskedRatio ?? 0, { min: 0, max: 1, integer: true });
  const batch = new Mismatch(op, oldLogProbs, samplerLogProbs, settings);
  if (level === "sequence") {
    const exact = batch.differences.map(Math.exp);
    const ratios = exact.map((ratio) => bound(ratio, bounds, outside));
    return {
      ratios: widestFloat(oldLogProbs, samplerLogProbs) === "float64" ? ratios : Float32Array.from(ratios),
      kept: Uint8Array.from(exact, (ratio) => (inside(ratio, bounds) ? 1 : 0)),
    };
  }
  const { weights, kept } = boundMismatch(oldLogProbs, samplerLogProbs, {
    ...batch.layout,
    statistic: "ratio",
    outside,
    maskedWeight: maskedRatio === 0 ? 0 : byRow ? 1 : bound(1, bounds, outside),
    low: byRow ? UNBOUNDED.low : bounds.low,
    high: byRow ? UNBOUNDED.high : bounds.high,
    rowFactors: byRow ? rowFactors(batch, bounds) : undefined,
  });
  return { ratios: weights, kept };
}
