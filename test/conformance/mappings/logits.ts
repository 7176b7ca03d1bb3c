// Log-probs and entropies of logits, and the gradient of the logits.
import { logprob, logprobBackward } from "../../../lib";
import type { Mapping } from "../mapping";
import { float32Logits } from "./tensors";

export const logits: readonly Mapping[] = [
  {
    family: "logits",
    function: "logprob_entropy_from_logits",
    ours: ["logprob", "logprobBackward"],
    run: (inputs, { backend }) => {
      const x = float32Logits(inputs);
      const targets = inputs.int32("target");
      const options = { temperature: inputs.number("temperature"), backend };
      const result = logprob(x, targets, options);
      const gradient = logprobBackward(x, targets, result, {
        ...options,
        gradLogProbs: inputs.floats("grad_logp"),
        gradEntropies: inputs.floats("grad_entropy"),
      });
      return {
        lse: result.logSumExps,
        logp: result.logProbs,
        entropy: result.entropies,
        sum_pi_squared: result.sumSquares,
        grad_logits: gradient,
      };
    },
  },
];
