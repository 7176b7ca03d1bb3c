// verl: the estimators behind its advantage names.
import {
  gaeAdvantage,
  gpgAdvantage,
  opoAdvantage,
  optimalTokenBaselineAdvantage,
  type OutcomeBatch,
  passAtKAdvantage,
  reinforcePlusPlusAdvantage,
  reinforcePlusPlusBaselineAdvantage,
  remaxAdvantage,
  resamplingWeights,
} from "surprisal";
import type { Inputs } from "../inputs";
import type { Context, Mapping, Outputs } from "../mapping";

function tokenBatch(inputs: Inputs) {
  return {
    tokenRewards: inputs.floats("token_level_rewards"),
    mask: inputs.uint8("response_mask"),
    shape: inputs.shape2("response_mask"),
  } as const;
}

function outcomeBatch(inputs: Inputs): OutcomeBatch {
  return { ...tokenBatch(inputs), groups: inputs.int32("index") };
}

function both({ advantages, returns }: { readonly advantages: unknown; readonly returns: unknown }): Outputs {
  return { advantages, returns };
}

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
      preset: "verl-2026-01",
      columns,
      zeroTail: inputs.boolean("handle_zero_tail"),
      epsilon: inputs.number("epsilon"),
      backend,
    }),
  );
}

const METHODS = { pow: "pow", max_min: "maxMin", max_random: "maxRandom" } as const;

export const verlAdvantage: readonly Mapping[] = [
  {
    family: "verl",
    function: "compute_gae_advantage_return",
    ours: "gaeAdvantage",
    options: 'preset "verl-2026-01"',
    run: (inputs, { backend }) =>
      both(
        gaeAdvantage(
          { ...tokenBatch(inputs), values: inputs.floats("values") },
          { preset: "verl-2026-01", gamma: inputs.number("gamma"), lambda: inputs.number("lam"), backend },
        ),
      ),
  },
  {
    family: "verl",
    function: "compute_grpo_passk_outcome_advantage",
    ours: "passAtKAdvantage",
    options: 'preset "verl-2026-01"',
    run: (inputs, { backend }) =>
      both(
        passAtKAdvantage(outcomeBatch(inputs), {
          preset: "verl-2026-01",
          epsilon: inputs.number("epsilon"),
          scale: inputs.boolean("norm_adv_by_std_in_grpo") ? "std" : "none",
          backend,
        }),
      ),
  },
  {
    family: "verl",
    function: "compute_reinforce_plus_plus_outcome_advantage",
    ours: "reinforcePlusPlusAdvantage",
    options: 'preset "verl-2026-01"',
    run: (inputs, { backend }) =>
      both(
        reinforcePlusPlusAdvantage(tokenBatch(inputs), {
          preset: "verl-2026-01",
          gamma: inputs.number("gamma"),
          backend,
        }),
      ),
  },
  {
    family: "verl",
    function: "compute_reinforce_plus_plus_baseline_outcome_advantage",
    ours: "reinforcePlusPlusBaselineAdvantage",
    options: 'preset "verl-2026-01"',
    run: (inputs, { backend }) =>
      both(reinforcePlusPlusBaselineAdvantage(outcomeBatch(inputs), { preset: "verl-2026-01", backend })),
  },
  {
    family: "verl",
    function: "compute_remax_outcome_advantage",
    ours: "remaxAdvantage",
    run: (inputs, { backend }) =>
      both(remaxAdvantage({ ...tokenBatch(inputs), baselines: inputs.floats("reward_baselines") }, { backend })),
  },
  {
    family: "verl",
    function: "compute_opo_outcome_advantage",
    ours: "opoAdvantage",
    options: 'preset "verl-2026-01"',
    run: (inputs, { backend }) => both(opoAdvantage(outcomeBatch(inputs), { preset: "verl-2026-01", backend })),
  },
  {
    family: "verl",
    function: "compute_gpg_outcome_advantage",
    ours: "gpgAdvantage",
    options: 'preset "verl-2026-01"',
    run: (inputs, { backend }) =>
      both(
        gpgAdvantage(outcomeBatch(inputs), { preset: "verl-2026-01", normalizer: inputs.number("f_norm"), backend }),
      ),
  },
  {
    family: "verl",
    function: "compute_optimal_token_baseline_advantage",
    ours: "optimalTokenBaselineAdvantage",
    options: 'preset "verl-2026-01"',
    run: (inputs, context) => optimalTokenBaseline(inputs, context, "position"),
  },
  {
    family: "verl",
    function: "compute_multi_turn_optimal_token_baseline_advantage",
    ours: "optimalTokenBaselineAdvantage",
    options: 'preset "verl-2026-01", columns "kept"',
    run: (inputs, context) => optimalTokenBaseline(inputs, context, "kept"),
  },
  {
    family: "verl",
    function: "compute_pf_ppo_reweight_data",
    ours: "resamplingWeights",
    run: (inputs, { backend }) => {
      const scores = inputs.floats("token_level_scores");
      const method = METHODS[inputs.oneOf("reweight_method", ["pow", "max_min", "max_random"])];
      const batch = { tokenRewards: scores, shape: inputs.shape2("token_level_scores") } as const;
      return { weights: resamplingWeights(batch, { method, power: inputs.number("weight_pow"), backend }) };
    },
  },
];
