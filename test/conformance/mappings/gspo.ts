// The sequence-level clipped objective and its parts.
import { grpoAdvantage, logRatio, sequencePolicyObjective } from "surprisal";
import type { Inputs } from "../inputs";
import type { Context, Mapping } from "../mapping";

function objective(inputs: Inputs, { backend }: Context) {
  return sequencePolicyObjective(
    inputs.floatRows("log_probs_new"),
    inputs.floatRows("log_probs_old"),
    Float64Array.from(inputs.numbers("rewards")),
    { groups: "all", clip: inputs.number("epsilon"), backend },
  );
}

export const gspo: readonly Mapping[] = [
  {
    family: "gspo",
    function: "standardize_rewards",
    ours: "grpoAdvantage",
    options: 'preset "gspo"',
    run: (inputs, { backend }) => {
      const { advantages, means, stds } = grpoAdvantage(
        { rewards: inputs.floats("rewards"), groups: "all" },
        { preset: "gspo", backend },
      );
      return { advantages, mean: means[0], std: stds[0] };
    },
  },
  {
    family: "gspo",
    function: "sequence_ratio",
    ours: "logRatio",
    options: 'level "sequence"',
    run: (inputs, { backend }) => {
      const { ratios } = logRatio(inputs.floats("log_probs_new"), inputs.floats("log_probs_old"), {
        level: "sequence",
        shape: inputs.shape2("mask"),
        mask: inputs.uint8("mask"),
        backend,
      });
      return { ratios };
    },
  },
  {
    family: "gspo",
    function: "sequence_policy_objective",
    ours: "sequencePolicyObjective",
    options: "an array per sequence",
    failures: { ValueError: ["ERR_SURPRISAL_SHAPE", "ERR_SURPRISAL_OPTION"] },
    run: (inputs, context) => {
      const result = objective(inputs, context);
      return {
        advantages: result.advantages,
        reward_mean: result.rewardMean[0],
        reward_std: result.rewardStd[0],
        ratios: result.ratios,
        clipped_ratios: result.clippedRatios,
        per_sequence: result.perSequence,
        objective: result.objective,
        grad_log_probs_new: result.gradLogProbs,
      };
    },
  },
  {
    family: "gspo",
    function: "worked_examples",
    ours: "sequencePolicyObjective",
    run: (inputs, context) => ({ objective: objective(inputs, context).objective }),
  },
];
