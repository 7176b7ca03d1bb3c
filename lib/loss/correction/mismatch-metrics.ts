// Perplexities, divergences and χ² of tokens under the policy of the sampler that generated them and under the trainer's.
import type { FloatArray } from "../../core/dtype";
import { mergeMoments, moments } from "../../ops/reduce";
import { type PresetOption, resolvePreset } from "../../presets";
import { average, bounded, largest, smallest, sum } from "./figures";
import { type CorrectionMetrics, Mismatch, type RolloutOptions } from "./mismatch";

export interface MismatchMetricsOptions extends RolloutOptions, PresetOption<"mismatchMetrics"> {}

export interface MismatchMetricsResult {
  /** `training_ppl`, `kl`, `chi2_seq`, …; docs/loss/correction.md defines each. */
  readonly metrics: CorrectionMetrics;
}

/** −mean log-prob of each counted row. */
function logPerplexities(batch: Mismatch, logProbs: FloatArray): number[] {
  const means = batch.perToken(moments(logProbs, { ...batch.layout, over: "row" }).sums);
  return batch.countedRows.map((b) => 0 - means[b]!);
}

function perplexities(name: string, logs: readonly number[]): CorrectionMetrics {
  return { [`${name}_ppl`]: average(logs.map(Math.exp)), [`${name}_log_ppl`]: average(logs) };
}

/** The metrics of a batch. */
export function compareMismatch(batch: Mismatch): CorrectionMetrics {
  const { tokens, logClamp, layout, countedRows, differences } = batch;
  const training = logPerplexities(batch, batch.oldLogProbs);
  const rollout = logPerplexities(batch, batch.samplerLogProbs);
  const apart = training.map((x, r) => x - rollout[r]!);
  const k3 = batch.measure("k3", Infinity).moments;
  const ratios = mergeMoments(batch.measure("ratio", logClamp).moments, { backend: layout.backend });
  const squares = ratios.m2s[0]! + ratios.counts[0]! * ratios.means[0]! ** 2;
  const clamp = { low: -logClamp, high: logClamp };
  return {
    ...perplexities("training", training),
    kl: batch.mean(0 - sum(differences), tokens),
    k3_kl: batch.mean(sum(k3.sums), tokens),
    ...perplexities("rollout", rollout),
    log_ppl_diff: average(apart),
    log_ppl_abs_diff: average(apart.map(Math.abs)),
    log_ppl_diff_max: largest(apart),
    log_ppl_diff_min: smallest(apart),
    ppl_ratio: average(apart.map(Math.exp)),
    chi2_token: tokens > 0 ? batch.mean(squares, tokens) - 1 : 0,
    chi2_seq:
      countedRows.length > 0 ? average(countedRows.map((b) => Math.exp(2 * bounded(differences[b]!, clamp)))) - 1 : 0,
  };
}

/**
 * How the policy that sampled and the one that learns differ on a batch: perplexity under each, KL(rollout ‖ training) by two
 * estimators, and χ² of tokens and sequences, under the names of verl's dashboards. 0 everywhere where nothing is kept.
 *
 * @param oldLogProbs o: of the trainer before its update, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u: of the sampler, the same tokens; null = unknown, then only the training perplexity is there
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function mismatchMetrics(
  oldLogProbs: FloatArray,
  samplerLogProbs: FloatArray | null,
  options: MismatchMetricsOptions,
): MismatchMetricsResult {
  const op = "mismatchMetrics";
  const settings = resolvePreset(op, options.preset, options);
  const batch = new Mismatch(op, oldLogProbs, samplerLogProbs ?? oldLogProbs, settings);
  if (samplerLogProbs !== null) return { metrics: compareMismatch(batch) };
  return { metrics: perplexities("training", logPerplexities(batch, oldLogProbs)) };
}
