// SEED-GRPO: prompts whose answers disagree in meaning get smaller advantages.
import type { BackendOption } from "../../backend/select";
import { needFloats } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import type { FloatArray } from "../../core/dtype";
import { shapeError, valueError } from "../../core/errors";
import { groupingOf, type GroupLayout, type NamedGroups } from "../../core/groups";
import { needNumber, needWord } from "../../core/option-checks";
import { gatherRowPartials } from "../../core/row-partials";
import { groupEntropy, groupLogSumExp, groupSoftmax } from "../../ops/group";
import { type PresetOption, resolvePreset } from "../../presets";
import { promptSizes, type PromptSizes } from "./prompts";

export interface SemanticEntropyConventions {
  /**
   * Completions without a positive token count, where log-probs are to be divided by it: refused, or their summed log-prob
   * stands beside the means of the others. Default `"refuse"`.
   */
  readonly missingCounts?: "refuse" | "sum";
}

/** The meaning of each completion: completions of a prompt with equal ids mean the same, null means like no other. */
export type ClusterIds = ArrayLike<string | number | bigint | null | undefined>;

export interface SemanticBatch {
  /** Summed log-probs of the completions under the policy that wrote them, nats. */
  readonly logProbSums: FloatArray;
  /** Tokens of each completion; needed where log-probs are normalised by length. */
  readonly tokenCounts?: ArrayLike<number>;
  readonly clusters: ClusterIds;
}

/** How semantic entropy becomes a scale. */
export interface SemanticEntropySettings {
  /** Strength, >= 0. Default 0.0417. */
  readonly alpha?: number;
  /** Divide alpha by the largest possible entropy. Default true. */
  readonly normalizeAlpha?: boolean;
  /** Weigh completions by their mean log-prob per token; false: by the summed one. Default true. */
  readonly lengthNormalize?: boolean;
  /** Completions of a prompt, for the largest possible entropy; 0 = those of the widest group. Default 0. */
  readonly generations?: number;
}

export interface SemanticEntropyOptions
  extends
    SemanticEntropySettings,
    SemanticEntropyConventions,
    GroupLayout,
    PresetOption<"semanticEntropyScales">,
    BackendOption,
    CollectiveOption {}

export interface SemanticEntropyScales {
  /** H over the clusters of each prompt, nats, float64; 0 for a group without completions. */
  readonly semanticEntropies: Float64Array;
  /** 1 / (1 + alphaEffective·H), one per prompt: multiplies its advantages. */
  readonly scales: Float64Array;
  readonly alphaEffective: number;
  /** ln of the completions of a prompt. */
  readonly maxEntropy: number;
}

const MISSING_COUNTS = ["refuse", "sum"] as const;

/** Log-prob of each completion, by which it counts. */
function likelihoods(op: string, batch: SemanticBatch, count: number, options: SemanticEntropyOptions): Float64Array {
  const sums = needFloats(op, "logProbSums", batch.logProbSums, count, "one per completion");
  if (!(options.lengthNormalize ?? true)) return Float64Array.from(sums);
  const missing = MISSING_COUNTS[needWord(op, "missingCounts", options.missingCounts ?? "refuse", MISSING_COUNTS)];
  const counts = batch.tokenCounts;
  if (counts !== undefined && counts.length !== count)
    throw shapeError(op, "tokenCounts.length", counts.length, `${count}, one per completion`);
  return Float64Array.from(sums, (sum, i) => {
    const tokens = counts?.[i];
    if (tokens !== undefined && tokens > 0 && Number.isFinite(tokens)) return sum / tokens;
    if (missing === "sum") return sum;
    const name = counts === undefined ? "tokenCounts" : `tokenCounts[${i}]`;
    throw valueError(op, name, tokens, "a finite number above 0; or lengthNormalize: false");
  });
}

function needClusters(op: string, clusters: ClusterIds, count: number): void {
  if (clusters.length !== count)
    throw shapeError(op, "clusters.length", clusters.length, `${count}, one per completion`);
}

/** The clusters of all workers, where ids are numbers that all read the same. */
function gatherClusters(op: string, { collective }: CollectiveOption, clusters: ClusterIds): ClusterIds {
  if (!collective) return clusters;
  const own = Float64Array.from({ length: clusters.length }, (_, i) => {
    const id = clusters[i];
    if (id == null) return NaN;
    const number = typeof id === "bigint" ? Number(id) : id;
    if (typeof number === "number" && Number.isSafeInteger(number)) return number;
    throw valueError(op, `clusters[${i}]`, id, "an integer within ±(2^53 − 1), or null, where workers share prompts");
  });
  return Array.from(gatherRowPartials(op, collective, own).partials, (id) => (Number.isNaN(id) ? null : id));
}

/** Clusters numbered over the whole batch by first appearance, and the group of each. */
function numberClusters(clusters: ClusterIds, { groupIds }: PromptSizes) {
  const known = new Map<number, Map<string | number | bigint, number>>();
  const groups: number[] = [];
  const ids = Int32Array.from(groupIds, (group, i) => {
    const key = clusters[i];
    const own = known.get(group) ?? new Map<string | number | bigint, number>();
    known.set(group, own);
    const seen = key == null ? undefined : own.get(key);
    if (seen !== undefined) return seen;
    const id = groups.push(group) - 1;
    if (key != null) own.set(key, id);
    return id;
  });
  return { ids, groups: Int32Array.from(groups) };
}

function semanticEntropies(
  op: string,
  logLikelihoods: Float64Array,
  clusters: ClusterIds,
  sizes: PromptSizes,
  where: BackendOption,
): Float64Array {
  const { ids, groups } = numberClusters(clusters, sizes);
  const { logSumExps: totals } = groupLogSumExp(logLikelihoods, { groups: sizes.groupIds, ...where });
  totals.forEach((total, g) => {
    if (!Number.isFinite(total))
      throw valueError(
        op,
        `logProbSums of prompt ${g}`,
        total,
        "a finite log-sum-exp: some log-prob finite, none NaN or Infinity",
      );
  });
  const { logSumExps } = groupLogSumExp(logLikelihoods, { groups: ids, ...where });
  const shares = groupSoftmax(logSumExps, { groups, ...where });
  const { entropies, groupIds } = groupEntropy(shares, { groups, ...where });
  const result = new Float64Array(sizes.counts.length);
  groups.forEach((group, c) => (result[group] = entropies[groupIds[c]!]!));
  return result;
}

/** As semanticEntropyScales, for the public function `op`, of `count` completions. */
export function semanticScales(
  op: string,
  batch: SemanticBatch,
  count: number,
  options: SemanticEntropyOptions,
): SemanticEntropyScales {
  const alpha = needNumber(op, "alpha", options.alpha ?? 0.0417, { min: 0 });
  const generations = needNumber(op, "generations", options.generations ?? 0, { min: 0, integer: true });
  const where: BackendOption = { backend: options.backend };
  const local = likelihoods(op, batch, count, options);
  needClusters(op, batch.clusters, count);
  const clusters = gatherClusters(op, options, batch.clusters);
  const own = promptSizes(op, groupingOf(options), count, options);
  const all = (numbers: ArrayLike<number>): Float64Array =>
    gatherRowPartials(op, options.collective, Float64Array.from(numbers)).partials;
  const sizes: PromptSizes = {
    counts: own.counts,
    groupIds: options.collective ? Int32Array.from(all(own.groupIds)) : own.groupIds,
  };
  const entropies = semanticEntropies(op, all(local), clusters, sizes, where);
  const widest = generations > 0 ? generations : sizes.counts.reduce((most, n) => Math.max(most, n), 0);
  const none = sizes.counts.length === 0;
  const maxEntropy = none || widest <= 1 ? 0 : Math.log(widest);
  const normalize = (options.normalizeAlpha ?? true) && maxEntropy > 0;
  const alphaEffective = none ? 0 : normalize ? alpha / maxEntropy : alpha;
  return {
    semanticEntropies: entropies,
    scales: entropies.map((h) => 1 / (1 + alphaEffective * h)),
    alphaEffective,
    maxEntropy,
  };
}

/**
 * Semantic entropy of each prompt, and the scale of its advantages:
 *
 *     l_i = logProbSums_i / tokenCounts_i,   p_c = exp(LSE of l over cluster c − LSE of l over the prompt)
 *     H = −Σ_c p_c·ln p_c,   scale = 1 / (1 + α·H / ln G)
 *
 * A log-prob of −∞ has no mass; a prompt whose log-probs have no finite log-sum-exp is refused.
 *
 * @param options `groups` (a label per completion, or `"all"`) or `groupOffsets`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _VALUE, naming the argument
 * @see Chen et al. 2025, SEED-GRPO: Semantic Entropy Enhanced GRPO for Uncertainty-Aware Policy Optimization
 */
export function semanticEntropyScales(
  batch: SemanticBatch,
  options: SemanticEntropyOptions & NamedGroups,
): SemanticEntropyScales {
  const op = "semanticEntropyScales";
  const given: unknown = batch.logProbSums;
  const length = ArrayBuffer.isView(given) ? (given as FloatArray).length : 0;
  const count = needFloats(op, "logProbSums", given, length, "its own length").length;
  return semanticScales(op, batch, count, resolvePreset(op, options.preset, options));
}
