// From the rewards of a batch to everything that MaxEnt-GRPO and SEED-GRPO make of them.
import type { BackendOption } from "../../backend/select";
import type { CollectiveOption } from "../../core/collective";
import type { FloatArray } from "../../core/dtype";
import { argumentError } from "../../core/errors";
import { groupingOf, type GroupLayout } from "../../core/groups";
import type { GroupConventions } from "../../ops/group";
import { type PresetOption, resolvePreset } from "../../presets";
import { grpoAdvantage } from "../grpo-advantage";
import { type CompletionRecord, completionTruncated } from "./completion-truncated";
import { promptItems, promptSizes, type PromptSizes } from "./prompts";
import { rewardDistribution } from "./reward-distribution";
import { rewardMoments, type RewardMoments } from "./reward-moments";
import { type RewardTotalConventions, type RewardTotals, totalsOf } from "./reward-totals";
import {
  type SemanticBatch,
  type SemanticEntropyConventions,
  type SemanticEntropyScales,
  type SemanticEntropySettings,
  semanticScales,
} from "./semantic-entropy";

export interface RewardStatisticsConventions extends RewardTotalConventions, SemanticEntropyConventions {}

export interface RewardStatisticsBatch extends Partial<SemanticBatch>, GroupLayout {
  /** One float array per reward function, one number per completion each; NaN = does not apply. */
  readonly rewards: readonly FloatArray[];
  /** One per reward function. Default: 1 each. */
  readonly weights?: ArrayLike<number>;
  /** What the generator says of each completion; for `zeroTruncated`. */
  readonly completions?: readonly (CompletionRecord | null)[];
}

export interface RewardStatisticsOptions
  extends RewardStatisticsConventions, PresetOption<"rewardStatistics">, BackendOption, CollectiveOption {
  /** Of the distribution, >= 0. Default 1. */
  readonly temperature?: number;
  /** Smallest share in the distribution, >= 0. Default 1e-6. */
  readonly floor?: number;
  /** Divide advantages by std + 1e-4, or not. Default `"std"`. */
  readonly scale?: NonNullable<GroupConventions["scale"]>;
  /** Completions that were cut off get total 0. They stay in the statistics, and a negative total rises. Default false. */
  readonly zeroTruncated?: boolean;
  /** Tokens from which a completion counts as cut off. Default: no limit. */
  readonly maxLength?: number;
  /** Scale the advantages of each prompt by its semantic entropy. Needs `clusters` and `logProbSums`. Default: not. */
  readonly semanticEntropy?: SemanticEntropySettings;
}

export interface RewardStatistics extends RewardTotals, RewardMoments, PromptSizes {
  /** One per completion, float64. */
  readonly advantages: Float64Array;
  /** q, one per completion, in the type of `totals`. */
  readonly distribution: FloatArray;
  /** 1 = the total was replaced by 0; null where `zeroTruncated` is off or nothing is known of the completions. */
  readonly truncated: Uint8Array | null;
  readonly semanticEntropy: SemanticEntropyScales | null;
}

const OP = "rewardStatistics";

function truncatedOf(
  { completions }: RewardStatisticsBatch,
  count: number,
  options: RewardStatisticsOptions,
): Uint8Array | null {
  if (!options.zeroTruncated || !completions) return null;
  if (completions.length !== count)
    throw argumentError(
      "ERR_SURPRISAL_SHAPE",
      OP,
      "completions.length",
      completions.length,
      `${count}, one per completion`,
    );
  return Uint8Array.from(completions, (record) => (completionTruncated(record, options.maxLength) ? 1 : 0));
}

function semanticOf(
  batch: RewardStatisticsBatch,
  count: number,
  options: RewardStatisticsOptions,
): SemanticEntropyScales | null {
  const settings = options.semanticEntropy;
  if (!settings) return null;
  const { logProbSums, tokenCounts, clusters } = batch;
  for (const [name, value] of Object.entries({ logProbSums, clusters }))
    if (value === undefined)
      throw argumentError("ERR_SURPRISAL_OPTION", OP, name, value, "one per completion, where semanticEntropy is on");
  const { missingCounts, backend } = options;
  return semanticScales(OP, { logProbSums: logProbSums!, clusters: clusters!, tokenCounts }, count, {
    ...groupingOf(batch),
    ...settings,
    missingCounts,
    backend,
    collective: options.collective,
  });
}

/**
 * Everything that depends on the rewards of a batch, from the same totals:
 *
 *     totals          rewardTotals, then 0 where a completion was cut off (optional)
 *     mean, std       rewardMoments over the whole batch
 *     advantages      (total − mean of the prompt) / (std of the prompt, ddof 1, + 1e-4), times the semantic scale (optional)
 *     distribution    rewardDistribution
 *
 * @param batch rewards, groups, and what the options need
 * @returns null where there is no completion
 * @throws SurprisalError as the functions named here
 */
export function rewardStatistics(
  batch: RewardStatisticsBatch,
  options: RewardStatisticsOptions = {},
): RewardStatistics | null {
  const resolved = resolvePreset(OP, options.preset, options);
  const where: BackendOption & CollectiveOption = {
    backend: resolved.backend,
    collective: options.collective,
  };
  const layout = groupingOf(batch);
  const items = promptItems(layout);
  const { totals, perReward } = totalsOf(OP, batch.rewards, {
    weights: batch.weights,
    count: items,
    rounding: resolved.rounding,
  });
  const sizes = promptSizes(OP, layout, totals.length, options);
  if (sizes.counts.every((count) => count === 0)) return null;

  const truncated = truncatedOf(batch, totals.length, resolved);
  truncated?.forEach((flag, i) => flag !== 0 && (totals[i] = 0));
  const semanticEntropy = semanticOf(batch, totals.length, resolved);
  const { scale = "std", temperature, floor } = resolved;
  const { rowAdvantages } = grpoAdvantage(
    { rewards: Float64Array.from(totals), ...layout },
    { preset: "maxent", scale, ...where },
  );
  return {
    totals,
    perReward,
    ...rewardMoments(totals, where),
    ...sizes,
    advantages: Float64Array.from(rowAdvantages, (a, i) =>
      semanticEntropy ? a * semanticEntropy.scales[sizes.groupIds[i]!]! : a,
    ),
    distribution: rewardDistribution(totals, {
      ...layout,
      ...where,
      temperature,
      floor,
    }),
    truncated,
    semanticEntropy,
  };
}
