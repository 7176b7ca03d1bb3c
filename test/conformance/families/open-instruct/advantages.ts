// open-instruct: advantages, weights, masks and metrics.
import { gae, groupPassAtK, grpoAdvantage } from "surprisal";
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
