// slime: advantages, weights, masks and metrics.
import {
  discountedReturns,
  gae,
  groupBroadcast,
  grpoAdvantage,
  groupPlace,
  klEstimates,
  klShapedReward,
  whiten,
} from "surprisal";
import type { FloatArray, Inputs } from "../../inputs";
import type { Mapping } from "../../mapping";
import { blocks, leading } from "../arrange";

const family = "slime";

const wide = (inputs: Inputs, name: string): Float64Array => Float64Array.from(inputs.floats(name));

export const slimeAdvantages: readonly Mapping[] = [
  {
    family,
    function: "compute_advantages_and_returns",
    ours: ["klEstimates", "klShapedReward", "gae", "discountedReturns", "groupBroadcast", "groupPlace", "whiten"],
    options: 'maskMode "steps" where rewards fall through holes',
    replacedBy: "a row without kept tokens gets 0",
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("loss_mask");
      const there = leading(inputs.int32("response_lengths"), shape[1]);
      const live = inputs.uint8("loss_mask");
      const rows = { shape, mask: there, backend } as const;
      const estimator = inputs.string("advantage_estimator");
      const rewards = wide(inputs, "rewards");
      const coefficient = inputs.has("kl_coef") ? inputs.number("kl_coef") : 0;
      const named = inputs.has("kl_loss_type") ? inputs.oneOf("kl_loss_type", ["k1", "k2", "k3", "low_var_kl"]) : "k1";
      const kind = named === "low_var_kl" ? "k3" : named;
      const kl = klEstimates(wide(inputs, "log_probs"), wide(inputs, "ref_log_probs"), {
        ...rows,
        kind,
        ...(named === "low_var_kl" && { valueClamp: 10 }),
      }).values;
      const shaped = (mask: Uint8Array) => klShapedReward(rewards, kl, { ...rows, mask, klCoefficient: coefficient });
      const scan = () => {
        const gamma = inputs.has("gamma") ? inputs.number("gamma") : 1;
        if (estimator === "ppo") {
          const lambda = inputs.has("lambd") ? inputs.number("lambd") : 1;
          return gae(shaped(there), wide(inputs, "values"), { ...rows, gamma, lambda });
        }
        if (estimator === "reinforce_plus_plus") {
          const returns = discountedReturns(shaped(live), { ...rows, gamma });
          return { advantages: returns, returns };
        }
        const spread = groupBroadcast(rewards, rows);
        const advantages =
          estimator === "reinforce_plus_plus_baseline"
            ? klShapedReward(spread, kl, { ...rows, rewardLevel: "token", klCoefficient: coefficient })
            : spread;
        return { advantages, returns: advantages };
      };
      const { advantages, returns } = scan();
      let result: FloatArray = advantages;
      if (inputs.has("use_opd") && inputs.boolean("use_opd")) {
        const gap = klEstimates(wide(inputs, "log_probs"), wide(inputs, "teacher_log_probs"), {
          ...rows,
          kind: "k1",
        }).values;
        const scale = -(inputs.has("opd_kl_coef") ? inputs.number("opd_kl_coef") : 1);
        result = groupPlace({ tokens: result, values: gap }, { ...rows, scale });
      }
      if (inputs.has("normalize_advantages") && inputs.boolean("normalize_advantages"))
        result = whiten(result, { shape, mask: live, varianceEpsilon: 1e-8, transformMasked: true, backend }).map(
          (x, i) => (there[i] !== 0 ? x : 0),
        );
      return { advantages: result, returns };
    },
  },
  {
    family,
    function: "post_process_rewards",
    ours: "grpoAdvantage",
    options: "groupOffsets; scale",
    replacedBy: "groups by their ids, a group of one gives 0",
    run: (inputs, { backend }) => {
      const estimator = inputs.string("advantage_estimator");
      const rewards = inputs.floats("rewards");
      if (estimator === "ppo" || estimator === "reinforce_plus_plus") return { rewards };
      const scaled = estimator !== "reinforce_plus_plus_baseline" && inputs.boolean("grpo_std_normalization");
      const { rowAdvantages } = grpoAdvantage(
        { rewards, groups: blocks(rewards.length, inputs.number("n_samples_per_prompt")) },
        { scale: scaled ? "std" : "none", backend },
      );
      return { rewards: rowAdvantages };
    },
  },
];
