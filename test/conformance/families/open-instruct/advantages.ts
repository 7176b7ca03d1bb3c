// open-instruct: advantages, weights, masks and metrics.
import { finiteMask, gae, groupPassAtK, grpoAdvantage, klEstimates, moments, ppoLoss } from "surprisal";
import type { Mapping } from "../../mapping";
import { blocks } from "../arrange";

const family = "open-instruct";

export const openInstructAdvantages: readonly Mapping[] = [
  {
    family,
    function: "calculate_advantages_packed",
    ours: "gae",
    options: "γ per token: 0 where an episode is done",
    run: (inputs, { backend }) => {
      const kept = inputs.int32("response_masks");
      const gamma = Float64Array.from(inputs.int32("dones"), (done, i) =>
        done !== 0 || kept[i] === 0 ? 0 : inputs.number("gamma"),
      );
      const { advantages, returns } = gae(
        Float64Array.from(inputs.floats("rewards")),
        Float64Array.from(inputs.floats("values")),
        {
          shape: inputs.shape2("values"),
          gamma,
          lambda: inputs.number("lam"),
          backend,
        },
      );
      return { advantages, returns };
    },
  },
  {
    family,
    function: "compute_pass_at_k_metrics",
    ours: "groupPassAtK",
    options: "k = 1, 2, 4, … and the size of the group",
    backendFree: true,
    run: (inputs) => {
      const [prompts, n] = inputs.shape2("correct");
      const ks = [1, 2, 4, 8, 16, 32, 64, 128].filter((k) => k <= n);
      const { means } = groupPassAtK(inputs.uint8("correct"), { groups: blocks(prompts * n, n), k: [...ks, n] });
      const named = ks.map((k, i) => [`eval/pass_at_${k}_unbiased`, means[i]!] as const);
      return {
        metrics: { ...Object.fromEntries(named), "eval/pass_at_1": means[0], [`eval/pass_at_${n}`]: means[ks.length] },
      };
    },
  },
  {
    family,
    function: "compute_vllm_local_debug_metrics",
    ours: ["finiteMask", "klEstimates", "moments", "ppoLoss"],
    options: 'finiteMask drops "nan"; klEstimates kind "abs"; the sampler\'s probability as a ratio to a log-prob of 0',
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("response_mask");
      const given = Float64Array.from(inputs.floats("sampler_logprobs"));
      const { mask, values: sampler } = finiteMask(given, { shape, mask: inputs.uint8("response_mask"), drops: "nan" });
      const local = Float64Array.from(inputs.floats("local_logprobs"));
      const where = { shape, mask, backend };
      const distances = moments(klEstimates(local, sampler, { ...where, kind: "abs" }).values, where);
      const kl = klEstimates(local, sampler, { ...where, kind: "k1" }).values; // local − sampler, the negative of the advantage
      const zeros = new Float64Array(sampler.length);
      const batch = {
        shape,
        mask,
        logProbs: sampler,
        oldLogProbs: zeros,
        advantages: kl,
        advantagesPer: "token",
      } as const;
      const { loss } = ppoLoss(batch, { clip: Infinity, logClamp: Infinity, aggregation: "tokenMean", backend });
      const some = distances.counts[0]! > 0;
      return {
        metrics: {
          "debug/vllm_vs_local_logprob_diff_mean": distances.means[0]!,
          "debug/vllm_vs_local_logprob_diff_max": some ? distances.maxs[0]! : 0,
          "debug/vllm_vs_local_logprob_diff_std": distances.counts[0]! > 1 ? distances.stds(1)[0]! : 0,
          "debug/vllm_local_reverse_kl": loss,
        },
      };
    },
  },
  {
    family,
    function: "group_advantages",
    ours: "grpoAdvantage",
    options: "ddof 0, epsilon 1e-8; scale",
    run: (inputs, { backend }) => {
      const rewards = inputs.floats("scores");
      const { rowAdvantages } = grpoAdvantage(
        { rewards, groups: blocks(rewards.length, inputs.number("num_samples_per_prompt")) },
        {
          scale: inputs.string("advantage_normalization_type") === "standard" ? "std" : "none",
          ddof: 0,
          epsilon: 1e-8,
          backend,
        },
      );
      return { advantages: rowAdvantages };
    },
  },
];
