// Weights with what is logged about them: listwise, uniform, or the advantages of plain GRPO in their place.
import type { BackendOption } from "../../backend/select";
import type { CollectiveOption } from "../../core/collective";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { widestFloat } from "../../core/float-arrays";
import type { GroupConventions } from "../../ops/group";
import { grpoAdvantage } from "../grpo-advantage";
import { roundedTo } from "../token-rewards";
import {
  type ListwiseWeightSettings,
  listwiseWeights,
  uniformListwiseWeights,
  type UniformWeightsOptions,
} from "./listwise-weights";
import { promptGrouping, type PromptLayout, promptSizes, type PromptSizes, type NamedPrompts } from "./prompts";
import { referenceLogProbs, type ReferenceStatistics } from "./reference-statistics";
import { weightEntropies } from "./weight-entropy";

export interface WeightStatistics extends PromptSizes {
  /** One per completion. */
  readonly weights: FloatArray;
  /** Of the groups that are not empty, nats: mean, smallest, largest. */
  readonly entropy: number;
  readonly entropyMin: number;
  readonly entropyMax: number;
  /** w_i − 1/n, one per completion. */
  readonly deviations: Float64Array;
}

export interface WeightStatisticsOptions extends PromptLayout, BackendOption, CollectiveOption {}

/** No completion, on any worker. */
const isNone = ({ counts }: PromptSizes): boolean => counts.every((count) => count === 0);

/**
 * Statistics of weights that are there already; null where there is no completion.
 *
 * @throws SurprisalError as `weightEntropies`
 */
export function weightStatistics(
  weights: FloatArray,
  options: WeightStatisticsOptions & NamedPrompts,
): WeightStatistics | null {
  const { mean, min, max, deviations } = weightEntropies(weights, options);
  const op = "weightStatistics";
  const sizes = promptSizes(op, promptGrouping(op, options), weights.length, options);
  if (isNone(sizes)) return null;
  return { weights, ...sizes, entropy: mean, entropyMin: min, entropyMax: max, deviations };
}

/**
 * Statistics of equal weights, 1/n in a group of n; null where there is no completion.
 *
 * @throws SurprisalError as `uniformListwiseWeights`
 */
export function uniformWeightStatistics(
  options: UniformWeightsOptions & NamedPrompts,
): (WeightStatistics & { readonly weights: Float64Array }) | null {
  const weights = uniformListwiseWeights(options);
  const statistics = weightStatistics(weights, options);
  return statistics && { ...statistics, weights };
}

export interface ListwiseWeightStatisticsOptions extends ListwiseWeightSettings, BackendOption, CollectiveOption {
  /** Group g is completions groupOffsets[g] … groupOffsets[g+1]. */
  readonly groupOffsets: Int32Array;
  /** Mean log-probs of the reference per token; false: summed ones. Default true. */
  readonly lengthNormalize?: boolean;
}

/**
 * Listwise weights from a target distribution and the statistics of the reference policy, and what is logged about them; null
 * where there is no completion. Token counts divide summed log-probs and never reweigh.
 *
 * @param targets q, one per completion
 * @param reference not read at beta 0
 * @throws SurprisalError as `listwiseWeights` and `splitReferenceLogProbs`
 */
export function listwiseWeightStatistics(
  targets: FloatArray,
  reference: ReferenceStatistics,
  options: ListwiseWeightStatisticsOptions,
): WeightStatistics | null {
  const op = "listwiseWeightStatistics";
  const { temperature, beta = 0, least, uniformFallback, groupOffsets, lengthNormalize, backend } = options;
  const where = { backend, collective: options.collective };
  const normalize = lengthNormalize === undefined ? {} : { lengthNormalize };
  const [logProbs] = beta === 0 ? [undefined] : referenceLogProbs(op, reference, groupOffsets, normalize);
  const found = listwiseWeights(targets, {
    temperature,
    beta,
    groupOffsets,
    least,
    uniformFallback,
    referenceLogProbs: logProbs,
    ...where,
  });
  // The log-probs of the reference are float64 here, whatever they were.
  const { means, sums, tokenCounts } = reference;
  const weights = logProbs ? roundedTo(widestFloat(targets, means, sums, tokenCounts), found) : found;
  return weightStatistics(weights, { groupOffsets, ...where });
}

export interface AdvantageWeightStatisticsOptions extends PromptLayout, BackendOption, CollectiveOption {
  /** Divide by the group's std, where advantages are computed. Default `"std"`. */
  readonly scale?: NonNullable<GroupConventions["scale"]>;
}

/**
 * The advantages of plain GRPO in the place of weights: given ones, or those of the rewards where none are given. They are no
 * distribution: their entropies are 0 and they have no deviations. Null where there is no completion.
 *
 * @param batch `advantages` or `rewards`, one per completion
 * @throws SurprisalError ERR_SURPRISAL_OPTION where both or neither are given; else as `grpoAdvantage`
 */
export function advantageWeightStatistics(
  completions: { readonly advantages?: FloatArray; readonly rewards?: FloatArray },
  options: AdvantageWeightStatisticsOptions & NamedPrompts,
): WeightStatistics | null {
  const op = "advantageWeightStatistics";
  const { advantages, rewards } = completions;
  if ((advantages === undefined) === (rewards === undefined))
    throw optionError(op, "advantages", advantages, "either advantages or rewards, one per completion");
  const layout = promptGrouping(op, options);
  const { scale = "std", backend } = options;
  const weights =
    advantages ??
    grpoAdvantage(
      { rewards: rewards!, ...layout },
      { preset: "maxent", scale, backend, collective: options.collective },
    ).advantages;
  const sizes = promptSizes(op, layout, weights.length, options);
  if (isNone(sizes)) return null;
  return { weights, ...sizes, entropy: 0, entropyMin: 0, entropyMax: 0, deviations: new Float64Array(0) };
}
