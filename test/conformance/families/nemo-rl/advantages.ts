// NeMo-RL: advantages, weights, masks and metrics.
import {
  computeAdvantages,
  countKept,
  finiteMask,
  gae,
  groupBroadcast,
  groupNormalize,
  groupPlace,
  grpoAdvantage,
  klEstimates,
  klShapedReward,
  lambdaOfLength,
  mergeMoments,
  moments,
  multiRewardAdvantage,
  overlongPenalty,
  stopProperlyPenalty,
  whiten,
} from "surprisal";
import type { FloatArray, Inputs } from "../../inputs";
import type { Mapping } from "../../mapping";
import { matrixRows } from "../arrange";

const family = "nemo-rl";

const wide = (inputs: Inputs, name: string): Float64Array => Float64Array.from(inputs.floats(name));
const rowsOf = (inputs: Inputs) => ({ shape: inputs.shape2("mask"), mask: inputs.uint8("mask") }) as const;

const conventions = (inputs: Inputs) => ({
  center: inputs.boolean("use_leave_one_out_baseline") ? ("leaveOneOut" as const) : ("mean" as const),
  scale: !inputs.boolean("normalize_rewards")
    ? ("none" as const)
    : inputs.boolean("use_leave_one_out_baseline")
      ? ("others" as const)
      : ("std" as const),
});

function klOf(
  inputs: Inputs,
  names: readonly [string, string],
  everywhere: boolean,
  backend: Parameters<Mapping["run"]>[1]["backend"],
) {
  const kind = inputs.oneOf("kl_type", ["k1", "k2", "k3"]);
  return klEstimates(wide(inputs, names[0]), wide(inputs, names[1]), {
    shape: rowsOf(inputs).shape,
    ...(!everywhere && { mask: rowsOf(inputs).mask }),
    kind,
    logClamp: 20,
    valueClamp: 10,
    backend,
  }).values;
}

export const nemoRlAdvantages: readonly Mapping[] = [
  {
    family,
    function: "mask_out_neg_inf_logprobs",
    ours: "finiteMask",
    options: 'drops "infinite"',
    backendFree: true,
    run: (inputs) => ({
      logprobs: finiteMask(inputs.floats("logprobs"), {
        shape: inputs.shape2("mask"),
        mask: inputs.uint8("mask"),
        drops: "infinite",
      }).values,
    }),
  },
  {
    family,
    function: "GDPOAdvantageEstimator",
    ours: "multiRewardAdvantage",
    options: 'aggregation "normalizeThenSum", functionConventions center "leaveOneOut", scale "others", finalEpsilon 0',
    run: (inputs, { backend }) => ({
      advantages: multiRewardAdvantage(
        { rewards: matrixRows(wide(inputs, "rewards"), inputs.shape2("rewards")), groups: inputs.int32("index") },
        {
          aggregation: "normalizeThenSum",
          functionConventions: conventions(inputs),
          finalEpsilon: 0,
          ...(inputs.has("reward_weights") && { weights: inputs.numbers("reward_weights") }),
          backend,
        },
      ).rowAdvantages,
    }),
  },
  {
    family,
    function: "GRPOAdvantageEstimator",
    ours: "grpoAdvantage",
    options: 'center "leaveOneOut", scale "others"',
    differs: "one number a row: masked tokens get it, too",
    run: (inputs, { backend }) => ({
      advantages: grpoAdvantage(
        { rewards: wide(inputs, "rewards"), groups: inputs.int32("index") },
        { ...conventions(inputs), backend },
      ).rowAdvantages,
    }),
  },
  {
    family,
    function: "GeneralizedAdvantageEstimator",
    ours: ["gae", "klShapedReward", "lambdaOfLength", "whiten"],
    options: "two scans: λ of the critic, λ of the policy (lambdaOfLength)",
    run: (inputs, { backend }) => {
      const rows = { ...rowsOf(inputs), backend };
      const kl = inputs.has("logprobs")
        ? klOf(inputs, ["logprobs", "reference_logprobs"], false, backend)
        : new Float64Array(rows.mask.length);
      const rewards = klShapedReward(wide(inputs, "rewards"), kl, { ...rows, klCoefficient: inputs.number("kl_coef") });
      const lambda = (name: string) => (inputs.has(name) ? inputs.number(name) : inputs.number("gae_lambda"));
      const alpha = inputs.number("length_adaptive_alpha");
      const scan = (of: number | FloatArray, transformMasked: boolean) =>
        gae(rewards, wide(inputs, "values"), {
          ...rows,
          gamma: inputs.number("gae_gamma"),
          lambda: of,
          transformMasked,
        });
      const { returns } = scan(lambda("gae_lambda_value"), true);
      const { advantages } = scan(
        alpha > 0 ? lambdaOfLength(countKept(rows), { alpha }) : lambda("gae_lambda_policy"),
        false,
      );
      const normalized = inputs.boolean("normalize_advantages")
        ? whiten(advantages, { ...rows, epsilon: 0, varianceEpsilon: 1e-8, countEpsilon: 1e-8 })
        : advantages;
      return { advantages: normalized, returns };
    },
  },
  {
    family,
    function: "OPDAdvantageEstimator",
    ours: ["computeAdvantages", "moments"],
    options: '"opd"',
    run: (inputs, { backend }) => {
      const rows = { ...rowsOf(inputs), backend };
      const batch = {
        ...rowsOf(inputs),
        teacherLogProbs: wide(inputs, "teacher_logprobs"),
        studentLogProbs: wide(inputs, "prev_logprobs"),
      };
      const { advantages } = computeAdvantages("opd", batch, { backend });
      const figures = mergeMoments(moments(advantages, { ...rows, over: "row" }), { backend });
      return {
        advantages,
        metrics: {
          "on_policy_distillation/adv_mean": figures.means[0],
          "on_policy_distillation/adv_std": figures.stds()[0],
          "on_policy_distillation/teacher_student_logprob_gap_mean": figures.means[0],
        },
      };
    },
  },
  {
    family,
    function: "RawRewardAdvantageEstimator",
    ours: ["groupBroadcast", "whiten"],
    options: "ddof 0, varianceFloor 1e-8, transformMasked",
    run: (inputs, { backend }) => {
      const rows = { ...rowsOf(inputs), backend };
      const tokens = groupBroadcast(wide(inputs, "rewards"), { shape: rows.shape, backend });
      if (!inputs.boolean("normalize_advantages")) return { advantages: tokens };
      return { advantages: whiten(tokens, { ...rows, ddof: 0, varianceFloor: 1e-8, transformMasked: true }) };
    },
  },
  {
    family,
    function: "ReinforcePlusPlusAdvantageEstimator",
    ours: ["grpoAdvantage", "groupBroadcast", "klEstimates", "groupPlace", "whiten"],
    options: "ddof 0, varianceFloor 1e-8, transformMasked",
    run: (inputs, { backend }) => {
      const rows = { ...rowsOf(inputs), backend };
      const rewards = wide(inputs, "rewards");
      const centred = inputs.boolean("minus_baseline")
        ? grpoAdvantage({ rewards, groups: inputs.int32("index") }, { scale: "none", backend }).rowAdvantages
        : rewards;
      let tokens: FloatArray = groupBroadcast(centred, { shape: rows.shape, backend });
      if (inputs.has("logprobs_policy")) {
        const values = klOf(inputs, ["logprobs_policy", "logprobs_reference"], true, backend);
        tokens = groupPlace({ tokens, values }, { shape: rows.shape, scale: -inputs.number("kl_coef"), backend });
      }
      return { advantages: whiten(tokens, { ...rows, ddof: 0, varianceFloor: 1e-8, transformMasked: true }) };
    },
  },
  {
    family,
    function: "apply_reward_shaping",
    ours: ["overlongPenalty", "stopProperlyPenalty"],
    options: 'beyond "grow"',
    backendFree: true,
    run: (inputs) => {
      const rewards = wide(inputs, "rewards");
      if (inputs.has("stop_properly_penalty_coef"))
        return {
          rewards: stopProperlyPenalty(rewards, inputs.uint8("truncated"), {
            coefficient: inputs.number("stop_properly_penalty_coef"),
          }).rewards,
        };
      return {
        rewards: overlongPenalty(rewards, inputs.int32("response_lengths"), {
          maxLength: inputs.number("max_response_length"),
          buffer: inputs.number("overlong_buffer_length"),
          factor: inputs.number("overlong_buffer_penalty"),
          beyond: "grow",
        }).rewards,
      };
    },
  },
  {
    family,
    function: "calculate_baseline_and_std_per_prompt",
    ours: "groupNormalize",
    options: 'center "leaveOneOut", scale "others", weights, out.centers, out.spreads',
    replacedBy: "a row that is not valid itself is compared with all valid rows of its group",
    run: (inputs, { backend }) => {
      const rewards = wide(inputs, "rewards");
      const out = { centers: new Float64Array(rewards.length), spreads: new Float64Array(rewards.length) };
      const others = inputs.boolean("leave_one_out_baseline");
      groupNormalize(rewards, {
        groups: inputs.int32("index"),
        weights: Float64Array.from(inputs.uint8("valid_mask")),
        center: others ? "leaveOneOut" : "mean",
        scale: others ? "others" : "std",
        out,
        backend,
      });
      return { baseline: out.centers, std: out.spreads };
    },
  },
];
