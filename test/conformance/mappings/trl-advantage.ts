// TRL: advantages from several reward functions, leave-one-out, PPO's preparation, distillation.
import {
  gammaWeights,
  type KlEstimator,
  miniLlmAdvantage,
  multiRewardAdvantage,
  ppoAdvantage,
  rlooWithKlAdvantage,
} from "surprisal";
import type { FloatArray, Inputs } from "../inputs";
import type { Mapping } from "../mapping";
import { offsetsOfSizes } from "./arrange";

/** One array per reward function. */
function rewardColumns(inputs: Inputs): FloatArray[] {
  const table = inputs.floats("rewards_per_func");
  const [, functions] = inputs.shape2("rewards_per_func");
  return Array.from({ length: functions }, (_, f) => table.filter((_, i) => i % functions === f));
}

/** Rewards in consecutive groups of one size. */
function rewarded(inputs: Inputs) {
  const [rows] = inputs.shape2("rewards_per_func");
  const size = inputs.number("num_generations");
  return { rewards: rewardColumns(inputs), groupOffsets: offsetsOfSizes(new Array<number>(rows / size).fill(size)) };
}

const aggregations = { sum_then_normalize: "sumThenNormalize", normalize_then_sum: "normalizeThenSum" } as const;

/** Up to and including the last real token of each row, whose index is −1 in an empty one. */
function responseMask(inputs: Inputs): Uint8Array {
  const last = inputs.int32("sequence_lengths");
  const [, T] = inputs.shape2("responses");
  return Uint8Array.from(inputs.int32("responses"), (_, i) => (i % T <= last[Math.floor(i / T)]! ? 1 : 0));
}

function inverse(mask: Uint8Array): Uint8Array {
  return mask.map((kept) => (kept === 0 ? 1 : 0));
}

export const trlAdvantage: readonly Mapping[] = [
  {
    family: "trl",
    function: "grpo_advantages",
    ours: "multiRewardAdvantage",
    options: 'preset "trl"',
    differs: "takes rewards as one table, not an array a reward function",
    run: (inputs, { backend }) => {
      const result = multiRewardAdvantage(rewarded(inputs), {
        preset: "trl",
        weights: inputs.numbers("reward_weights"),
        aggregation:
          aggregations[inputs.oneOf("multi_objective_aggregation", ["sum_then_normalize", "normalize_then_sum"])],
        scale: inputs.oneOf("scale_rewards", ["group", "batch", "none"] as const),
        backend,
      });
      return {
        advantages: result.advantages,
        rewards: result.rewards,
        std_rewards: result.stds,
        is_std_zero: result.zeroStd,
      };
    },
  },
  {
    family: "trl",
    function: "rloo_advantages",
    ours: "rlooWithKlAdvantage",
    options: 'preset "trl"',
    differs: "takes rewards as one table, not an array a reward function",
    run: (inputs, { backend }) => {
      const batch = {
        ...rewarded(inputs),
        oldLogProbs: inputs.floats("old_per_token_logps"),
        referenceLogProbs: inputs.floats("ref_per_token_logps"),
        mask: inputs.uint8("completion_mask"),
        shape: inputs.shape2("completion_mask"),
      };
      const { rowAdvantages } = rlooWithKlAdvantage(batch, {
        preset: "trl",
        weights: inputs.numbers("reward_weights"),
        ...(inputs.has("reward_clip_range") && { rewardClip: inputs.numbers("reward_clip_range") as [number, number] }),
        normalize: inputs.boolean("normalize_advantages"),
        beta: inputs.number("beta"),
        backend,
      });
      return { advantages: rowAdvantages };
    },
  },
  {
    family: "trl",
    function: "ppo_rewards_advantages",
    ours: "ppoAdvantage",
    options: 'preset "trl"',
    differs:
      "takes the index of the last token of a row, not a mask; gives masks of padding, the inverse of those here",
    run: (inputs, { backend }) => {
      const mask = responseMask(inputs);
      const result = ppoAdvantage(
        {
          shape: inputs.shape2("responses"),
          mask,
          tokens: inputs.int32("responses"),
          scores: inputs.floats("scores"),
          logProbs: inputs.floats("logprobs"),
          referenceLogProbs: inputs.floats("ref_logprobs"),
          values: inputs.floats("values"),
        },
        {
          preset: "trl",
          klEstimator: inputs.oneOf("kl_estimator", ["k1", "k3"] satisfies KlEstimator[]),
          klCoefficient: inputs.number("kl_coef"),
          whitenRewards: inputs.boolean("whiten_rewards"),
          gamma: inputs.number("gamma"),
          lambda: inputs.number("lam"),
          endToken: inputs.number("eos_token_id"),
          ...(inputs.has("missing_eos_penalty") && { missingEndPenalty: inputs.number("missing_eos_penalty") }),
          backend,
        },
      );
      const { advantages, returns, rewards, valueMask } = result;
      return { advantages, returns, rewards, padding_mask: inverse(mask), padding_mask_p1: inverse(valueMask) };
    },
  },
  {
    family: "trl",
    function: "get_gamma_weights",
    ours: "gammaWeights",
    options: 'factorsOver "all"',
    differs: "the shape is called k and the rate lambda",
    run: (inputs, { backend }) => {
      const of = (sign: "pos" | "neg") => ({
        shape: inputs.number(`k_${sign}`),
        rate: inputs.number(`lambda_${sign}`),
      });
      const { weights } = gammaWeights(inputs.floats("log_ratio_per_token"), inputs.floats("advantages"), {
        shape: inputs.shape2("mask"),
        mask: inputs.uint8("mask"),
        ...(inputs.has("importance_sampling_ratio") && { factors: inputs.floats("importance_sampling_ratio") }),
        factorsOver: "all",
        ...(inputs.has("k_pos") && { positive: of("pos"), negative: of("neg") }),
        backend,
      });
      return { phi_seq: weights };
    },
  },
  {
    family: "trl",
    function: "minillm_advantage",
    ours: "miniLlmAdvantage",
    options: 'preset "trl"',
    run: (inputs, { backend }) => {
      const { advantages } = miniLlmAdvantage(
        {
          shape: inputs.shape2("mask"),
          mask: inputs.uint8("mask"),
          studentLogProbs: inputs.floats("student_log_probs"),
          teacherLogProbs: inputs.floats("teacher_log_probs"),
        },
        {
          preset: "trl",
          gamma: inputs.number("gamma"),
          lengthNormalization: inputs.boolean("length_normalization"),
          backend,
        },
      );
      return { advantages };
    },
  },
];
