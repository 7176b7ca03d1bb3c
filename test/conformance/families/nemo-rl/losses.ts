// NeMo-RL: policy and value losses, KL terms.
import { klPenalty } from "surprisal";
import type { Mapping } from "../../mapping";

const family = "nemo-rl";

export const nemoRlLosses: readonly Mapping[] = [
  {
    family,
    function: "calculate_kl",
    ours: "klPenalty",
    options: 'preset "nemo-rl", importance',
    run: (inputs, { backend }) => {
      const clamp = (name: string): number => (inputs.has(name) ? inputs.number(name) : Infinity);
      const { values, gradLogProbs } = klPenalty(inputs.floats("logprobs"), inputs.floats("logprobs_reference"), {
        preset: "nemo-rl",
        shape: inputs.shape2("logprobs"),
        estimator: inputs.oneOf("kl_type", ["k1", "k2", "k3"] as const),
        logClamp: clamp("input_clamp_value"),
        valueClamp: clamp("output_clamp_value"),
        ...(inputs.has("weight_base") && { importance: inputs.floats("weight_base") }),
        backend,
      });
      return { kl: values, grad_logprobs: gradLogProbs };
    },
  },
];
