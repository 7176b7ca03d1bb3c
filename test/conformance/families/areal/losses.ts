// AReaL: policy and value losses, KL terms.
import { klPenalty } from "surprisal";
import type { Mapping } from "../../mapping";

const family = "areal";

export const arealLosses: readonly Mapping[] = [
  {
    family,
    function: "kl_estimator",
    ours: "klPenalty",
    options: 'preset "areal"',
    run: (inputs, { backend }) => {
      const { values, gradLogProbs } = klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), {
        preset: "areal",
        shape: inputs.shape2("log_probs"),
        estimator: inputs.oneOf("kl_estimator", ["k1", "k2", "k3"] as const),
        ...(!inputs.boolean("apply_clamp") && { valueClamp: Infinity }),
        backend,
      });
      return { kl: values, grad_log_probs: gradLogProbs };
    },
  },
];
