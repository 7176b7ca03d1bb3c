// Shaped rewards, as the trainers shape them.
import { klShapedReward, logRatio, overlongPenalty, repetitionPenalty, stopProperlyPenalty } from "surprisal";
import type { Inputs } from "../inputs";
import type { Context, Mapping, Outputs } from "../mapping";
import { offsetsOfSizes, unpack } from "./arrange";

const dropped = "the reward of a row without a kept token is dropped";

function bounds(inputs: Inputs, name: string): { rewardClip?: readonly [number, number] } {
  if (!inputs.has(name)) return {};
  const [low, high] = inputs.numbers(name);
  return { rewardClip: [low!, high!] };
}

/** 1 for the first `count` tokens of each row. */
function leading(counts: readonly number[], offsets: Int32Array): Uint8Array {
  const mask = new Uint8Array(offsets[counts.length]!);
  counts.forEach((count, b) => mask.fill(1, offsets[b], offsets[b]! + count));
  return mask;
}

function overlong(
  inputs: Inputs,
  preset: "verl-2026-01" | "openrlhf" | "lightrft",
  names: { rewards: string; lengths: string; max: string; buffer: string; factor: string },
) {
  return overlongPenalty(inputs.floats(names.rewards), inputs.int32(names.lengths), {
    preset,
    maxLength: inputs.number(names.max),
    buffer: inputs.number(names.buffer),
    factor: inputs.number(names.factor),
  });
}

function padded(
  inputs: Inputs,
  { backend }: Context,
  preset: "openrlhf" | "lightrft",
  names: { rewards: string; mask: string; clip: string },
) {
  return klShapedReward(inputs.floats(names.rewards), inputs.floats("kl"), {
    preset,
    klCoefficient: inputs.number("kl_coef"),
    shape: inputs.shape2("kl"),
    mask: inputs.uint8(names.mask),
    ...bounds(inputs, names.clip),
    backend,
  });
}

const verl: readonly Mapping[] = [
  {
    family: "verl",
    function: "compute_rewards",
    ours: ["klShapedReward", "logRatio"],
    options: 'preset "verl-2026-01", rewardLevel "token"',
    differs: "takes the two log-probs, not their difference",
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("token_level_scores");
      const { logRatios } = logRatio(inputs.floats("old_log_prob"), inputs.floats("ref_log_prob"), {
        level: "token",
        shape,
        backend,
      });
      const rewards = klShapedReward(inputs.floats("token_level_scores"), logRatios, {
        preset: "verl-2026-01",
        rewardLevel: "token",
        klCoefficient: inputs.number("kl_ratio"),
        shape,
        backend,
      });
      return { rewards };
    },
  },
  {
    family: "verl",
    function: "dapo_overlong_penalty",
    ours: "overlongPenalty",
    options: 'preset "verl-2026-01"',
    backendFree: true,
    run: (inputs) => {
      const { rewards } = overlong(inputs, "verl-2026-01", {
        rewards: "scores",
        lengths: "response_lengths",
        max: "max_resp_len",
        buffer: "overlong_buffer_len",
        factor: "overlong_penalty_factor",
      });
      return { rewards };
    },
  },
];

const trl: readonly Mapping[] = [
  {
    family: "trl",
    function: "get_repetition_penalty_reward",
    ours: "repetitionPenalty",
    differs: "gives the penalties alone, which here are a field",
    backendFree: true,
    run: (inputs) => {
      const rows = inputs.list("completion_ids") as readonly (readonly number[])[];
      const { penalties } = repetitionPenalty(new Float64Array(rows.length), rows.flat(), {
        offsets: offsetsOfSizes(rows.map((row) => row.length)),
        ngram: inputs.number("ngram_size"),
        maxPenalty: inputs.number("max_penalty"),
      });
      return { rewards: penalties };
    },
  },
  {
    family: "trl",
    function: "get_soft_overlong_punishment",
    ours: "overlongPenalty",
    options: 'preset "trl"',
    differs: "gives the penalties alone, which here are a field",
    backendFree: true,
    run: (inputs) => {
      const lengths = inputs.numbers("completion_lengths");
      const { penalties } = overlongPenalty(new Float64Array(lengths.length), lengths, {
        preset: "trl",
        maxLength: inputs.number("max_completion_len"),
        buffer: inputs.number("soft_punish_cache"),
      });
      return { rewards: penalties };
    },
  },
];

const openrlhf: readonly Mapping[] = [
  {
    family: "openrlhf",
    function: "compute_reward",
    ours: "klShapedReward",
    options: 'preset "openrlhf"',
    replacedBy: dropped,
    run: (inputs, context): Outputs => ({
      reward: padded(inputs, context, "openrlhf", { rewards: "r", mask: "action_mask", clip: "reward_clip_range" }),
    }),
  },
  {
    family: "openrlhf",
    function: "apply_overlong_penalty",
    ours: "overlongPenalty",
    options: 'preset "openrlhf"',
    backendFree: true,
    run: (inputs) => {
      const { rewards, penalized } = overlong(inputs, "openrlhf", {
        rewards: "rewards",
        lengths: "response_length",
        max: "max_new_tokens",
        buffer: "overlong_buffer_len",
        factor: "overlong_penalty_factor",
      });
      return { rewards, num_penalized: penalized };
    },
  },
  {
    family: "openrlhf",
    function: "apply_stop_properly_penalty",
    ours: "stopProperlyPenalty",
    backendFree: true,
    run: (inputs) => {
      const coefficient = inputs.number("stop_properly_penalty_coef");
      const { rewards, truncated } = stopProperlyPenalty(inputs.floats("rewards"), inputs.uint8("truncated"), {
        coefficient,
      });
      return { rewards, num_truncated: truncated };
    },
  },
];

const lightrft: readonly Mapping[] = [
  {
    family: "lightrft",
    function: "kl_shaped_reward",
    ours: "klShapedReward",
    options: 'preset "lightrft"',
    replacedBy: dropped,
    run: (inputs, context) => ({
      token_rewards: padded(inputs, context, "lightrft", { rewards: "reward", mask: "mask", clip: "reward_clip" }),
    }),
  },
  {
    family: "lightrft",
    function: "kl_shaped_reward_packed",
    ours: "klShapedReward",
    options: 'preset "lightrft", offsets',
    run: (inputs, { backend }) => {
      const { values, offsets } = inputs.packedFloats("kl");
      const tokenRewards = klShapedReward(inputs.floats("reward"), values, {
        preset: "lightrft",
        klCoefficient: inputs.number("kl_coef"),
        offsets,
        mask: leading(inputs.numbers("num_actions"), offsets),
        ...bounds(inputs, "reward_clip"),
        backend,
      });
      return { token_rewards: unpack(tokenRewards, offsets) };
    },
  },
  {
    family: "lightrft",
    function: "overlong_penalty",
    ours: "overlongPenalty",
    options: 'preset "lightrft"',
    differs: "has a switch; here the caller decides",
    backendFree: true,
    run: (inputs) => {
      if (!inputs.boolean("enabled")) return { rewards: inputs.floats("rewards") };
      const { rewards } = overlong(inputs, "lightrft", {
        rewards: "rewards",
        lengths: "lengths",
        max: "max_new_tokens",
        buffer: "buffer",
        factor: "factor",
      });
      return { rewards };
    },
  },
];

export const shaping: readonly Mapping[] = [...verl, ...trl, ...openrlhf, ...lightrft];
