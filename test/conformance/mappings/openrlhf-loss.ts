// OpenRLHF: policy and value losses, KL estimates.
import {
  gspoLoss,
  importanceRatio,
  type KlEstimatorName,
  klPenalty,
  type PolicyBatch,
  ppoLoss,
  valueLoss,
} from "surprisal";
import type { Inputs } from "../inputs";
import type { Context, Mapping } from "../mapping";
import { verlCounts } from "./reductions";

function layoutOf(inputs: Inputs, { backend }: Context) {
  return { shape: inputs.shape2("action_mask"), mask: inputs.uint8("action_mask"), backend } as const;
}

/** Aggregation and counts; a token mean where nothing is said. */
function aggregationOf(inputs: Inputs) {
  const perToken = !inputs.has("token_level_loss") || inputs.boolean("token_level_loss");
  return { aggregation: perToken ? "openrlhf/token" : "openrlhf/sample", ...verlCounts(inputs) } as const;
}

/** Weights of the correction for the sampler, where it is on. */
function corrected(inputs: Inputs, context: Context): Partial<PolicyBatch> {
  if (!inputs.has("enable_vllm_is_correction")) return {};
  const [low, high] = inputs.numbers("vllm_is_truncated_threshold");
  const { ratios } = importanceRatio(inputs.floats("old_log_probs"), inputs.floats("rollout_log_probs"), {
    ...layoutOf(inputs, context),
    mode: `openrlhf/${inputs.oneOf("vllm_is_correction_type", ["tis", "icepop", "seq-mask-tis"])}`,
    low: low!,
    high: high!,
  });
  return { rolloutWeights: ratios, rolloutWeightsPer: "token" };
}

export const openrlhfLoss: readonly Mapping[] = [
  {
    family: "openrlhf",
    function: "PolicyLoss",
    ours: ["ppoLoss", "gspoLoss"],
    options: 'preset "openrlhf"',
    differs: 'gspo with the sampler\'s correction is ratioTo "sampler", without weights; it does not log vllm_kl',
    run: (inputs, context) => {
      const { shape, mask, backend } = layoutOf(inputs, context);
      const sequence = inputs.has("policy_loss_type");
      // Upstream's defaults where a case is silent.
      const width = (name: string): number => (inputs.has(name) ? inputs.number(name) : 0.2);
      const clip = { clipLow: width("clip_eps_low"), clipHigh: width("clip_eps_high") };
      const sampler = inputs.has("rollout_log_probs") ? inputs.floats("rollout_log_probs") : undefined;
      const batch: PolicyBatch = {
        shape,
        mask,
        logProbs: inputs.floats("log_probs"),
        oldLogProbs: inputs.floats("old_log_probs"),
        ...(sampler && { samplerLogProbs: sampler }),
        advantages: inputs.floats("advantages"),
        advantagesPer: "token",
      };
      const dualClip = inputs.has("dual_clip") ? { dualClip: inputs.number("dual_clip") } : {};
      const { loss, metrics, gradLogProbs } = sequence
        ? gspoLoss(batch, {
            preset: "openrlhf",
            ...verlCounts(inputs),
            ...clip,
            ratioTo: inputs.has("enable_vllm_is_correction") ? "sampler" : "old",
            backend,
          })
        : ppoLoss(
            { ...batch, ...corrected(inputs, context) },
            { preset: "openrlhf", ...aggregationOf(inputs), ...clip, ...dualClip, backend },
          );
      return { loss, vllm_kl: null, ...metrics, ...(sequence && { vllm_kl: null }), grad_log_probs: gradLogProbs };
    },
  },
  {
    family: "openrlhf",
    function: "ValueLoss",
    ours: "valueLoss",
    options: 'preset "openrlhf"',
    run: (inputs, context) => {
      const { shape, mask, backend } = layoutOf(inputs, context);
      const batch = {
        shape,
        mask,
        values: inputs.floats("values"),
        oldValues: inputs.floats("old_values"),
        returns: inputs.floats("returns"),
      };
      const clip = inputs.has("clip_eps") ? { clip: inputs.number("clip_eps") } : {};
      const { loss, gradValues } = valueLoss(batch, { preset: "openrlhf", ...aggregationOf(inputs), ...clip, backend });
      return { loss, grad_values: gradValues };
    },
  },
  {
    family: "openrlhf",
    function: "compute_approx_kl",
    ours: "klPenalty",
    options: 'preset "openrlhf"',
    run: (inputs, { backend }) => {
      const estimator = inputs.string("kl_estimator") as KlEstimatorName;
      const options = { shape: inputs.shape2("log_probs"), preset: "openrlhf", estimator, backend } as const;
      const { values, gradLogProbs } = klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), options);
      return { kl: values, grad_log_probs: gradLogProbs };
    },
  },
];
