// LightRFT: rewards shaped within groups, running moments, estimators, the pipeline of them.
import {
  advantagePipeline,
  clipFilterWeights,
  clipFraction,
  cpgdAdvantage,
  estimateAdvantages,
  momentStatistics,
  NO_MOMENTS,
  type PipelineEstimator,
  type RunningMoments,
  shapeGroupRewards,
  updateRunningMoments,
} from "surprisal";
import type { GoldenRecord } from "../golden";
import { Inputs } from "../inputs";
import type { Mapping } from "../mapping";
import { offsetsOfSizes, unpack } from "./arrange";

const words: Readonly<Record<string, PipelineEstimator>> = {
  gae: "gae",
  reinforce: "reinforcePlusPlus",
  rloo: "rloo",
  reinforce_baseline: "reinforcePlusPlusBaseline",
  group_norm: "grpo",
  grpo: "grpo",
  cpgd: "cpgd",
};

/** Other words go through, to be refused. */
function estimatorOf(inputs: Inputs): PipelineEstimator {
  const word = inputs.string("estimator");
  return words[word] ?? (word as PipelineEstimator);
}

function consecutive(rows: number, size: number): Int32Array {
  return offsetsOfSizes(new Array<number>(rows / size).fill(size));
}

/** The fields of a list of records, one reader an item. */
function items(inputs: Inputs, ...names: readonly string[]): Inputs[] {
  return inputs.list(names[0]!).map((_, i) => {
    const record: Record<string, unknown> = {};
    for (const name of names) record[name] = inputs.list(name)[i];
    return new Inputs(record as GoldenRecord);
  });
}

const oneIsZero = "a group of one has nothing to be compared with: 0";

export const lightrftAdvantage: readonly Mapping[] = [
  {
    family: "lightrft",
    function: "group_reward_shaping",
    ours: "shapeGroupRewards",
    options: "epsilon 1e-8",
    replacedBy: ({ name }) =>
      name.endsWith("rejected") ? "every estimator has its shaping; gae and reinforce have none" : oneIsZero,
    run: (inputs, { backend }) => {
      const rewards = inputs.floats("rewards");
      const size = inputs.number("samples_per_prompt");
      const groupOffsets = consecutive(rewards.length, size);
      const shaped = shapeGroupRewards(rewards, {
        estimator: estimatorOf(inputs),
        epsilon: 1e-8,
        groupOffsets,
        backend,
      });
      // The flat result is cut into as many pieces as there are experiences.
      const pieces = unpack(shaped.rewards, consecutive(rewards.length, rewards.length / inputs.number("experiences")));
      return { rewards: shaped.rewards, chunk_sizes: pieces.map((piece) => piece.length) };
    },
  },
  {
    family: "lightrft",
    function: "estimator_reward_preprocessing",
    ours: "shapeGroupRewards",
    options: 'preset "lightrft", keptGroups in the mask',
    replacedBy: oneIsZero,
    run: (inputs, { backend }) => {
      const rewards = inputs.floats("rewards");
      const mask = inputs.uint8("mask");
      const shaped = shapeGroupRewards(rewards, {
        preset: "lightrft",
        estimator: estimatorOf(inputs),
        groupOffsets: consecutive(rewards.length, inputs.number("samples_per_prompt")),
        shape: inputs.shape2("mask"),
        mask,
        backend,
      });
      return { rewards: shaped.rewards, masks: inputs.boolean("dynamic_sampling") ? shaped.mask : mask };
    },
  },
  {
    family: "lightrft",
    function: "estimator_advantages",
    ours: ["estimateAdvantages", "cpgdAdvantage"],
    options: 'preset "lightrft"; cpgdAdvantage where sequence rewards are given',
    differs: "no clip fraction where no clip is given, except for gae",
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
    replacedBy: ({ name }) =>
      name.startsWith("cpgd")
        ? "one reward per row is its score"
        : "the clip fraction is measured before the clip; a single token is whitened to 0",
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("mask");
      const mask = inputs.uint8("mask");
      if (inputs.has("sequence_rewards")) {
        const perToken = inputs.shape2("sequence_rewards")[1] > 1;
        const rewards = inputs.floats("sequence_rewards");
        const given = perToken ? { tokenRewards: rewards } : { rewards };
        const { advantages } = cpgdAdvantage({ ...given, shape, mask }, { backend });
        return { advantages, returns: advantages, clip_fraction: null };
      }
      const clip = inputs.number("advantage_clip");
      const estimator = estimatorOf(inputs);
      const result = estimateAdvantages(
        {
          shape,
          mask,
          tokenRewards: inputs.floats("rewards"),
          ...(inputs.has("values") && { values: inputs.floats("values") }),
        },
        {
          preset: "lightrft",
          estimator,
          gamma: inputs.number("gamma"),
          lambda: inputs.number("lambda"),
          whiten: inputs.boolean("whiten"),
          ...(clip > 0 && { advantageClip: clip }),
          backend,
        },
      );
      // Upstream has no fraction where nothing is clipped, but for gae.
      const reported = clip > 0 || estimator === "gae";
      return { ...result, clip_fraction: reported ? result.clipFraction : null };
    },
  },
  {
    family: "lightrft",
    function: "cpgd_advantages",
    ours: "cpgdAdvantage",
    run: (inputs, { backend }) => {
      const weightings: Readonly<Record<string, "std" | "clipFilter">> = {
        STD_weight: "std",
        clip_filter_like_weight: "clipFilter",
      };
      const { advantages } = cpgdAdvantage(
        { tokenRewards: inputs.floats("rewards"), shape: inputs.shape2("mask"), mask: inputs.uint8("mask") },
        {
          weighting: weightings[inputs.string("weighting")] ?? "none",
          epsilon: inputs.number("epsilon"),
          backend,
        },
      );
      return { advantages, returns: advantages };
    },
  },
  {
    family: "lightrft",
    function: "clip_filter_weights",
    ours: "clipFilterWeights",
    run: (inputs, { backend }) => {
      const [groups, size] = inputs.shape2("rewards");
      const { weights } = clipFilterWeights(inputs.floats("rewards"), {
        groupOffsets: offsetsOfSizes(new Array<number>(groups).fill(size)),
        clip: inputs.number("clip"),
        degenerateWeight: inputs.number("lambda"),
        backend,
      });
      return { weights };
    },
  },
  {
    family: "lightrft",
    function: "clip_fraction",
    ours: "clipFraction",
    differs: "the fraction is repeated for each element",
    run: (inputs, { backend }) => {
      const fraction = clipFraction(inputs.floats("values"), {
        low: inputs.number("min"),
        high: inputs.number("max"),
        backend,
      });
      return { fraction: new Array<number>(inputs.shape("values")[0]!).fill(fraction) };
    },
  },
  {
    family: "lightrft",
    function: "running_moments",
    ours: ["updateRunningMoments", "momentStatistics"],
    differs: "the state lies in an object; here it is an argument and a result",
    backendFree: true,
    replacedBy: "the std of one number is 0, not infinite",
    run: (inputs) => {
      let moments: RunningMoments = NO_MOMENTS;
      const steps = inputs.floatRows("batches").map((values) => {
        const update = updateRunningMoments(moments, values);
        moments = update.moments;
        const batch = momentStatistics(update.batch);
        const { mean, variance, std } = momentStatistics(moments);
        return { batch_mean: batch.mean, batch_std: batch.std, mean, var: variance, std, count: moments.count };
      });
      return { steps };
    },
  },
  {
    family: "lightrft",
    function: "advantage_pipeline",
    ours: "advantagePipeline",
    options: 'preset "lightrft"',
    differs: "no clip fraction where no clip of the rewards is given",
    replacedBy: "gamma is the same in every batch",
    run: (inputs, { backend }) => {
      const clip = inputs.number("reward_clip");
      const advantageClip = inputs.number("advantage_clip");
      const experiences = items(inputs, "masks", "rewards", "kl", ...(inputs.has("values") ? ["values"] : []));
      const batches = experiences.map((experience) => ({
        shape: experience.shape2("masks"),
        mask: experience.uint8("masks"),
        rewards: experience.floats("rewards"),
        kl: experience.floats("kl"),
        ...(experience.has("values") && { values: experience.floats("values") }),
      }));
      const result = advantagePipeline(batches, {
        preset: "lightrft",
        estimator: estimatorOf(inputs),
        shapeGroups: false,
        gamma: inputs.number("gamma"),
        lambda: inputs.number("lambda"),
        klCoefficient: inputs.number("kl_coef"),
        ...(clip > 0 && { rewardClip: [-clip, clip] as const }),
        ...(inputs.boolean("running_norm") && { runningMoments: NO_MOMENTS }),
        subtractRunningMean: inputs.boolean("running_norm_subtracts_mean"),
        whiten: inputs.boolean("whiten"),
        ...(advantageClip > 0 && { advantageClip }),
        backend,
      });
      return {
        advantages: result.batches.map((batch) => batch.advantages),
        returns: result.batches.map((batch) => batch.returns),
        sequence_return: result.batches.map((batch) => batch.sequenceReturns),
        reward_clip_fraction: result.batches.map((batch) => (clip > 0 ? batch.rewardClipFraction : null)),
      };
    },
  },
];
