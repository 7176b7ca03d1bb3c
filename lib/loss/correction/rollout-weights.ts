// Importance weights for what a sampler generated and a trainer learns from.
import type { FloatArray } from "../../core/dtype";
import { widestFloat } from "../../core/float-arrays";
import { needFlag, needWord } from "../../core/option-checks";
import { optionError } from "../../core/errors";
import { boundMismatch, type OutsideRule } from "../../ops/correction";
import { broadcastRows } from "../../ops/group/broadcast";
import { mergeMoments, type Moments, moments } from "../../ops/reduce";
import { type PresetOption, resolvePreset } from "../../presets";
import {
  average,
  bounded,
  countAbove,
  countBelow,
  largest,
  rowFigures,
  share,
  smallest,
  type Spread,
  sum,
  weightedSpread,
} from "./figures";
import { numbersOf, type RejectionThreshold } from "./rejection-rules";
import { type Bounds, type CorrectionMetrics, Mismatch, type RolloutOptions } from "./mismatch";

const LEVELS = ["token", "sequence"] as const;
const PREFIX = "rollout_is";
/** A mean weight has to be more than this to divide by it. */
const SMALLEST_MEAN = 1e-8;

/** How weights are formed. */
export interface WeightRule {
  /** A weight for every token (`"token"`), or one for all tokens of a row, from the sum of its log ratios (`"sequence"`). */
  readonly level: (typeof LEVELS)[number];
  /**
   * A number >= 1: weights are at most this; metrics call one low below its reciprocal. `"lower_upper"`: a weight outside of these
   * bounds becomes 0 (IcePop). Default 2.
   */
  readonly threshold?: RejectionThreshold;
  /** Divide the bounded weights by their mean: over tokens (`"token"`), or of the rows (`"sequence"`). Default false. */
  readonly batchNormalize?: boolean;
}

export interface RolloutWeightsOptions extends RolloutOptions, WeightRule, PresetOption<"rolloutWeights"> {}

export interface RolloutWeightsResult {
  /** One per token, constants for the gradient; 0 under the mask. Float64 if an input is, else float32. */
  readonly weights: FloatArray;
  /** `rollout_is_mean`, … Of the weights as `figures` says, before they are normalised; docs/loss/correction.md defines each. */
  readonly metrics: CorrectionMetrics;
}

/** std and effective sample size of weights, then the figures over rows: of `rowMeans`, and the shares of the raw ones. */
function spreadFigures(
  batch: Mismatch,
  { mean, variance }: Spread,
  rowMeans: readonly number[],
  raw: readonly number[],
  bounds: Bounds,
): CorrectionMetrics {
  const square = variance + mean * mean;
  return {
    [`${PREFIX}_std`]: batch.tokens > 1 ? Math.sqrt(variance) : 0,
    [`${PREFIX}_eff_sample_size`]: square > 0 ? (mean + batch.epsilon) ** 2 / square : square,
    ...rowFigures(PREFIX, rowMeans, bounds, 1, raw),
    [`${PREFIX}_seq_fraction_low`]: share(countBelow(raw, bounds), raw.length),
  };
}

/** Bounded, and divided by `norm`. */
function tokenWeights(batch: Mismatch, { bounds, outside }: Limits, norm: number): FloatArray {
  const rowFactors = new Float64Array(batch.rows.B).fill(1 / norm);
  const { oldLogProbs, samplerLogProbs, layout, logClamp } = batch;
  const rule = {
    statistic: "ratio",
    logClamp,
    outside,
    low: outside === "zero" ? bounds.low : undefined,
    high: bounds.high,
    rowFactors: norm !== 1 ? rowFactors : undefined,
  } as const;
  return boundMismatch(oldLogProbs, samplerLogProbs, { ...layout, ...rule }).weights;
}

function ofTokens(batch: Mismatch, limits: Limits, normalize: boolean): RolloutWeightsResult {
  const { bounds } = limits;
  const measures = batch.measure("ratio", batch.logClamp, bounds);
  const { layout, tokens } = batch;
  const merging = { backend: layout.backend };
  const weights = tokenWeights(batch, limits, 1);
  const applied = moments(weights, { ...layout, over: "row" });
  const shown = batch.rawFigures ? measures.moments : applied;
  const all = mergeMoments(shown, merging);
  const within = batch.rawFigures ? mergeMoments(measures.bounded, merging) : all;
  const perRow = (of: Moments) => {
    const means = batch.perToken(of.sums);
    return batch.countedRows.map((b) => means[b]!);
  };
  const metrics: CorrectionMetrics = {
    [`${PREFIX}_mean`]: batch.mean(all.sums[0]!, tokens),
    [`${PREFIX}_max`]: tokens > 0 ? all.maxs[0]! : 0,
    [`${PREFIX}_min`]: tokens > 0 ? all.mins[0]! : 0,
    [`${PREFIX}_ratio_fraction_high`]: batch.mean(sum(measures.above), tokens),
    [`${PREFIX}_ratio_fraction_low`]: batch.mean(sum(measures.below), tokens),
    ...outsideShare(limits, batch.mean(sum(measures.above) + sum(measures.below), tokens)),
    ...spreadFigures(
      batch,
      { mean: within.means[0]!, variance: share(within.m2s[0]!, tokens) },
      perRow(shown),
      perRow(measures.moments),
      bounds,
    ),
  };
  if (!normalize) return { weights, metrics };
  const mean = batch.mean(sum(applied.sums), tokens);
  const norm = mean > SMALLEST_MEAN ? mean : 1;
  return {
    weights: norm === 1 ? weights : tokenWeights(batch, limits, norm),
    metrics: { ...metrics, [`${PREFIX}_batch_norm_factor`]: norm },
  };
}

function ofRows(batch: Mismatch, limits: Limits, normalize: boolean): RolloutWeightsResult {
  const { kept, tokens, logClamp, layout, countedRows, liveRows } = batch;
  const { bounds, outside } = limits;
  const logBounds = { low: Math.log(bounds.low), high: Math.log(bounds.high) };
  const logs = batch.differences;
  const weights = logs.map((log) => Math.exp(bounded(log, { low: -logClamp, high: logClamp })));
  const applied = weights.map((w) =>
    outside === "zero" ? (w >= bounds.low && w <= bounds.high ? w : 0) : Math.min(w, bounds.high),
  );
  const counted = countedRows.map((b) => logs[b]!);
  const perRow = (of: Float64Array) => {
    const means = batch.perToken(of.map((w, b) => w * kept[b]!));
    return countedRows.map((b) => means[b]!);
  };
  const shown = batch.rawFigures ? weights : applied;
  const dropped = liveRows.filter((b) => !(weights[b]! >= bounds.low && weights[b]! <= bounds.high));
  const metrics: CorrectionMetrics = {
    [`${PREFIX}_max`]: counted.length > 0 ? Math.exp(Math.min(largest(counted), logClamp)) : 0,
    [`${PREFIX}_min`]: counted.length > 0 ? Math.exp(smallest(counted)) : 0,
    [`${PREFIX}_mean`]: batch.mean(sum(liveRows.map((b) => shown[b]! * kept[b]!)), tokens),
    [`${PREFIX}_ratio_fraction_high`]: share(countAbove(counted, logBounds), counted.length),
    [`${PREFIX}_ratio_fraction_low`]: share(countBelow(counted, logBounds), counted.length),
    ...outsideShare(limits, batch.mean(sum(dropped.map((b) => kept[b]!)), tokens)),
    ...spreadFigures(
      batch,
      weightedSpread(
        liveRows.map((b) => (batch.rawFigures ? bounded(weights[b]!, bounds) : applied[b]!)),
        liveRows.map((b) => kept[b]!),
      ),
      perRow(shown),
      perRow(weights),
      bounds,
    ),
  };
  const mean = average(liveRows.map((b) => applied[b]!));
  const norm = normalize && mean > SMALLEST_MEAN ? mean : 1;
  if (normalize) metrics[`${PREFIX}_batch_norm_factor`] = norm;
  const perRowWeights = norm === 1 ? applied : applied.map((w) => w / norm);
  const wide = widestFloat(batch.oldLogProbs, batch.samplerLogProbs) === "float64";
  const row = wide ? perRowWeights : Float32Array.from(perRowWeights);
  return { weights: broadcastRows("rolloutWeights", "weights", row, layout), metrics };
}

/** What weights are bounded to: truncated at `bounds.high`, or 0 outside of the bounds. */
interface Limits {
  readonly bounds: Bounds;
  readonly outside: OutsideRule;
}

/** The share of tokens whose weight was taken from them. */
function outsideShare({ outside }: Limits, value: number): CorrectionMetrics {
  return outside === "zero" ? { [`${PREFIX}_oob_ratio`]: value } : {};
}

function needLimits(op: string, name: string, threshold: unknown): Limits {
  const [first = NaN, second] = numbersOf(threshold);
  const high = second ?? first;
  const sound = numbersOf(threshold).length <= 2 && first > 0 && high >= first && high < Infinity;
  if (!sound || (second === undefined && high < 1))
    throw optionError(op, name, threshold, 'a number >= 1, or "lower_upper" with 0 < lower <= upper');
  return second === undefined
    ? { bounds: { low: 1 / high, high }, outside: "clamp" }
    : { bounds: { low: first, high }, outside: "zero" };
}

/** The weights of a batch, in the name of the public function `op` whose caller wrote the rule under `at`. */
export function weigh(op: string, batch: Mismatch, rule: WeightRule, at = ""): RolloutWeightsResult {
  const level = needWord(op, `${at}level`, rule.level, LEVELS);
  const limits = needLimits(op, `${at}threshold`, rule.threshold ?? 2);
  const normalize = needFlag(op, `${at}batchNormalize`, rule.batchNormalize) === 1;
  return (level === 0 ? ofTokens : ofRows)(batch, limits, normalize);
}

/**
 * Importance weights that correct for the distance between the policy that sampled (an inference engine, with its own
 * kernels and number types) and the one whose gradient is taken, as verl's rollout correction forms them.
 *
 *     token     w_bt = min(exp(clip(o_bt − u_bt, ±logClamp)), threshold)
 *     sequence  w_bt = min(exp(clip(Σ_t m_bt·(o_bt − u_bt), ±logClamp)), threshold)
 *
 * @param oldLogProbs o: of the trainer before its update, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u: of the sampler, the same tokens
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function rolloutWeights(
  oldLogProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: RolloutWeightsOptions,
): RolloutWeightsResult {
  const op = "rolloutWeights";
  const settings = resolvePreset(op, options.preset, options);
  return weigh(op, new Mismatch(op, oldLogProbs, samplerLogProbs, settings), settings);
}
