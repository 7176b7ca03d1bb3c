// verl: group advantages, by preset "verl-2026-01" and the options that its variants differ in.
import { grpoAdvantage, type GroupConventions, rlooAdvantage } from "surprisal";
import type { Inputs } from "../inputs";
import type { Context, Mapping, Outputs } from "../mapping";

const batchOf = (inputs: Inputs) => ({
  tokenRewards: inputs.floats("token_level_rewards"),
  shape: inputs.shape2("response_mask"),
  mask: inputs.uint8("response_mask"),
  groups: inputs.int32("index"),
});

/** Upstream has the advantages twice: they are their own returns. */
function spread(inputs: Inputs, { backend }: Context, conventions: GroupConventions): Outputs {
  const { advantages, returns } = grpoAdvantage(batchOf(inputs), { preset: "verl-2026-01", ...conventions, backend });
  return { advantages, returns };
}

function leaveOneOut(inputs: Inputs, { backend }: Context, conventions: Pick<GroupConventions, "singleton">): Outputs {
  const { advantages, returns } = rlooAdvantage(batchOf(inputs), { preset: "verl-2026-01", ...conventions, backend });
  return { advantages, returns };
}

function grpo(inputs: Inputs) {
  return {
    epsilon: inputs.number("epsilon"),
    scale: inputs.boolean("norm_adv_by_std_in_grpo") ? "std" : "none",
  } as const;
}

export const verl: readonly Mapping[] = [
  {
    family: "verl",
    function: "compute_grpo_outcome_advantage",
    ours: "grpoAdvantage",
    options: 'preset "verl-2026-01"',
    differs: "the advantages are also the returns",
    run: (inputs, context) => spread(inputs, context, grpo(inputs)),
  },
  {
    family: "verl",
    function: "compute_grpo_vectorized_outcome_advantage",
    ours: "grpoAdvantage",
    options: 'preset "verl-2026-01", varianceFloor',
    differs: "the advantages are also the returns",
    replacedBy: "statistics in float64: a large common offset does not drown the differences",
    run: (inputs, context) => spread(inputs, context, { ...grpo(inputs), varianceFloor: inputs.number("epsilon") }),
  },
  {
    family: "verl",
    function: "compute_rloo_outcome_advantage",
    ours: "rlooAdvantage",
    options: 'preset "verl-2026-01"',
    differs: "the advantages are also the returns",
    run: (inputs, context) => leaveOneOut(inputs, context, {}),
  },
  {
    family: "verl",
    function: "compute_rloo_vectorized_outcome_advantage",
    ours: "rlooAdvantage",
    options: 'preset "verl-2026-01", singleton "zero"',
    differs: "the advantages are also the returns",
    run: (inputs, context) => leaveOneOut(inputs, context, { singleton: "zero" }),
  },
];
