// From the rewards of a batch to everything that MaxEnt-GRPO and SEED-GRPO make of them.
import type { BackendOption } from "../../backend/select";
import type { MaxentController } from "../../control/maxent";
import type { CollectiveOption } from "../../core/collective";
import type { FloatArray } from "../../core/dtype";
import { optionError, shapeError } from "../../core/errors";
import { groupingOf, type GroupLayout, type NamedGroups } from "../../core/groups";
import { needNumber } from "../../core/option-checks";
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
  /** The text of each prompt, as `counts` has them; with `texts` for `pairs`. */
  readonly prompts?: readonly string[];
  /** The text of each completion. */
  readonly texts?: readonly string[];
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
  /** The state of the controllers, whose tau and beta stand in `metrics`. Default: none. */
  readonly controller?: Pick<MaxentController, "tau" | "beta">;
}

/** The completions of one prompt that are here. */
export interface PromptStatistics {
  /** Their places among all. */
  readonly rows: Int32Array;
  readonly totals: FloatArray;
  readonly advantages: Float64Array;
  readonly distribution: FloatArray;
}

export interface RewardStatistics extends RewardTotals, RewardMoments, PromptSizes {
  /** One per completion, float64. */
  readonly advantages: Float64Array;
  /** q, one per completion, in the type of `totals`. */
  readonly distribution: FloatArray;
  /** The same numbers by prompt, in the order of `counts`. */
  readonly byPrompt: readonly PromptStatistics[];
  /** One per completion: its prompt's text and its own; null unless `prompts` and `texts` are given. */
  readonly pairs: readonly { readonly prompt: string; readonly completion: string }[] | null;
  /** `reward_mean`, `reward_std`; of a `controller` also `controller_tau`, `controller_beta`. */
  readonly metrics: Readonly<Record<string, number>>;
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
    throw shapeError(OP, "completions.length", completions.length, `${count}, one per completion`);
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
    if (value === undefined) throw optionError(OP, name, value, "one per completion, where semanticEntropy is on");
  const { missingCounts, backend } = options;
  return semanticScales(OP, { logProbSums: logProbSums!, clusters: clusters!, tokenCounts }, count, {
    ...groupingOf(batch),
    ...settings,
    missingCounts,
    backend,
    collective: options.collective,
  });
}

/** The flat numbers, cut by prompt. */
function cutByPrompt(
  { counts, groupIds }: PromptSizes,
  { totals, advantages, distribution }: Omit<PromptStatistics, "rows">,
): PromptStatistics[] {
  const rows = Array.from(counts, (): number[] => []);
  groupIds.forEach((g, i) => rows[g]!.push(i));
  const take = <A extends FloatArray>(from: A, at: readonly number[]): A => {
    const taken = from.slice(0, at.length) as A;
    at.forEach((i, k) => (taken[k] = from[i]!));
    return taken;
  };
  return rows.map((at) => ({
    rows: Int32Array.from(at),
    totals: take(totals, at),
    advantages: take(advantages, at),
    distribution: take(distribution, at),
  }));
}

function needController({ tau, beta }: Pick<MaxentController, "tau" | "beta">) {
  return {
    controller_tau: needNumber(OP, "controller.tau", tau, { min: 0 }),
    controller_beta: needNumber(OP, "controller.beta", beta, { min: 0 }),
  };
}

function needTexts(name: "prompts" | "texts", texts: unknown, count: number, each: string): readonly string[] {
  if (Array.isArray(texts) && texts.length === count) return texts as readonly string[];
  const got = Array.isArray(texts) ? `${texts.length} texts` : texts;
  throw shapeError(OP, name, got, `${count} texts, one per ${each}`);
}

function pairsOf({ prompts, texts }: RewardStatisticsBatch, { counts, groupIds }: PromptSizes) {
  if (prompts === undefined && texts === undefined) return null;
  const asked = needTexts("prompts", prompts, counts.length, "prompt");
  const said = needTexts("texts", texts, groupIds.length, "completion");
  return said.map((completion, i) => ({ prompt: asked[groupIds[i]!]!, completion }));
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
  batch: RewardStatisticsBatch & NamedGroups,
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

  const pairs = pairsOf(batch, sizes);
  const controller = resolved.controller && needController(resolved.controller);
  const truncated = truncatedOf(batch, totals.length, resolved);
  truncated?.forEach((flag, i) => flag !== 0 && (totals[i] = 0));
  const semanticEntropy = semanticOf(batch, totals.length, resolved);
  const { scale = "std", temperature, floor } = resolved;
  const { rowAdvantages } = grpoAdvantage(
    { rewards: Float64Array.from(totals), ...layout },
    { preset: "maxent", scale, ...where },
  );
  const advantages = Float64Array.from(rowAdvantages, (a, i) =>
    semanticEntropy ? a * semanticEntropy.scales[sizes.groupIds[i]!]! : a,
  );
  const distribution = rewardDistribution(totals, { ...layout, ...where, temperature, floor });
  const { mean, std } = rewardMoments(totals, where);
  return {
    totals,
    perReward,
    mean,
    std,
    ...sizes,
    advantages,
    distribution,
    byPrompt: cutByPrompt(sizes, { totals, advantages, distribution }),
    pairs,
    metrics: { reward_mean: mean, reward_std: std, ...controller },
    truncated,
    semanticEntropy,
  };
}
