// Group advantages rescaled by relative sequence entropy (EGPO).
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { widestFloat } from "../core/float-arrays";
import { optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { gatherRowPartials } from "../core/row-partials";
import type { TokenIds } from "../core/arrays";
import type { SequenceWeights, WeightBounds } from "../ops/modulate";
import { weighSequences } from "../ops/modulate/sequence-weights";
import { countKept } from "../ops/reduce";
import { type PresetOption, presetOf, resolvePreset } from "../presets";
import { type CheckedRewards, needRewardedBatch, type RewardedBatch, spreadRows } from "./rewarded-batch";
import { rowSums } from "./row-sums";
import { average, chosen, deviation, largest, smallest } from "./scalar-metrics";
import { groupAdvantages, positiveRows, type SequenceWeightConventions, weightConventions } from "./sequence-weighting";
import { type AnswerThinkingConventions, splitResponse } from "./split-response";

export interface EgpoConventions extends SequenceWeightConventions {
  /**
   * Bounds of the weight, of all rows or by the sign of the row. A row is positive when its reward, summed under the mask, is
   * above 0:
   * - `"original"`: [lambdaMin, lambdaMax] for all, as published.
   * - `"clamp"`: positive [1, lambdaMax], else [lambdaMin, 1]: no wrong answer is amplified, no right one attenuated.
   * - `"lockOne"`: positive [1, lambdaMax], else exactly 1.
   *
   * Default `"original"`.
   */
  readonly negativeWeightMode?: "original" | "clamp" | "lockOne";
  /** Degrees of freedom that the metric `egpo/weight/std` gives up; 1 makes it NaN for one row. Default 0. */
  readonly metricsDdof?: 0 | 1;
}

const NEGATIVE_WEIGHT_MODES = ["original", "clamp", "lockOne"] as const;

export interface EgpoBatch extends RewardedBatch {
  /**
   * Log-probs of the sampled tokens under the rollout policy: their negative mean, the sequence's NLL, stands for its
   * entropy. Give these or `entropies`.
   */
  readonly oldLogProbs?: FloatArray;
  /** Shannon entropies per token, nats. */
  readonly entropies?: FloatArray;
  /** Ids of the responses, to tell answers from thinking. Not needed for mode `"joint"` or with `entropyMask`. */
  readonly tokens?: TokenIds;
  /** Tokens before the response in every padded row of `tokens`. Default 0. */
  readonly promptLength?: number;
  /** 1 = the token counts in its sequence's entropy, if `mask` keeps it too. In place of `tokens`, `mode` and the tags. */
  readonly entropyMask?: Uint8Array;
}

export interface EgpoAdvantageOptions
  extends EgpoConventions, AnswerThinkingConventions, PresetOption<"egpoAdvantage">, BackendOption, CollectiveOption {}

export type EgpoMetrics = Readonly<Record<`egpo/${string}` | `actor/${string}`, number>>;

export interface EgpoAdvantageResult extends SequenceWeights {
  /** Weighted, per token; 0 under the mask. */
  readonly advantages: FloatArray;
  /** Not weighted, per token; 0 under the mask. */
  readonly returns: FloatArray;
  /** The tokens whose entropy counted. */
  readonly entropyMask: Uint8Array;
  /** Rows with tokens to measure whose entropy is NaN or infinite, on all workers. */
  readonly nonFiniteRows: number;
  /** Scalars for logging, over the rows of all workers; docs/advantage/egpo.md lists them. */
  readonly metrics: EgpoMetrics;
}

function entropyMaskOf(
  op: string,
  batch: EgpoBatch,
  checked: CheckedRewards,
  options: EgpoAdvantageOptions,
): Uint8Array {
  const { mask, rows, layout } = checked;
  if (batch.entropyMask !== undefined) {
    const given = optionalMask(op, "entropyMask", batch.entropyMask, rows.n, rows.meaning)!;
    return Uint8Array.from(given, (flag, i) => (flag !== 0 && (!mask || mask[i] !== 0) ? 1 : 0));
  }
  if (options.mode === "joint")
    return mask ? Uint8Array.from(mask, (flag) => (flag !== 0 ? 1 : 0)) : new Uint8Array(rows.n).fill(1);
  if (batch.tokens === undefined)
    throw optionError(op, "tokens", undefined, 'token ids, which modes "answer" and "thinking" look at');
  const { mode, thinkStart, thinkEnd, unclosedThinking, maskedTags, backend } = options;
  return splitResponse(op, batch.tokens, {
    ...layout,
    mask: mask ?? undefined,
    promptLength: batch.promptLength,
    mode,
    thinkStart,
    thinkEnd,
    unclosedThinking,
    maskedTags,
    backend,
  });
}

function boundsOf(modeId: number, low: number, high: number): { bounds: WeightBounds; negativeBounds: WeightBounds } {
  const mode = NEGATIVE_WEIGHT_MODES[modeId]!;
  if (mode === "original") return { bounds: [low, high], negativeBounds: [low, high] };
  return { bounds: [1, high], negativeBounds: mode === "clamp" ? [low, 1] : [1, 1] };
}

function metricsOf(weights: SequenceWeights, positive: Uint8Array, modeId: number, ddof: 0 | 1): EgpoMetrics {
  const valid = (b: number): boolean => weights.valid[b] !== 0;
  const all = Array.from(weights.weights);
  const above = chosen(all, (b) => positive[b] !== 0);
  const below = chosen(all, (b) => positive[b] === 0);
  const ratios = chosen(weights.entropyRatios, valid);
  return {
    "egpo/enabled": 1,
    "egpo/mode_id": modeId,
    "egpo/weight/mean": average(all),
    "egpo/weight/min": smallest(all),
    "egpo/weight/max": largest(all),
    "egpo/weight/std": deviation(all, ddof),
    "egpo/pos_frac": average(Array.from(positive)),
    "egpo/weight_pos/mean": average(above),
    "egpo/weight_pos/min": smallest(above),
    "egpo/weight_neg/mean": average(below),
    "egpo/weight_neg/max": largest(below),
    "egpo/entropy/seq_mean": average(chosen(weights.sequenceEntropies, valid)),
    "egpo/entropy/group_mean": average(chosen(weights.groupMeanEntropies, valid)),
    "egpo/ratio/mean": average(ratios),
    "egpo/ratio/max": largest(ratios),
    "egpo/valid_ratio": average(Array.from(weights.valid)),
  };
}

/**
 * Means over the kept tokens of all rows: the entropy, and the loss of the policy that sampled, −A·weight at ratio 1. Rows add up
 * in order, so that several workers have the bits of one.
 */
function actorMetrics(
  op: string,
  { rows, layout, mask }: CheckedRewards,
  entropies: Float64Array,
  weighted: Float64Array,
  { backend, collective }: BackendOption & CollectiveOption,
): Readonly<Record<"actor/entropy" | "actor/pg_loss", number>> {
  const counts = countKept({ ...layout, mask: mask ?? undefined, backend });
  const width = 3;
  const sums = new Float64Array(width * rows.B);
  counts.forEach((count, b) => {
    if (count > 0) sums.set([count, entropies[b]!, -weighted[b]! * count], width * b);
  });
  const { partials } = gatherRowPartials(op, collective, sums, width);
  const total = (k: number): number => chosen(partials, (i) => i % width === k).reduce((sum, x) => sum + x, 0);
  const tokens = total(0);
  return {
    "actor/entropy": tokens > 0 ? total(1) / tokens : 0,
    "actor/pg_loss": tokens > 0 ? total(2) / tokens : 0,
  };
}

/**
 * EGPO: the group advantage of a row, times how sure the row was compared with its group.
 *
 *     A = (r − mean) / (std + 1e-6) in its group;   H = mean entropy over the answer (or thinking, or all) tokens
 *     weight = clamp(mean of H in the group / (H + ε), lambdaMin, lambdaMax)
 *     advantages = A·weight,   returns = A          at kept tokens, 0 under the mask
 *
 * The sign of a row changes nothing, unless `negativeWeightMode` says so. Where the formula has no answer: a group of one gets
 * advantage 0; rows without tokens to measure, rows whose entropy is not finite, groups of one and groups of zero entropy weigh 1
 * and change no other row. Presets `"egpo-first"` and `"egpo"` (the later one) compute what the two revisions of its code did.
 *
 * @param batch rollouts with rewards, groups, and log-probs or entropies. Without groups all rows are one
 * @returns per-token arrays in the widest float type of rewards and log-probs; one float64 number per row otherwise
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function egpoAdvantage(batch: EgpoBatch, options: EgpoAdvantageOptions = {}): EgpoAdvantageResult {
  const op = "egpoAdvantage";
  const resolved = resolvePreset(op, options.preset, options);
  const { grpoAdvantage: presetBase } = options.preset === undefined ? {} : presetOf(op, options.preset);
  const backend: BackendOption = { backend: options.backend };
  const together = { collective: options.collective };
  const low = needNumber(op, "lambdaMin", resolved.lambdaMin ?? 0.5, { min: 0 });
  const high = needNumber(op, "lambdaMax", resolved.lambdaMax ?? 2, { min: 0, infinite: true });
  const modeId = needWord(op, "negativeWeightMode", resolved.negativeWeightMode ?? "original", NEGATIVE_WEIGHT_MODES);
  const ddof = needNumber(op, "metricsDdof", resolved.metricsDdof ?? 0, { min: 0, max: 1, integer: true }) as 0 | 1;
  const checked = needRewardedBatch(op, batch, "read");
  const { rows, layout, grouping } = checked;
  if ((batch.oldLogProbs === undefined) === (batch.entropies === undefined))
    throw optionError(op, "oldLogProbs", batch.oldLogProbs, "either oldLogProbs or entropies, not both");
  const source = batch.oldLogProbs === undefined ? "entropies" : "oldLogProbs";
  const values = needFloats(op, source, batch[source], rows.n, rows.meaning);
  const entropyMask = entropyMaskOf(op, batch, checked, resolved);
  const positive = positiveRows(checked, backend);

  const {
    own: weights,
    all,
    allPositive,
  } = weighSequences(op, source, values, {
    ...layout,
    ...grouping,
    mask: entropyMask,
    positive,
    values: source === "entropies" ? "entropies" : "logProbs",
    ...boundsOf(modeId, low, high),
    ...weightConventions(op, resolved),
    ...backend,
    ...together,
  });
  const conventions = { ...presetBase, ...options.grpoAdvantage };
  const base = groupAdvantages(op, checked, resolved.scoreOver ?? "all", conventions, { ...backend, ...together });
  const weighted = base.map((a, b) => a * weights.weights[b]!);
  const dtype = widestFloat(checked.rewards, values);
  const sums = rowSums(op, values, rows, checked.mask, options.backend);
  const entropySums = source === "entropies" ? sums : sums.map((sum) => -sum);
  return {
    ...weights,
    advantages: spreadRows(op, checked, weighted, dtype, backend),
    returns: spreadRows(op, checked, base, dtype, backend),
    entropyMask,
    nonFiniteRows: chosen(all.sequenceEntropies, (b) => !Number.isFinite(all.sequenceEntropies[b])).length,
    metrics: {
      ...metricsOf(all, allPositive, modeId, ddof),
      ...actorMetrics(op, checked, entropySums, weighted, { ...backend, ...together }),
    },
  };
}
