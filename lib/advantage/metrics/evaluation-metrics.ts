// Evaluation by data source: pass@1, best of the samples of a prompt, response length, share of truncated responses.
import { needFloats, needIds, optionalMask, type TokenIds } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { dtypeError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { average, chosen, largest } from "../scalar-metrics";
import type { MetricRecord } from "./metric-record";

/** Samples of evaluation prompts: those of a prompt stand together, each prompt has the same number. */
export interface EvaluatedSamples {
  /** One per sample. */
  readonly rewards: FloatArray;
  /** Tokens of each response. */
  readonly lengths: TokenIds;
  /** 1 = the response was cut off. */
  readonly truncated: Uint8Array;
  /** Where each prompt comes from, one per prompt. */
  readonly sources: readonly string[];
}

export interface EvaluationMetricsOptions {
  /** n, an integer >= 1. */
  readonly samplesPerPrompt: number;
}

/**
 * Metrics by source: `eval_<source>_pass1` (the mean reward), `eval_<source>_pass<n>` (the mean over prompts of the best of
 * their n rewards), `eval_<source>_response_length_mean`, `eval_<source>_truncated_rate`, and over all samples
 * `eval_response_length_mean`, `eval_truncated_rate`, `eval_num_samples`. The best of n samples is not pass@k for k < n: see
 * `passAtK`.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function evaluationMetrics(samples: EvaluatedSamples, options: EvaluationMetricsOptions): MetricRecord {
  const op = "evaluationMetrics";
  const n = needNumber(op, "samplesPerPrompt", options.samplesPerPrompt, { min: 1, integer: true });
  const { sources } = samples;
  if (!Array.isArray(sources)) throw dtypeError(op, "sources", sources, "an array of names, one a prompt");
  const count = sources.length * n;
  const meaning = "prompts * samplesPerPrompt";
  const rewards = needFloats(op, "rewards", samples.rewards, count, meaning);
  const lengths = needIds(op, "lengths", samples.lengths, count, meaning);
  const truncated = optionalMask(op, "truncated", samples.truncated, count, meaning);
  if (!truncated) throw dtypeError(op, "truncated", samples.truncated, "a Uint8Array of 0 and 1");

  const names = sources as readonly string[];
  const sourceOf = (sample: number): string => names[Math.floor(sample / n)]!;
  const cut = Array.from(truncated, (flag) => (flag !== 0 ? 1 : 0));
  const best = names.map((_, prompt) => largest(Array.from(rewards.subarray(prompt * n, (prompt + 1) * n))));
  const metrics: MetricRecord = {};
  for (const source of new Set(names)) {
    const here = (sample: number): boolean => sourceOf(sample) === source;
    metrics[`eval_${source}_pass${n}`] = average(chosen(best, (prompt) => names[prompt] === source));
    metrics[`eval_${source}_pass1`] = average(chosen(rewards, here));
    metrics[`eval_${source}_response_length_mean`] = average(chosen(lengths, here));
    metrics[`eval_${source}_truncated_rate`] = average(chosen(cut, here));
  }
  metrics["eval_response_length_mean"] = average(Array.from(lengths));
  metrics["eval_truncated_rate"] = average(cut);
  metrics["eval_num_samples"] = count;
  return metrics;
}
