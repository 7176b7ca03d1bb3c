// Log-probs and entropies of logits, and the gradient of the logits.
import { linearLogprob, linearLogprobBackward, logprob, logprobBackward } from "surprisal";
import type { Mapping } from "../mapping";
import { float32Logits, float32Tensor } from "./tensors";

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
  {
    family: "logits",
    function: "fused_linear_logprob_entropy",
    ours: ["linearLogprob", "linearLogprobBackward"],
    run: (inputs, { backend }) => {
      const hidden = float32Tensor(inputs, "hidden_states");
      const weight = float32Tensor(inputs, "vocab_weights");
      const targets = inputs.int32("input_ids");
      const options = { temperature: inputs.number("temperature"), backend };
      const result = linearLogprob(hidden, weight, targets, options);
      const { gradHidden, gradWeight } = linearLogprobBackward(hidden, weight, targets, result, {
        ...options,
        gradLogProbs: inputs.floats("grad_logp"),
        gradEntropies: inputs.floats("grad_entropy"),
      });
      return {
        logp: result.logProbs,
        entropy: result.entropies,
        grad_hidden_states: gradHidden,
        grad_vocab_weights: gradWeight,
      };
    },
  },
];
