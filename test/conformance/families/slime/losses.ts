// slime: policy and value losses, KL terms.
import { keptLogprob, keptLogprobBackward, klPenalty } from "surprisal";
import type { Inputs } from "../../inputs";
import type { Mapping } from "../../mapping";

const family = "slime";

/** The columns that a table of flags keeps of each row, as lists; all of them without a table. */
function keptIds(inputs: Inputs) {
  const [rows, vocab] = inputs.shape2("logits");
  const flags = inputs.has("keep") ? inputs.uint8("keep") : undefined;
  const lists = Array.from({ length: rows }, (_, b) =>
    Array.from({ length: vocab }, (_, j) => j).filter((j) => flags?.[b * vocab + j] !== 0),
  );
  const offsets = new Int32Array(rows + 1);
  lists.forEach((list, b) => (offsets[b + 1] = offsets[b]! + list.length));
  return { ids: Int32Array.from(lists.flat()), offsets };
}

export const slimeLosses: readonly Mapping[] = [
  {
    family,
    function: "replay_support_log_probs",
    ours: ["keptLogprob", "keptLogprobBackward"],
    run: (inputs, { backend }) => {
      const logits = inputs.float32("logits");
      const entropies = inputs.floats("grad_entropy").some((g) => g !== 0); // else they were not asked for
      const options = { shape: inputs.shape2("logits"), entropies, backend };
      const targets = inputs.int32("target");
      const kept = keptIds(inputs);
      const { state, ...result } = keptLogprob(logits, targets, kept, options);
      const gradients = {
        gradLogProbs: inputs.floats("grad_logp"),
        ...(entropies && { gradEntropies: inputs.floats("grad_entropy") }),
      };
      const gradient = keptLogprobBackward(logits, targets, kept, state, { ...options, ...gradients });
      return { logp: result.logProbs, entropy: result.entropies, grad_logits: gradient };
    },
  },
  {
    family,
    function: "compute_approx_kl",
    ours: "klPenalty",
    options: 'preset "slime"; low_var_kl: valueClamp 10; use_unbiased_kl: importance',
    run: (inputs, { backend }) => {
      const name = inputs.oneOf("kl_loss_type", ["k1", "k2", "k3", "low_var_kl"] as const);
      const { values, gradLogProbs } = klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), {
        preset: "slime",
        shape: inputs.shape2("log_probs"),
        estimator: name,
        ...(name === "low_var_kl" && { valueClamp: 10 }),
        ...(inputs.has("old_log_probs") && { importance: inputs.floats("old_log_probs") }),
        backend,
      });
      return { kl: values, grad_log_probs: gradLogProbs };
    },
  },
];
