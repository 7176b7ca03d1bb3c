// How good a policy is with several samples a prompt: mean@N, best@n, worst@n and maj@n, averaged over prompts.
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { type GroupLayout, type Groups, needGroups, type NamedGroups } from "../../core/groups";
import { average } from "../scalar-metrics";
import { bestAtN, needSamples } from "./best-at-n";
import type { DrawOptions } from "./draws";
import { majorityAtN, needPredictions, type Predictions } from "./majority";
import { meanAndStd } from "./mean-and-std";
import type { MetricRecord } from "./metric-record";

export interface ValidationMetricsOptions extends GroupLayout, Pick<DrawOptions, "seed" | "draws"> {
  /** The answer of each sample. With them: maj@n, which needs a seed. */
  readonly predictions?: Predictions;
}

/** 2, 4, 8, … below N, then N itself. */
function drawSizes(N: number): number[] {
  const sizes: number[] = [];
  for (let n = 2; n < N; n *= 2) sizes.push(n);
  return [...sizes, N];
}

function itemsOf({ G, members, offsets }: Groups): number[][] {
  return Array.from({ length: G }, (_, g) => {
    const positions = Array.from({ length: offsets[g + 1]! - offsets[g]! }, (__, i) => offsets[g]! + i);
    return members ? positions.map((i) => members[i]!) : positions;
  });
}

/** The metrics of one prompt with N samples. */
function promptMetrics(
  values: FloatArray,
  predictions: Predictions | undefined,
  { seed, draws }: Pick<DrawOptions, "seed" | "draws">,
): MetricRecord {
  const N = values.length;
  const [mean, std] = meanAndStd(Array.from(values));
  const metrics: MetricRecord = { [`mean@${N}`]: mean };
  if (N === 1) return metrics;
  metrics[`std@${N}`] = std;
  for (const n of drawSizes(N)) {
    const options = { n, seed, draws };
    const { bestMean, bestStd, worstMean, worstStd } = bestAtN(values, options);
    metrics[`best@${n}/mean`] = bestMean;
    metrics[`best@${n}/std`] = bestStd;
    metrics[`worst@${n}/mean`] = worstMean;
    metrics[`worst@${n}/std`] = worstStd;
    if (!predictions) continue;
    const majority = majorityAtN(predictions, values, options);
    metrics[`maj@${n}/mean`] = majority.mean;
    metrics[`maj@${n}/std`] = majority.std;
  }
  return metrics;
}

/**
 * Metrics of several samples a prompt, averaged over the prompts that have them. With N samples: `mean@N`, `std@N` (ddof 0),
 * and for n = 2, 4, 8, … < N and n = N: `best@n/mean`, `best@n/std`, `worst@n/mean`, `worst@n/std`, and with predictions
 * `maj@n/mean`, `maj@n/std`. Without a seed best and worst are exact; each prompt draws from the same seed, so that the
 * order of the prompts changes nothing.
 *
 * @param values one per sample: a reward, or 0 and 1
 * @param options `groups` or `groupOffsets`: the samples of each prompt; `seed`, `draws`, `predictions`
 * @returns numbers by name
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function validationMetrics(values: FloatArray, options: ValidationMetricsOptions & NamedGroups): MetricRecord {
  const op = "validationMetrics";
  const samples = needSamples(op, "values", values);
  const { seed, draws } = options;
  const predictions = options.predictions && needPredictions(op, options.predictions, samples.length);
  if (predictions && seed === undefined)
    throw optionError(op, "seed", seed, "an integer in [0, 2^32) with predictions: maj@n is drawn");
  const byName = new Map<string, number[]>();
  for (const items of itemsOf(needGroups(op, options, samples.length))) {
    if (items.length === 0) continue;
    const ofPrompt = promptMetrics(
      Float64Array.from(items, (i) => samples[i]!),
      predictions && items.map((i) => predictions[i]!),
      { seed, draws },
    );
    for (const [name, value] of Object.entries(ofPrompt)) byName.set(name, [...(byName.get(name) ?? []), value]);
  }
  return Object.fromEntries([...byName].map(([name, all]) => [name, average(all)]));
}
