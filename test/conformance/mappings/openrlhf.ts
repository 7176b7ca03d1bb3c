// OpenRLHF: scans in which a masked token is a step, log-probs with entropies and gradient.
import { discountedReturns, gae, logprob, logprobBackward } from "surprisal";
import type { Inputs } from "../inputs";
import type { Mapping } from "../mapping";
import { float32Logits } from "./tensors";

function padded(inputs: Inputs) {
  return {
    shape: inputs.shape2("rewards"),
    mask: inputs.uint8("action_mask"),
    maskMode: "steps",
    gamma: inputs.number("gamma"),
  } as const;
}

export const openrlhf: readonly Mapping[] = [
  {
    family: "openrlhf",
    function: "get_advantages_and_returns",
    ours: "gae",
    options: 'maskMode "steps"',
    run: (inputs, { backend }) => {
      const options = { ...padded(inputs), lambda: inputs.number("lambd"), backend };
      const { advantages, returns } = gae(inputs.floats("rewards"), inputs.floats("values"), options);
      return { advantages, returns };
    },
  },
  {
    family: "openrlhf",
    function: "get_cumulative_returns",
    ours: "discountedReturns",
    options: 'maskMode "steps"',
    run: (inputs, { backend }) => ({
      returns: discountedReturns(inputs.floats("rewards"), { ...padded(inputs), backend }),
    }),
  },
  {
    family: "openrlhf",
    function: "log_probs_from_logits",
    ours: ["logprob", "logprobBackward"],
    run: (inputs, { backend }) => {
      const logits = float32Logits(inputs);
      const labels = inputs.int32("labels");
      const options = { temperature: inputs.number("temperature"), backend };
      const result = logprob(logits, labels, options);
      const gradient = logprobBackward(logits, labels, result, {
        ...options,
        gradLogProbs: inputs.floats("g_logp"),
        gradEntropies: inputs.floats("g_entropy"),
      });
      return { logp: result.logProbs, entropy: result.entropies, grad_logits: gradient };
    },
  },
];
