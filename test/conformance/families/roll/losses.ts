// ROLL: policy and value losses, KL terms.
import { klPenalty } from "surprisal";
import type { Mapping } from "../../mapping";

const family = "roll";

export const rollLosses: readonly Mapping[] = [
  {
    family,
    function: "compute_approx_kl",
    ours: "klPenalty",
    options: 'preset "roll"',
    run: (inputs, { backend }) => {
      const { values, gradLogProbs } = klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), {
        preset: "roll",
        shape: inputs.shape2("action_mask"),
        mask: inputs.uint8("action_mask"),
        estimator: inputs.oneOf("kl_penalty", ["kl", "abs", "mse", "k3"] as const),
        backend,
      });
      return { kl: values, grad_log_probs: gradLogProbs };
    },
  },
];
