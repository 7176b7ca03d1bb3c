// TRL: log-probs of one target or several, entropies, and their gradients.
import { linearLogprob, linearLogprobBackward, logprob, logprobBackward } from "surprisal";
import type { Mapping } from "../mapping";
import { float32Logits, float32Tensor } from "./tensors";

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
  {
    family: "trl",
    function: "chunked_lm_head_logprob",
    ours: ["linearLogprob", "linearLogprobBackward"],
    differs: "there the gradient of the entropy is dropped; here `gradEntropies` propagates it where given",
    run: (inputs, { backend }) => {
      const hidden = float32Tensor(inputs, "last_hidden");
      const weight = float32Tensor(inputs, "weight");
      const targets = inputs.int32("targets");
      const options = {
        temperature: inputs.number("temperature"),
        scale: inputs.number("logit_scale"),
        ...(inputs.has("final_logit_softcapping") && { softcap: inputs.number("final_logit_softcapping") }),
        backend,
      };
      const result = linearLogprob(hidden, weight, targets, options);
      const gradLogProbs = inputs.floats("grad_logp");
      const { gradHidden, gradWeight } = linearLogprobBackward(hidden, weight, targets, result, {
        ...options,
        gradLogProbs,
      });
      return { logp: result.logProbs, entropy: result.entropies, grad_hidden: gradHidden, grad_weight: gradWeight };
    },
  },
];
