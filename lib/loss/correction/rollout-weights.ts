// Importance weights for what a sampler generated and a trainer learns from.
import type { FloatArray } from "../../core/dtype";
import { widestFloat } from "../../core/float-arrays";
import { needFlag, needNumber, needWord } from "../../core/option-checks";
import { boundMismatch } from "../../ops/correction";
import { broadcastRows } from "../../ops/group/broadcast";
import { mergeMoments } from "../../ops/reduce";
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
import { type Bounds, type CorrectionMetrics, Mismatch, type RolloutOptions } from "./mismatch";

const LEVELS = ["token", "sequence"] as const;
const PREFIX = "rollout_is";
/** A mean weight has to be more than this to divide by it. */
const SMALLEST_MEAN = 1e-8;

/** How weights are formed. */
export interface WeightRule {
  /** A weight for every token (`"token"`), or one for all tokens of a row, from the sum of its log ratios (`"sequence"`). */
  readonly level: (typeof LEVELS)[number];
  /** Weights are at most this, >= 1. Metrics call a weight low below its reciprocal. Default 2. */
  readonly threshold?: number;
  /** Divide the truncated weights by their mean: over tokens (`"token"`), or of the rows (`"sequence"`). Default false. */
  readonly batchNormalize?: boolean;
}

export interface RolloutWeightsOptions extends RolloutOptions, WeightRule, PresetOption<"rolloutWeights"> {}

export interface RolloutWeightsResult {
  /** One per token, constants for the gradient; 0 under the mask. Float64 if an input is, else float32. */
  readonly weights: FloatArray;
  /** `rollout_is_mean`, … Of the weights before they are truncated; docs/loss/correction.md defines each. */
  readonly metrics: CorrectionMetrics;
}

/** std and effective sample size of the bounded weights, then the figures over rows. */
function spreadFigures(
  batch: Mismatch,
  { mean, variance }: Spread,
  rowMeans: readonly number[],
  bounds: Bounds,
): CorrectionMetrics {
  const square = variance + mean * mean;
  return {
    [`${PREFIX}_std`]: batch.tokens > 1 ? Math.sqrt(variance) : 0,
    [`${PREFIX}_eff_sample_size`]: square > 0 ? (mean + batch.epsilon) ** 2 / square : square,
    ...rowFigures(PREFIX, rowMeans, bounds, 1),
    [`${PREFIX}_seq_fraction_low`]: share(countBelow(rowMeans, bounds), rowMeans.length),
  };
}

/** Truncated at the threshold and divided by `norm`. */
function tokenWeights(batch: Mismatch, threshold: number, norm: number): FloatArray {
  const rowFactors = new Float64Array(batch.rows.B).fill(1 / norm);
  const { oldLogProbs, samplerLogProbs, layout, logClamp } = batch;
  const rule = {
    statistic: "ratio",
    logClamp,
    high: threshold,
    rowFactors: norm !== 1 ? rowFactors : undefined,
  } as const;
  return boundMismatch(oldLogProbs, samplerLogProbs, { ...layout, ...rule }).weights;
}

function ofTokens(batch: Mismatch, bounds: Bounds, normalize: boolean): RolloutWeightsResult {
  const measures = batch.measure("ratio", batch.logClamp, bounds);
  const { layout, tokens } = batch;
  const merging = { backend: layout.backend };
  const all = mergeMoments(measures.moments, merging);
  const within = mergeMoments(measures.bounded, merging);
  const rowMeans = batch.perToken(measures.moments.sums);
  const metrics: CorrectionMetrics = {
    [`${PREFIX}_mean`]: batch.mean(all.sums[0]!, tokens),
    [`${PREFIX}_max`]: tokens > 0 ? all.maxs[0]! : 0,
    [`${PREFIX}_min`]: tokens > 0 ? all.mins[0]! : 0,
    [`${PREFIX}_ratio_fraction_high`]: batch.mean(sum(measures.above), tokens),
    [`${PREFIX}_ratio_fraction_low`]: batch.mean(sum(measures.below), tokens),
    ...spreadFigures(
      batch,
      { mean: within.means[0]!, variance: share(within.m2s[0]!, tokens) },
      batch.countedRows.map((b) => rowMeans[b]!),
      bounds,
    ),
  };
  if (!normalize) return { weights: tokenWeights(batch, bounds.high, 1), metrics };
  const truncated = batch.measure("ratio", batch.logClamp, { low: -Infinity, high: bounds.high }).bounded;
  const mean = batch.mean(sum(truncated.sums), tokens);
  const norm = mean > SMALLEST_MEAN ? mean : 1;
  return {
    weights: tokenWeights(batch, bounds.high, norm),
    metrics: { ...metrics, [`${PREFIX}_batch_norm_factor`]: norm },
  };
}

function ofRows(batch: Mismatch, bounds: Bounds, normalize: boolean): RolloutWeightsResult {
  const { kept, tokens, logClamp, layout, countedRows, liveRows } = batch;
  const { high: threshold } = bounds;
  const logBounds = { low: -Math.log(threshold), high: Math.log(threshold) };
  const logs = batch.differences;
  const weights = logs.map((log) => Math.exp(bounded(log, { low: -logClamp, high: logClamp })));
  const counted = countedRows.map((b) => logs[b]!);
  const rowMeans = batch.perToken(weights.map((w, b) => w * kept[b]!));
  const metrics: CorrectionMetrics = {
    [`${PREFIX}_max`]: counted.length > 0 ? Math.exp(Math.min(largest(counted), logClamp)) : 0,
    [`${PREFIX}_min`]: counted.length > 0 ? Math.exp(smallest(counted)) : 0,
    [`${PREFIX}_mean`]: batch.mean(sum(liveRows.map((b) => weights[b]! * kept[b]!)), tokens),
    [`${PREFIX}_ratio_fraction_high`]: share(countAbove(counted, logBounds), counted.length),
    [`${PREFIX}_ratio_fraction_low`]: share(countBelow(counted, logBounds), counted.length),
    ...spreadFigures(
      batch,
      weightedSpread(
        liveRows.map((b) => bounded(weights[b]!, bounds)),
        liveRows.map((b) => kept[b]!),
      ),
      countedRows.map((b) => rowMeans[b]!),
      bounds,
    ),
  };
  const truncated = weights.map((w) => Math.min(w, threshold));
  const mean = average(liveRows.map((b) => truncated[b]!));
  const norm = normalize && mean > SMALLEST_MEAN ? mean : 1;
  if (normalize) metrics[`${PREFIX}_batch_norm_factor`] = norm;
  const perRow = norm === 1 ? truncated : truncated.map((w) => w / norm);
  const row = widestFloat(batch.oldLogProbs, batch.samplerLogProbs) === "float64" ? perRow : Float32Array.from(perRow);
  return { weights: broadcastRows("rolloutWeights", "weights", row, layout), metrics };
}

/** The weights of a batch, in the name of the public function `op` whose caller wrote the rule under `at`. */
export function weigh(op: string, batch: Mismatch, rule: WeightRule, at = ""): RolloutWeightsResult {
  const level = needWord(op, `${at}level`, rule.level, LEVELS);
  const threshold = needNumber(op, `${at}threshold`, rule.threshold ?? 2, { min: 1 });
  const normalize = needFlag(op, `${at}batchNormalize`, rule.batchNormalize) === 1;
  return (level === 0 ? ofTokens : ofRows)(batch, { low: 1 / threshold, high: threshold }, normalize);
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
