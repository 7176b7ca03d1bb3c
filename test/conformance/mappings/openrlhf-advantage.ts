// OpenRLHF: the pipeline from rewards of rows to normalised advantages.
import { advantagePipeline, type PipelineEstimator } from "surprisal";
import type { FloatArray, Inputs } from "../inputs";
import type { Mapping } from "../mapping";
import { offsetsOfSizes, unpack } from "./arrange";

const words: Readonly<Record<string, PipelineEstimator>> = {
  gae: "gae",
  reinforce: "reinforcePlusPlus",
  rloo: "rloo",
  reinforce_baseline: "reinforcePlusPlusBaseline",
  group_norm: "grpo",
  dr_grpo: "grpo",
};

/** Rows sorted by their position; as many of them in a row as there are samples make a group. */
function groupsOf(inputs: Inputs): Int32Array {
  return inputs.int32("index").map((position) => Math.floor(position / inputs.number("n_samples_per_prompt")));
}

/** Micro-batches of consecutive rows. */
function microBatches(inputs: Inputs) {
  const rows = offsetsOfSizes(inputs.numbers("micro_batch_sizes"));
  const [, T] = inputs.shape2("action_mask");
  const tokens = rows.map((row) => row * T);
  const floats = (name: string, offsets: Int32Array) => unpack<FloatArray>(inputs.floats(name), offsets);
  const [rewards, kl, values] = [floats("rewards", rows), floats("kl", tokens), floats("values", tokens)];
  const masks = unpack(inputs.uint8("action_mask"), tokens);
  return masks.map((mask, i) => ({
    shape: [rewards[i]!.length, T] as const,
    mask,
    rewards: rewards[i]!,
    kl: kl[i]!,
    values: values[i]!,
  }));
}

function joined(arrays: readonly FloatArray[]): number[] {
  return arrays.flatMap((array) => Array.from(array));
}

export const openrlhfAdvantage: readonly Mapping[] = [
  {
    family: "openrlhf",
    function: "compute_advantages_and_returns",
    ours: "advantagePipeline",
    options: 'preset "openrlhf"',
    differs: "groups are of one size, by the position of a sample",
    run: (inputs, { backend }) => {
      const { batches } = advantagePipeline(microBatches(inputs), {
        preset: "openrlhf",
        estimator: words[inputs.string("estimator")]!,
        groupScale: inputs.string("estimator") === "dr_grpo" ? "none" : "std",
        groups: groupsOf(inputs),
        gamma: inputs.number("gamma"),
        lambda: inputs.number("lambd"),
        klCoefficient: inputs.number("kl_coef"),
        ...(inputs.has("reward_clip_range") && { rewardClip: inputs.numbers("reward_clip_range") as [number, number] }),
        scale: inputs.boolean("no_std_norm") ? "none" : "std",
        backend,
      });
      return {
        advantages: joined(batches.map((batch) => batch.advantages)),
        returns: joined(batches.map((batch) => batch.returns)),
      };
    },
  },
];
