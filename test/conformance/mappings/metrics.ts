// What the trainers log.
import {
  bestAtN,
  dataMetrics,
  evaluationMetrics,
  majorityValue,
  probabilityAgreement,
  varianceProxies,
} from "surprisal";
import type { Inputs } from "../inputs";
import type { Mapping } from "../mapping";

function words(inputs: Inputs, name: string): string[] {
  return inputs.list(name) as readonly string[] as string[];
}

/** verl's figures of a batch, in one of its editions. */
export const dataMetricsOf = (family: string): Mapping => ({
  family,
  function: "compute_data_metrics",
  ours: "dataMetrics",
  run: (inputs, { backend }) => ({
    metrics: dataMetrics(
      {
        tokenScores: inputs.floats("token_level_scores"),
        tokenRewards: inputs.floats("token_level_rewards"),
        advantages: inputs.floats("advantages"),
        returns: inputs.floats("returns"),
        ...(inputs.boolean("use_critic") && { values: inputs.floats("values") }),
      },
      {
        shape: inputs.shape2("response_mask"),
        mask: inputs.uint8("response_mask"),
        attentionMask: inputs.uint8("attention_mask"),
        backend,
      },
    ),
  }),
});

export const metrics: readonly Mapping[] = [
  dataMetricsOf("verl"),
  {
    family: "verl",
    function: "compute_variance_proxy_metrics",
    ours: "varianceProxies",
    run: (inputs, { backend }) => ({
      metrics: varianceProxies(
        {
          oldLogProbs: inputs.floats("old_log_probs"),
          sumProbSquares: inputs.floats("sum_pi_squared"),
          advantages: inputs.floats("advantages"),
          ...(inputs.has("rollout_is_weights") && { importanceWeights: inputs.floats("rollout_is_weights") }),
        },
        {
          shape: inputs.shape2("response_mask"),
          mask: inputs.uint8("response_mask"),
          ...(inputs.has("gradient_norm") && { gradNorm: inputs.number("gradient_norm") }),
          backend,
        },
      ).metrics,
    }),
  },
  {
    family: "verl",
    function: "calculate_debug_metrics",
    ours: "probabilityAgreement",
    run: (inputs, { backend }) => ({
      metrics: probabilityAgreement(inputs.floats("old_log_probs"), inputs.floats("rollout_log_probs"), {
        shape: inputs.shape2("response_mask"),
        mask: inputs.uint8("response_mask"),
        backend,
      }).metrics,
    }),
  },
  {
    family: "verl",
    function: "bootstrap_metric",
    ours: "bestAtN",
    options: "indices",
    backendFree: true,
    run: (inputs) => {
      const result = bestAtN(Float64Array.from(inputs.numbers("data")), {
        n: inputs.number("subset_size"),
        indices: inputs.int32("indices"),
      });
      return {
        best_mean: result.bestMean,
        best_std: result.bestStd,
        worst_mean: result.worstMean,
        worst_std: result.worstStd,
      };
    },
  },
  {
    family: "verl",
    function: "calc_maj_val",
    ours: "majorityValue",
    backendFree: true,
    run: (inputs) => ({ maj_val: majorityValue(words(inputs, "pred"), Float64Array.from(inputs.numbers("val"))) }),
  },
  {
    family: "openrlhf",
    function: "compute_eval_metrics",
    ours: "evaluationMetrics",
    backendFree: true,
    run: (inputs) => ({
      logs: evaluationMetrics(
        {
          rewards: inputs.floats("rewards"),
          lengths: inputs.int32("response_length"),
          truncated: inputs.uint8("truncated"),
          sources: words(inputs, "datasource"),
        },
        { samplesPerPrompt: inputs.number("n_samples_per_prompt") },
      ),
    }),
  },
];
