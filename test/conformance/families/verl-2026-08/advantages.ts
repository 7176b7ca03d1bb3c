// verl as of August 2026: advantages, weights, masks and metrics.
import {
  expertBalance,
  grpoAdvantage,
  multiRewardAdvantage,
  optimalTokenBaselineAdvantage,
  probabilityAgreement,
  reinforcePlusPlusAdvantage,
  rolloutCorrection,
  rolloutWeights,
  speculativeDecodingMetrics,
} from "surprisal";
import { dataMetricsOf } from "../../mappings/metrics";
import { groupMeanStd } from "../../mappings/reductions";
import type { GoldenCase } from "../../golden";
import type { Inputs } from "../../inputs";
import type { Context, Mapping, Outputs } from "../../mapping";
import { fromLogRatio, layout, rejectionRules, weightRule } from "../../mappings/correction";
import { matrixRows } from "../arrange";

const family = "verl-2026-08";

const tokenBatch = (inputs: Inputs) => ({
  tokenRewards: inputs.floats("token_level_rewards"),
  mask: inputs.uint8("response_mask"),
  shape: inputs.shape2("response_mask"),
});

const grpo = (inputs: Inputs) => ({
  preset: "verl" as const,
  scale: inputs.boolean("norm_adv_by_std_in_grpo") ? ("std" as const) : ("none" as const),
});

const both = ({ advantages, returns }: { readonly advantages: unknown; readonly returns: unknown }): Outputs => ({
  advantages,
  returns,
});

function optimalTokenBaseline(inputs: Inputs, { backend }: Context, columns: "position" | "kept"): Outputs {
  const batch = {
    ...tokenBatch(inputs),
    groups: inputs.int32("index"),
    logProbs: inputs.floats("old_log_probs"),
    sumSquares: inputs.floats("sum_pi_squared"),
    ...(inputs.has("rollout_is_weights") && { importanceWeights: inputs.floats("rollout_is_weights") }),
  };
  return both(
    optimalTokenBaselineAdvantage(batch, {
      columns,
      zeroTail: true,
      epsilon: inputs.number("epsilon"),
      backend,
    }),
  );
}

/** The reward of each dimension: one per row, or the sum of the row's token rewards where there are no dimensions. */
function dimensions(inputs: Inputs) {
  if (inputs.has("token_scores")) return matrixRows(inputs.floats("token_scores"), inputs.shape2("token_scores"));
  if (inputs.has("reward_keys")) return [];
  return [grpoAdvantage({ ...tokenBatch(inputs), groups: inputs.int32("index") }).scores];
}

/** Figures over nothing. */
const nothing = ({ name }: GoldenCase): string | undefined =>
  ["no_live_token", "all_aborted"].includes(name)
    ? "figures over nothing are 0, which a chart can show, not NaN"
    : undefined;

export const verl202608Advantages: readonly Mapping[] = [
  {
    family,
    function: "compute_rollout_correction_weights",
    ours: "rolloutWeights",
    options: 'preset "verl"',
    differs: "takes log-probs, not their difference",
    replacedBy: "weights 0 and size 0 where nothing is kept; float64 decides at a bound",
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"], TypeError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, context) => ({
      ...rolloutWeights(...fromLogRatio(inputs), { preset: "verl", ...layout(inputs, context), ...weightRule(inputs) }),
    }),
  },
  {
    family,
    function: "compute_rollout_correction_and_rejection_mask",
    ours: "rolloutCorrection",
    options: 'preset "verl"',
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, context) => {
      const { weights, mask, metrics } = rolloutCorrection(
        inputs.floats("old_log_prob"),
        inputs.floats("rollout_log_prob"),
        {
          preset: "verl",
          ...layout(inputs, context),
          ...(inputs.has("rollout_is") && { weights: weightRule(inputs) }),
          ...(inputs.has("rollout_rs") && { rejection: rejectionRules(inputs) }),
        },
      );
      return { rollout_is_weights: weights, modified_response_mask: mask, metrics };
    },
  },
  {
    family,
    function: "calculate_debug_metrics",
    ours: "probabilityAgreement",
    skip: nothing,
    run: (inputs, { backend }) => ({
      metrics: probabilityAgreement(inputs.floats("old_log_probs"), inputs.floats("rollout_log_probs"), {
        shape: inputs.shape2("response_mask"),
        mask: inputs.uint8("response_mask"),
        backend,
      }).metrics,
    }),
  },
  {
    family,
    function: "compute_advantage_for_multi_trajectories",
    ours: "grpoAdvantage",
    options: 'preset "verl", sessions, outputs',
    run: (inputs, { backend }) =>
      both(
        grpoAdvantage(
          {
            ...tokenBatch(inputs),
            groups: inputs.int32("index"),
            sessions: Array.from(inputs.int32("index"), (group, b) => `${group}/${inputs.int32("session")[b]!}`),
            outputs: inputs.int32("output_number"),
          },
          { ...grpo(inputs), backend },
        ),
      ),
  },
  { ...dataMetricsOf(family), skip: nothing, replacedBy: "0 where nothing varies" },
  {
    family,
    function: "compute_gdpo_outcome_advantage",
    ours: "multiRewardAdvantage",
    options: 'aggregation "normalizeThenSum", normalizeOver "tokens"',
    failures: { AssertionError: ["ERR_SURPRISAL_OPTION", "ERR_SURPRISAL_SHAPE", "ERR_SURPRISAL_DTYPE"] },
    run: (inputs, { backend }) => {
      const { advantages } = multiRewardAdvantage(
        {
          rewards: dimensions(inputs),
          mask: inputs.uint8("response_mask"),
          shape: inputs.shape2("response_mask"),
          groups: inputs.int32("index"),
        },
        {
          aggregation: "normalizeThenSum",
          normalizeOver: "tokens",
          functionConventions: {
            scale: inputs.has("norm_adv_by_std_in_grpo") ? grpo(inputs).scale : "std",
            singleton: "raw",
          },
          epsilon: inputs.has("epsilon") ? inputs.number("epsilon") : 1e-6,
          ...(inputs.has("reward_weights") && { weights: inputs.numbers("reward_weights") }),
          backend,
        },
      );
      return { advantages, returns: advantages };
    },
  },
  {
    family,
    function: "compute_grpo_vectorized_outcome_advantage",
    ours: "grpoAdvantage",
    options: 'preset "verl"',
    run: (inputs, { backend }) =>
      both(
        grpoAdvantage(
          { ...tokenBatch(inputs), groups: inputs.int32("index") },
          { ...grpo(inputs), epsilon: inputs.number("epsilon"), backend },
        ),
      ),
  },
  {
    family,
    function: "compute_optimal_token_baseline_advantage",
    ours: "optimalTokenBaselineAdvantage",
    options: "zeroTail",
    run: (inputs, context) => optimalTokenBaseline(inputs, context, "position"),
  },
  {
    family,
    function: "compute_multi_turn_optimal_token_baseline_advantage",
    ours: "optimalTokenBaselineAdvantage",
    options: 'columns "kept", zeroTail',
    run: (inputs, context) => optimalTokenBaseline(inputs, context, "kept"),
  },
  {
    family,
    function: "compute_reinforce_plus_plus_outcome_advantage",
    ours: "reinforcePlusPlusAdvantage",
    options: "gamma",
    run: (inputs, { backend }) =>
      both(reinforcePlusPlusAdvantage(tokenBatch(inputs), { gamma: inputs.number("gamma"), backend })),
  },
  {
    family,
    function: "compute_rollout_moe_load_balance_metrics",
    ours: "expertBalance",
    backendFree: true,
    run: (inputs) => {
      const [B, S, layers, choices] = inputs.shape("routed_experts") as [number, number, number, number];
      const [, T] = inputs.shape2("response_mask");
      const width = layers * choices;
      // Responses are the last T tokens of a row.
      const routed = inputs.int32("routed_experts").filter((_, i) => Math.floor(i / width) % S >= S - T);
      return {
        metrics: expertBalance(routed, {
          shape: [B, T],
          mask: inputs.uint8("response_mask"),
          experts: inputs.number("num_experts"),
          layers,
          choices,
        }),
      };
    },
  },
  {
    family,
    function: "compute_spec_decode_metrics",
    ours: "speculativeDecodingMetrics",
    backendFree: true,
    failures: {
      AssertionError: ["ERR_SURPRISAL_OPTION", "ERR_SURPRISAL_DTYPE"],
    },
    run: (inputs) => {
      const names = ["drafts", "accepts", "verifies"] as const;
      if (!names.some((name) => inputs.has(name))) return { metrics: {} };
      const keep = inputs.has("keep") ? inputs.uint8("keep") : null;
      const counts = (name: string) =>
        inputs.has(name) ? inputs.int32(name).filter((_, i) => keep?.[i] !== 0) : (undefined as unknown as Int32Array);
      return {
        metrics: speculativeDecodingMetrics({
          drafts: counts("drafts"),
          accepts: counts("accepts"),
          verifies: counts("verifies"),
        }),
      };
    },
  },
  groupMeanStd(family),
];
