// SkyRL: advantages, weights, masks and metrics.
import {
  computeAdvantages,
  gae,
  groupFilter,
  grpoAdvantage,
  klEstimates,
  klShapedReward,
  moments,
  reinforcePlusPlusAdvantage,
  rlooAdvantage,
  whiten,
} from "surprisal";
import type { Inputs } from "../../inputs";
import type { Mapping, Outputs } from "../../mapping";

const family = "skyrl";

const layoutOf = (inputs: Inputs, name = "response_mask") =>
  ({ mask: inputs.uint8(name), shape: inputs.shape2(name) }) as const;
const outcomeOf = (inputs: Inputs) => ({
  tokenRewards: inputs.floats("token_level_rewards"),
  ...layoutOf(inputs),
  groups: inputs.int32("index"),
});
const both = ({ advantages, returns }: { readonly advantages: unknown; readonly returns: unknown }): Outputs => ({
  advantages,
  returns,
});

export const skyrlAdvantages: readonly Mapping[] = [
  {
    family,
    function: "apply_reward_kl_penalty",
    ours: ["klShapedReward", "klEstimates", "moments"],
    options: 'rewardLevel "token", over "all"',
    run: (inputs, { backend }) => {
      const where = { ...layoutOf(inputs, "loss_mask"), backend };
      const kind = inputs.oneOf("kl_estimator_type", ["abs", "k1", "k2", "k3"]);
      const kl = (of: typeof kind) =>
        klEstimates(inputs.floats("action_log_probs"), inputs.floats("base_action_log_probs"), {
          ...where,
          kind: of,
          ...(of === "k3" && { logClamp: 20, valueClamp: 10 }),
        }).values;
      const figures = (values: ReturnType<typeof kl>) => moments(values, { ...where, over: "row" });
      const rows = (values: Float64Array) => moments(values.map((x) => (Number.isFinite(x) ? x : 0))).means[0]!;
      return {
        rewards: klShapedReward(inputs.floats("rewards"), kl(kind), {
          ...where,
          rewardLevel: "token",
          over: "all",
          klCoefficient: inputs.number("kl_loss_coef"),
        }),
        metrics: {
          avg_kl: rows(figures(kl(kind)).means),
          avg_kl_max: rows(figures(kl(kind === "k1" ? "abs" : kind)).maxs),
          kl_loss_coef: inputs.number("kl_loss_coef"),
        },
      };
    },
  },
  {
    family,
    function: "compute_gae_advantage_return",
    ours: ["gae", "whiten"],
    options: "no mask in the scan; whiten over the mask with transformMasked",
    run: (inputs, { backend }) => {
      const { shape, mask } = layoutOf(inputs);
      const { advantages, returns } = gae(
        Float64Array.from(inputs.floats("token_level_rewards")),
        Float64Array.from(inputs.floats("values")),
        { shape, gamma: inputs.number("gamma"), lambda: inputs.number("lambd"), backend },
      );
      return { advantages: whiten(advantages, { shape, mask, transformMasked: true, backend }), returns };
    },
  },
  {
    family,
    function: "compute_grpo_outcome_advantage",
    ours: "grpoAdvantage",
    options: 'singleton "raw"',
    run: (inputs, { backend }) =>
      both(
        grpoAdvantage(outcomeOf(inputs), {
          scale: inputs.boolean("grpo_norm_by_std") ? "std" : "none",
          epsilon: inputs.number("epsilon"),
          singleton: "raw",
          backend,
        }),
      ),
  },
  {
    family,
    function: "compute_maxrl_advantage",
    ours: "computeAdvantages",
    options: '"maxRl", scale "signedMean", singleton "raw"',
    replacedBy: 'scale "mean": 0 where the mean is not above 0',
    run: (inputs, { backend }) =>
      both(
        computeAdvantages("maxRl", outcomeOf(inputs), {
          scale: "signedMean",
          epsilon: inputs.number("epsilon"),
          singleton: "raw",
          backend,
        }),
      ),
  },
  {
    family,
    function: "compute_reinforce_plus_plus_outcome_advantage",
    ours: "reinforcePlusPlusAdvantage",
    options: 'maskMode "cut", transformMasked',
    run: (inputs, { backend }) =>
      both(
        reinforcePlusPlusAdvantage(
          { tokenRewards: inputs.floats("token_level_rewards"), ...layoutOf(inputs) },
          { gamma: inputs.number("gamma"), maskMode: "cut", transformMasked: true, backend },
        ),
      ),
  },
  {
    family,
    function: "compute_rloo_outcome_advantage",
    ours: "rlooAdvantage",
    options: 'singleton "zero"',
    run: (inputs, { backend }) => both(rlooAdvantage(outcomeOf(inputs), { singleton: "zero", backend })),
  },
  {
    family,
    function: "normalize_advantages_batch",
    ours: "whiten",
    options: "ddof 0, varianceFloor 1e-8, transformMasked",
    replacedBy: "mean and variance over the kept tokens",
    run: (inputs, { backend }) => ({
      advantages: whiten(inputs.floats("advantages"), {
        ...layoutOf(inputs),
        ddof: 0,
        varianceFloor: 1e-8,
        transformMasked: true,
        backend,
      }),
    }),
  },
  {
    family,
    function: "zero_variance_filter",
    ours: "groupFilter",
    options: "live, tolerance",
    backendFree: true,
    run: (inputs) => ({
      kept: groupFilter(inputs.floats("rewards"), {
        groups: inputs.int32("index"),
        ...(inputs.has("live") && { live: inputs.uint8("live") }),
        tolerance: inputs.number("tol"),
      }).rows,
    }),
  },
];
