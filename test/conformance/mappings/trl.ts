// TRL: log-probs of one target or several, entropies, and their gradients.
import { logprob, logprobBackward } from "../../../lib";
import type { Mapping } from "../mapping";
import { float32Logits } from "./tensors";

export const trl: readonly Mapping[] = [
  {
    family: "trl",
    function: "selective_log_softmax",
    ours: ["logprob", "logprobBackward"],
    options: "one target a row, or K",
    run: (inputs, { backend }) => {
      const logits = float32Logits(inputs);
      const index = inputs.int32("index");
      const result = logprob(logits, index, { backend });
      const gradient = logprobBackward(logits, index, result, { gradLogProbs: inputs.floats("g"), backend });
      return { logps: result.logProbs, grad_logits: gradient };
    },
  },
  {
    family: "trl",
    function: "entropy_from_logits",
    ours: ["logprob", "logprobBackward"],
    options: "targets null",
    run: (inputs, { backend }) => {
      const logits = float32Logits(inputs);
      const result = logprob(logits, null, { backend });
      const gradient = logprobBackward(logits, null, result, { gradEntropies: inputs.floats("g"), backend });
      return { entropy: result.entropies, grad_logits: gradient };
    },
  },
];
