// MaxEnt-GRPO: rewards, group advantages, target distributions and listwise weights of ragged groups.
import {
  advantageWeightStatistics,
  completionTruncated,
  grpoAdvantage,
  listwiseWeights,
  listwiseWeightStatistics,
  rewardDistribution,
  rewardMoments,
  rewardStatistics,
  rewardTotals,
  semanticEntropyScales,
  splitReferenceLogProbs,
  splitReferenceTokenCounts,
  uniformWeightStatistics,
  weightEntropies,
  weightLoggingView,
  type WeightStatistics,
} from "surprisal";
import { isGoldenArray, type GoldenCase, type GoldenValue } from "../golden";
import type { FloatArray, Inputs } from "../inputs";
import type { Mapping, Outputs } from "../mapping";
import { idsOfSizes, offsetsOfSizes } from "./arrange";

/** What the library does instead, by the name of the case. */
function replacements(table: Readonly<Record<string, string>>) {
  return ({ name }: GoldenCase): string | undefined => table[name.replace(/^quirk\//, "")];
}

const refused = ["ERR_SURPRISAL_SHAPE", "ERR_SURPRISAL_DTYPE", "ERR_SURPRISAL_OPTION", "ERR_SURPRISAL_VALUE"] as const;
const uncovered = "groups that do not cover the numbers are refused";
const explicit = "temperature and beta are arguments of each call; no object overrides them";
const negative = "negative coefficients and temperatures are refused";
const missing = "missing reference statistics are refused: a log-prob of 0 would mean certainty";

const offsetsOf = (inputs: Inputs, name = "group_sizes"): Int32Array => offsetsOfSizes(inputs.int32(name));
const optional = (inputs: Inputs, name: string): FloatArray | undefined =>
  inputs.has(name) ? inputs.floats(name) : undefined;

/** One array per row of a matrix; none where the file has an empty list. */
function columnsOf(inputs: Inputs, name: string): FloatArray[] {
  const value = inputs.value(name);
  if (!isGoldenArray(value)) return inputs.floatRows(name);
  const [rows, columns] = inputs.shape2(name);
  const data = inputs.floats(name);
  return Array.from({ length: rows }, (_, r) => data.subarray(r * columns, (r + 1) * columns));
}

const referenceOf = (inputs: Inputs) => ({
  means: optional(inputs, "ref_logp_sum"),
  sums: optional(inputs, "ref_logp_sum_raw"),
  tokenCounts: optional(inputs, "ref_tok_counts"),
});

function statisticsOutputs(statistics: WeightStatistics | null): Outputs {
  if (!statistics) return { is_null: true };
  return {
    is_null: false,
    weights: statistics.weights,
    weight_group_sizes: statistics.counts,
    weight_entropy: statistics.entropy,
    weight_entropy_min: statistics.entropyMin,
    weight_entropy_max: statistics.entropyMax,
    advantage_entropy: statistics.deviations,
  };
}

/** Of one group, or of a matrix with a group a row. */
function weightsOf(
  inputs: Inputs,
  backend: Parameters<Mapping["run"]>[1]["backend"],
  shape?: readonly [number, number],
): FloatArray {
  const reference = inputs.boolean("include_reference_term");
  const counts = inputs.boolean("normalize_by_tokens") ? optional(inputs, "token_counts") : undefined;
  return listwiseWeights(inputs.floats("q_values"), {
    ...(shape ? { shape } : { groups: "all" }),
    preset: "maxent",
    temperature: inputs.number("denom"),
    beta: reference ? inputs.number("beta") : 0,
    referenceLogProbs: inputs.floats("logp_values"),
    ...(counts && counts.length > 0 && { tokenCounts: counts }),
    backend,
  });
}

/** Log-probs as a float array; a missing one is NaN, none at all stays undefined. */
function likelihoodsOf(inputs: Inputs): FloatArray | undefined {
  if (!inputs.has("logprob_sums")) return undefined;
  const value = inputs.value("logprob_sums");
  return isGoldenArray(value)
    ? inputs.floats("logprob_sums")
    : Float64Array.from(inputs.list("logprob_sums"), (x) => (x === null ? NaN : (x as number)));
}

const listOf = (inputs: Inputs, name: string): readonly GoldenValue[] | undefined =>
  inputs.has(name) ? inputs.list(name) : undefined;

const semanticOf = (inputs: Inputs) => {
  const sums = likelihoodsOf(inputs);
  const counts = inputs.has("token_counts") ? inputs.numbers("token_counts") : undefined;
  const keys = listOf(inputs, "answer_keys") as readonly (string | null)[] | undefined;
  return {
    ...(sums && { logProbSums: sums }),
    ...(counts && { tokenCounts: counts }),
    ...(keys && { clusters: keys }),
  };
};

/** What the generator said, a record per completion. */
function recordsOf(inputs: Inputs) {
  if (!inputs.has("completion_info_group_sizes")) return undefined;
  const truncated = inputs.list("completion_info_truncated") as readonly (boolean | null)[];
  const reasons = inputs.list("completion_info_finish_reason") as readonly (string | null)[];
  const counts = inputs.list("completion_info_token_count") as readonly (number | null)[];
  return truncated.map((flag, i) => ({ truncated: flag, finishReason: reasons[i]!, tokenCount: counts[i]! }));
}

export const maxent: readonly Mapping[] = [
  {
    family: "maxent",
    function: "compute_reward_totals",
    ours: "rewardTotals",
    options: 'preset "maxent"',
    differs: "takes the numbers that the reward functions returned, not the functions",
    failures: { RuntimeError: refused },
    replacedBy: replacements({
      "surplus weights ignored": "one weight per reward function, or it is refused",
      "surplus functions ignored": "one weight per reward function, or it is refused",
      "wrong-length result of a lone function accepted": "one number per completion, or it is refused",
      "wrong-length results of two functions raise": "one number per completion, or it is refused",
      "beyond float32 range becomes Infinity": "float64 rewards have float64 totals",
    }),
    backendFree: true,
    run: (inputs) => {
      const weights = inputs.numbers("reward_weights");
      const { totals, perReward } = rewardTotals(columnsOf(inputs, "reward_values"), {
        preset: "maxent",
        weights,
        count: inputs.number("num_completions"),
      });
      return { totals, reward_keys: perReward.map((_, r) => `reward_${r}`), per_reward_values: stacked(perReward) };
    },
  },
  {
    family: "maxent",
    function: "reward_moments",
    ours: "rewardMoments",
    run: (inputs, { backend }) => ({ ...rewardMoments(inputs.floats("total_utils"), { backend }) }),
  },
  {
    family: "maxent",
    function: "group_advantages",
    ours: "grpoAdvantage",
    options: 'preset "maxent", groupOffsets',
    replacedBy: replacements({
      "too few utilities still divide by the group size": "groups that do not cover the rewards are refused",
      "surplus utilities are ignored": "groups that do not cover the rewards are refused",
      "huge finite spread overflows": "a spread whose square overflows float64 gives 0, not a failure",
    }),
    run: (inputs, { backend }) => {
      const { advantages, counts } = grpoAdvantage(
        { rewards: inputs.floats("total_utils"), groupOffsets: offsetsOf(inputs) },
        { preset: "maxent", scale: inputs.boolean("scale_rewards") ? "std" : "none", backend },
      );
      return { advantages, group_sizes: counts };
    },
  },
  {
    family: "maxent",
    function: "group_q_distribution",
    ours: "rewardDistribution",
    options: "temperature, floor",
    replacedBy: replacements({
      "negative temperature acts as the floor": "a negative temperature is refused",
      "+Infinity makes the group NaN": "a reward of +Infinity is refused",
      "epsilon above 1/n inverts the ranking": "a floor above 1/n is uniform",
      "float32 overflow at the temperature floor":
        "the largest reward is subtracted before dividing: nothing overflows",
      "too few utilities shorten the output": uncovered,
    }),
    run: (inputs, { backend }) => ({
      q: rewardDistribution(inputs.floats("total_utils"), {
        temperature: inputs.number("temperature"),
        floor: inputs.number("epsilon"),
        groupOffsets: offsetsOf(inputs),
        backend,
      }),
      group_sizes: inputs.int32("group_sizes"),
    }),
  },
  {
    family: "maxent",
    function: "weight_vector_from_q",
    ours: "listwiseWeights",
    options: 'preset "maxent"; temperature is denom',
    differs: "token counts reweigh only where they are given",
    replacedBy: replacements({
      "negative beta ignored": negative,
      "negative tau is an argmax": negative,
      "stale denom falls back to tau": negative,
      "attached controller overrides tau, beta and denom": explicit,
      "attached controller honours negative beta": explicit,
      "tau zero with denom one is not an argmax": "the temperature is one argument; 0 selects the best",
      "length mismatch truncates": "as many log-probs as targets, or they are refused",
    }),
    run: (inputs, { backend }) => ({ weights: weightsOf(inputs, backend) }),
  },
  {
    family: "maxent",
    function: "weight_matrix_from_q",
    ours: "listwiseWeights",
    options: 'preset "maxent", shape; temperature is denom',
    failures: { ValueError: refused },
    replacedBy: replacements({
      "negative beta ignored": negative,
      "negative tau is an argmax": negative,
      "stale denom falls back to tau": negative,
      "attached controller is ignored here": explicit,
    }),
    run: (inputs, { backend }) => {
      const shape = inputs.shape("q_values") as readonly [number, number];
      return { weights: { data: weightsOf(inputs, backend, shape), shape } };
    },
  },
  {
    family: "maxent",
    function: "collect_weight_entropy",
    ours: "weightEntropies",
    replacedBy: replacements({
      "NaN in a later group is missed by min and max": "a NaN anywhere makes mean, min and max NaN",
    }),
    run: (inputs, { backend }) => {
      const { mean, min, max, deviations } = weightEntropies(inputs.floats("weights"), {
        groupOffsets: offsetsOf(inputs),
        backend,
      });
      return { entropy_mean: mean, entropy_min: min, entropy_max: max, advantage_samples: deviations };
    },
  },
  {
    family: "maxent",
    function: "compute_weight_stats",
    ours: ["listwiseWeightStatistics", "advantageWeightStatistics"],
    options: "temperature is denom",
    differs: "one function for listwise weights, one for the advantages of plain GRPO in their place",
    replacedBy: replacements({
      "missing reference padded with log-prob zero": missing,
      "no reference at all": missing,
      "no counts, raw sums divided by one": missing,
    }),
    run: (inputs, { backend }) => {
      const groupOffsets = offsetsOf(inputs);
      if (inputs.boolean("train_grpo_objective")) {
        const given = optional(inputs, "advantages");
        const scale = inputs.boolean("scale_rewards") ? "std" : "none";
        const batch = given ? { advantages: given } : { rewards: inputs.floats("total_utils") };
        return statisticsOutputs(advantageWeightStatistics(batch, { groupOffsets, scale, backend }));
      }
      return statisticsOutputs(
        listwiseWeightStatistics(inputs.floats("q_values"), referenceOf(inputs), {
          groupOffsets,
          temperature: inputs.number("denom"),
          beta: inputs.number("beta"),
          lengthNormalize: inputs.boolean("len_norm_ref"),
          backend,
        }),
      );
    },
  },
  {
    family: "maxent",
    function: "build_uniform_weight_stats",
    ours: "uniformWeightStatistics",
    run: (inputs, { backend }) =>
      statisticsOutputs(uniformWeightStatistics({ groupOffsets: offsetsOf(inputs), backend })),
  },
  {
    family: "maxent",
    function: "weight_logging_view",
    ours: "weightLoggingView",
    replacedBy: replacements({
      "empty group counts in the denominator of the ratio": "the mean is over prompts that have completions",
    }),
    run: (inputs, { backend }) => {
      const view = weightLoggingView(
        {
          weights: inputs.floats("weights"),
          groupIds: idsOfSizes(inputs.int32("group_sizes")),
          entropy: inputs.number("weight_entropy"),
          entropyMin: inputs.number("weight_entropy_min"),
          entropyMax: inputs.number("weight_entropy_max"),
          deviations: Float64Array.from(inputs.floats("advantage_entropy")),
        },
        { backend },
      );
      return {
        entropy: view.entropy,
        entropy_norm: view.entropyNorm,
        entropy_min: view.entropyMin,
        entropy_max: view.entropyMax,
        advantage_entropy_mean: view.deviationMean,
        advantage_entropy_std: view.deviationStd,
      };
    },
  },
  {
    family: "maxent",
    function: "split_reference_logprobs",
    ours: "splitReferenceLogProbs",
    options: 'preset "maxent"',
    replacedBy: () => missing,
    backendFree: true,
    run: (inputs) => {
      const options = { preset: "maxent", lengthNormalize: inputs.boolean("len_norm_ref") } as const;
      const { values, byGroup } = splitReferenceLogProbs(referenceOf(inputs), offsetsOf(inputs), options);
      return { logps: values, group_sizes: byGroup.map(({ length }) => length) };
    },
  },
  {
    family: "maxent",
    function: "split_reference_token_counts",
    ours: "splitReferenceTokenCounts",
    options: 'preset "maxent"',
    replacedBy: () => "missing counts are refused",
    backendFree: true,
    run: (inputs) => {
      const { values, byGroup } = splitReferenceTokenCounts(inputs.floats("ref_tok_counts"), offsetsOf(inputs), {
        preset: "maxent",
      });
      return { token_counts: values, group_sizes: byGroup.map(({ length }) => length) };
    },
  },
  {
    family: "maxent",
    function: "seed_grpo_statistics",
    ours: "semanticEntropyScales",
    options: 'preset "maxent"; clusters are the answer keys',
    failures: { ValueError: refused },
    replacedBy: () => "a negative alpha is refused",
    run: (inputs, { backend }) => {
      const batch = semanticOf(inputs) as Parameters<typeof semanticEntropyScales>[0];
      const { semanticEntropies, scales, alphaEffective, maxEntropy } = semanticEntropyScales(batch, {
        preset: "maxent",
        groupOffsets: offsetsOf(inputs),
        alpha: inputs.number("alpha"),
        normalizeAlpha: inputs.boolean("normalize_by_max_entropy"),
        lengthNormalize: inputs.boolean("length_normalize_logprobs"),
        ...(inputs.has("num_generations") && { generations: inputs.number("num_generations") }),
        backend,
      });
      return {
        semantic_entropies: semanticEntropies,
        advantage_scales: scales,
        alpha_effective: alphaEffective,
        max_possible_entropy: maxEntropy,
      };
    },
  },
  {
    family: "maxent",
    function: "compute_reward_statistics",
    ours: "rewardStatistics",
    options: 'preset "maxent"',
    failures: { ValueError: refused },
    replacedBy: () => "one record per completion and one group per prompt, or they are refused",
    run: (inputs, { backend }) => {
      const records = recordsOf(inputs);
      const seed = inputs.boolean("seed_grpo_enabled");
      const statistics = rewardStatistics(
        {
          rewards: columnsOf(inputs, "reward_values"),
          weights: inputs.numbers("reward_weights"),
          groupOffsets: offsetsOf(inputs),
          ...(records && { completions: records }),
          ...(seed && semanticOf(inputs)),
        },
        {
          preset: "maxent",
          temperature: inputs.number("q_temperature"),
          floor: inputs.number("q_epsilon"),
          scale: inputs.boolean("scale_rewards") ? "std" : "none",
          zeroTruncated: inputs.boolean("zero_truncated_completion_rewards"),
          ...(inputs.has("max_completion_len") && { maxLength: inputs.number("max_completion_len") }),
          ...(seed && {
            semanticEntropy: {
              alpha: inputs.number("seed_grpo_alpha"),
              normalizeAlpha: inputs.boolean("seed_grpo_alpha_normalize_by_max_entropy"),
              lengthNormalize: inputs.boolean("seed_grpo_length_normalize_logprobs"),
              ...(inputs.has("seed_grpo_num_generations") && {
                generations: inputs.number("seed_grpo_num_generations"),
              }),
            },
          }),
          backend,
        },
      );
      if (!statistics) return { is_null: true };
      const semantic = statistics.semanticEntropy;
      return {
        is_null: false,
        total_utils: statistics.totals,
        reward_mean: statistics.mean,
        reward_std: statistics.std,
        advantages: statistics.advantages,
        advantage_group_sizes: statistics.counts,
        q: statistics.distribution,
        q_group_sizes: statistics.counts,
        seed_semantic_entropies: semantic?.semanticEntropies ?? null,
        seed_advantage_scales: semantic?.scales ?? null,
        seed_alpha_effective: semantic?.alphaEffective ?? null,
        seed_max_possible_entropy: semantic?.maxEntropy ?? null,
      };
    },
  },
  {
    family: "maxent",
    function: "completion_was_truncated",
    ours: "completionTruncated",
    backendFree: true,
    run: (inputs) => {
      if (!inputs.boolean("has_metadata")) return { truncated: completionTruncated(null) };
      const record = {
        truncated: inputs.value("truncated") as boolean | null,
        finishReason: inputs.value("finish_reason") as string | null,
        tokenCount: inputs.value("token_count") as number | null,
        tokenIds: inputs.has("token_ids") ? inputs.numbers("token_ids") : null,
      };
      return { truncated: completionTruncated(record, inputs.value("max_completion_len") as number | null) };
    },
  },
];

/** Rows as one matrix; of no rows an empty array. */
function stacked(rows: readonly Float64Array[]): { data: Float64Array; shape: number[] } {
  const width = rows[0]?.length ?? 0;
  const data = new Float64Array(rows.length * width);
  rows.forEach((row, r) => data.set(row, r * width));
  return { data, shape: rows.length === 0 ? [0] : [rows.length, width] };
}
