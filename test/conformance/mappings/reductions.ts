// Masked statistics, whitening and the aggregation of losses, of every framework.
import {
  aggregateLoss,
  type AggregationName,
  groupNormalize,
  logprob,
  logprobBackward,
  moments,
  negativeLogLikelihood,
  whiten,
  type WhitenConventions,
} from "surprisal";
import { isGoldenArray } from "../golden";
import type { Inputs } from "../inputs";
import type { Context, Mapping, Outputs } from "../mapping";
import { transpose, transposeMask, unpack } from "./arrange";
import { float32Logits } from "./tensors";

const nothing = "nothing kept: the loss is 0, and so is its gradient";
const notRead = "what lies under the mask is not read and spreads nowhere";

function whitened(inputs: Inputs, { backend }: Context, conventions: WhitenConventions): Outputs {
  const values = inputs.floats("values");
  const layout = { shape: inputs.shape2("mask"), mask: inputs.uint8("mask"), backend } as const;
  const all = moments(values, layout);
  const keepMean = !inputs.boolean("shift_mean");
  return {
    whitened: whiten(values, { ...layout, ...conventions, varianceEpsilon: 1e-8, keepMean, transformMasked: true }),
    mean: all.means[0],
    var: all.variances()[0],
  };
}

/** The counts of the larger batch that a case knows. */
export function verlCounts(inputs: Inputs) {
  return {
    ...(inputs.has("batch_num_tokens") && { tokens: inputs.number("batch_num_tokens") }),
    ...(inputs.has("global_batch_size") && { rows: inputs.number("global_batch_size") }),
    ...(inputs.has("loss_scale_factor") && { length: inputs.number("loss_scale_factor") }),
    ...(inputs.has("dp_size") && { workers: inputs.number("dp_size") }),
  };
}

/** The presets of verl as it was in January 2026, and as it is now. */
export type VerlEdition = "verl" | "verl-2026-01";

/** The aggregation of a case. */
export function verlMode(inputs: Inputs, edition: VerlEdition): AggregationName {
  const words = ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"] as const;
  if (edition === "verl" && inputs.string("loss_agg_mode") === "token-sum") return "verl/token-sum";
  return `${edition}/${inputs.oneOf("loss_agg_mode", words)}`;
}

/** Values and mask with the reduced dimension last: null reduces everything. */
function alongDimension(inputs: Inputs, name: string, dimension: number | null) {
  const [rows, columns] = inputs.shape2(name);
  const mask = inputs.has("mask") ? inputs.uint8("mask") : undefined;
  const across = dimension === 0;
  return {
    values: across ? transpose(inputs.floats(name), [rows, columns]) : inputs.floats(name),
    layout: {
      shape: across ? ([columns, rows] as const) : ([rows, columns] as const),
      ...(mask && { mask: across ? transposeMask(mask, [rows, columns]) : mask }),
      over: dimension === null ? "all" : "row",
    } as const,
  };
}

/** Rows of one or two dimensions, one behind the other; a missing mask is all 1. */
function joined(inputs: Inputs) {
  const arrays = inputs.list("advantages").filter(isGoldenArray);
  const offsets = Int32Array.from([0, ...arrays.map(({ data }) => data.length)]);
  for (let k = 1; k < offsets.length; ++k) offsets[k]! += offsets[k - 1]!;
  const values = new Float32Array(offsets[arrays.length]!);
  const mask = new Uint8Array(values.length).fill(1);
  arrays.forEach(({ data }, k) => values.set(data, offsets[k]));
  inputs.list("masks").forEach((own, k) => isGoldenArray(own) && mask.set(own.data, offsets[k]));
  return { values, mask, offsets };
}

const NORMALIZED = new Set(["gae", "reinforce", "reinforce_baseline"]);

function acrossBatches(inputs: Inputs, { backend }: Context, scale: "std" | "none"): Outputs {
  const { values, mask, offsets } = joined(inputs);
  const options = { offsets, mask, over: "all", ddof: 0, varianceFloor: 1e-8, transformMasked: true } as const;
  return { advantages: unpack(whiten(values, { ...options, scale, backend }), offsets) };
}

/** Of both editions of verl. */
export function verlReductions(family: string, edition: VerlEdition): readonly Mapping[] {
  return [
    {
      family,
      function: "agg_loss",
      ours: "aggregateLoss",
      options: `mode "${edition}/…"`,
      failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
      replacedBy: (golden) => (golden.name.includes("nan") ? notRead : nothing),
      run: (inputs, { backend }) => {
        const layout = { shape: inputs.shape2("loss_mask"), mask: inputs.uint8("loss_mask"), backend } as const;
        const { loss, gradients } = aggregateLoss(inputs.floats("loss_mat"), {
          ...layout,
          ...verlCounts(inputs),
          mode: verlMode(inputs, edition),
        });
        return { loss, grad_loss_mat: gradients };
      },
    },
    {
      family,
      function: "compute_entropy_loss",
      ours: ["aggregateLoss", "logprob", "logprobBackward"],
      options: `mode "${edition}/…" over the entropies`,
      replacedBy: nothing,
      run: (inputs, { backend }) => {
        const logits = float32Logits(inputs);
        const result = logprob(logits, null, { backend });
        const layout = { shape: inputs.shape2("response_mask"), mask: inputs.uint8("response_mask"), backend } as const;
        const { loss, gradients } = aggregateLoss(result.entropies, { ...layout, mode: verlMode(inputs, edition) });
        return { loss, grad_logits: logprobBackward(logits, null, result, { gradEntropies: gradients, backend }) };
      },
    },
  ];
}

/** verl's statistics of groups, in one of its editions. */
export const groupMeanStd = (family: string): Mapping => ({
  family,
  function: "group_mean_std",
  ours: "groupNormalize",
  options: 'singleton "standard", varianceFloor',
  differs: "groups are numbered by their ids, also ids that do not occur",
  run: (inputs, { backend }) => {
    const groups = inputs.int32("gidx");
    const scores = inputs.floats("scores");
    // In the order of the ids, so that an id that does not occur is an empty group.
    const order = Array.from(groups.keys()).sort((a, b) => groups[a]! - groups[b]!);
    const groupOffsets = Int32Array.from(
      { length: Math.max(...groups) + 2 },
      (_, id) => groups.filter((g) => g < id).length,
    );
    const options = { groupOffsets, singleton: "standard", varianceFloor: inputs.number("eps"), backend } as const;
    const { means, stds, counts } = groupNormalize(
      scores.map((_, i) => scores[order[i]!]!),
      options,
    );
    return { mean: means, std: stds, count: counts };
  },
});

export const reductions: readonly Mapping[] = [
  {
    family: "verl",
    function: "masked_mean_axis",
    ours: "moments",
    options: 'over "row" and "all"',
    run: (inputs, { backend }) => {
      const layout = { shape: inputs.shape2("mask"), mask: inputs.uint8("mask"), backend } as const;
      const rows = moments(inputs.floats("values"), { ...layout, over: "row" });
      const all = moments(inputs.floats("values"), layout);
      return { row_mean: rows.means, row_sum: rows.sums, mean: all.means[0], sum: all.sums[0] };
    },
  },
  {
    family: "verl",
    function: "masked_whiten",
    ours: ["whiten", "moments"],
    options: "varianceEpsilon and countEpsilon 1e-8, transformMasked",
    differs: "shift_mean: false is keepMean here",
    run: (inputs, context) => whitened(inputs, context, { countEpsilon: 1e-8 }),
  },
  groupMeanStd("verl"),
  {
    family: "openrlhf",
    function: "SFTLoss",
    ours: "negativeLogLikelihood",
    options: 'mode "openrlhf/…"',
    replacedBy: nothing,
    run: (inputs, { backend }) => {
      const layout = { shape: inputs.shape2("loss_mask"), mask: inputs.uint8("loss_mask"), backend } as const;
      const mode = inputs.boolean("token_level_loss") ? "openrlhf/token" : "openrlhf/sample";
      const { loss, gradients } = negativeLogLikelihood(inputs.floats("per_token_logps"), {
        ...layout,
        ...verlCounts(inputs),
        mode,
      });
      return { loss, grad_per_token_logps: gradients };
    },
  },
  {
    family: "trl",
    function: "ppo_masked_whiten",
    ours: ["whiten", "moments"],
    options: "varianceEpsilon 1e-8, transformMasked",
    differs: "shift_mean: false is keepMean here",
    run: (inputs, context) => whitened(inputs, context, {}),
  },
  {
    family: "trl",
    function: "nanstd",
    ours: "moments",
    options: 'nan "abstain"',
    run: (inputs, { backend }) => {
      const layout = { shape: inputs.shape2("tensor"), nan: "abstain", backend } as const;
      const all = moments(inputs.floats("tensor"), layout);
      const rows = moments(inputs.floats("tensor"), { ...layout, over: "row" });
      return { std: all.stds()[0], std_dim1: rows.stds(), min: all.mins[0], max: all.maxs[0] };
    },
  },
  {
    family: "openrlhf",
    function: "masked_normalize",
    ours: ["whiten", "moments"],
    options: 'over "row", ddof 0, varianceFloor',
    differs: "along any dimension, here along rows",
    run: (inputs, { backend }) => {
      const { values, layout } = alongDimension(inputs, "tensor", inputs.number("dim"));
      const normalized = whiten(values, { ...layout, ddof: 0, varianceFloor: inputs.number("eps"), backend });
      const { means } = moments(values, { ...layout, over: "all", backend });
      return {
        normalized: inputs.number("dim") === 0 ? transpose(normalized, layout.shape) : normalized,
        mean: means[0],
      };
    },
  },
  {
    family: "lightrft",
    function: "masked_mean",
    ours: "moments",
    options: "over a row or all",
    differs: "along any dimension, here along rows or over all",
    replacedBy: (golden) => (golden.name.startsWith("nan") ? notRead : "a row without a kept token has mean 0"),
    run: (inputs, { backend }) => {
      const dimension = inputs.has("dim") ? inputs.number("dim") : null;
      const { values, layout } = alongDimension(inputs, "values", dimension);
      const { means } = moments(values, { ...layout, backend });
      return { mean: dimension === null ? means[0] : means };
    },
  },
  {
    family: "lightrft",
    function: "normalize_advantages_cross_batch",
    ours: "whiten",
    options: "ddof 0, varianceFloor 1e-8, transformMasked, scale",
    differs: "applied to gae, reinforce and reinforce_baseline alone; here the caller decides",
    replacedBy: "nothing kept: mean 0 and variance 0, so values are divided by the root of the floor",
    run: (inputs, context) => {
      // The other estimators keep their advantages as they are.
      if (!NORMALIZED.has(inputs.string("estimator"))) return { advantages: inputs.value("advantages") };
      return acrossBatches(inputs, context, inputs.boolean("no_std") ? "none" : "std");
    },
  },
  {
    family: "lightrft",
    function: "normalize_replay_buffer",
    ours: "whiten",
    options: "ddof 0, varianceFloor 1e-8, transformMasked",
    replacedBy: "sums and counts are of the same tokens: the kept ones",
    run: (inputs, context) => acrossBatches(inputs, context, "std"),
  },
  {
    family: "openrlhf",
    function: "aggregate_loss",
    ours: "aggregateLoss",
    options: 'mode "openrlhf/…"',
    replacedBy: nothing,
    run: (inputs, { backend }) => {
      const layout = { shape: inputs.shape2("loss_mask"), mask: inputs.uint8("loss_mask"), backend } as const;
      const mode = inputs.boolean("token_level_loss") ? "openrlhf/token" : "openrlhf/sample";
      const { loss, gradients } = aggregateLoss(inputs.floats("loss"), { ...layout, ...verlCounts(inputs), mode });
      return { loss, grad_loss: gradients };
    },
  },
  ...verlReductions("verl", "verl-2026-01"),
];
