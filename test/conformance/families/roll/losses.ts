// ROLL: policy losses with their correction, aggregation, KL terms, filters of rows.
import {
  affine,
  aggregateLoss,
  cispoLoss,
  combineLosses,
  type CombinedLoss,
  entropyBonus,
  groupBroadcast,
  gspoLoss,
  importanceRatio,
  klPenalty,
  offPolicyMask,
  type PolicyBatch,
  policyLoss,
  ppoLoss,
  reinforceLoss,
  segments,
  trustRegionMask,
} from "surprisal";
import type { GoldenRecord } from "../../golden";
import { type FloatArray, Inputs } from "../../inputs";
import type { Context, Mapping, Outputs } from "../../mapping";

const family = "roll";
const METRICS = {
  outputs: ["metrics"],
  because:
    "sums for its workers (@sum) of what results have per token (moments of ratios, kl); train_infer figures: values of offPolicyMask",
} as const;

const on = (inputs: Inputs, name: string): boolean => inputs.has(name) && inputs.boolean(name);
const number = (inputs: Inputs, name: string, otherwise: number): number =>
  inputs.has(name) ? inputs.number(name) : otherwise;
const wide = (values: FloatArray): Float64Array => Float64Array.from(values);

const MODES = {
  "seq-mean-token-mean": { aggregation: "rowMean" },
  "seq-mean-token-sum": { aggregation: "rowSum" },
  "seq-mean-token-sum-norm": { aggregation: "fixedLength", rows: 1 },
  "token-mean": { aggregation: "tokenMean" },
} as const;

/** The aggregation of a case, with the counts of all workers where it has them: taken before any filter. */
function aggregationOf(inputs: Inputs) {
  const mode = inputs.has("loss_agg_mode")
    ? (inputs.string("loss_agg_mode") as keyof typeof MODES)
    : "seq-mean-token-mean";
  const counts = inputs.has("counts") ? inputs.numbers("counts") : undefined;
  const [tokens, rows] = [
    counts?.[0] ?? (inputs.has("batch_num_tokens") ? inputs.number("batch_num_tokens") : undefined),
    counts?.[1] ?? (inputs.has("global_valid_samples") ? inputs.number("global_valid_samples") : undefined),
  ];
  return { emptyRows: "count", tokens, rows, ...MODES[mode] } as const;
}

interface Tokens {
  readonly old: FloatArray;
  readonly sampler: FloatArray;
  readonly mask: Uint8Array;
  readonly shape: readonly [number, number];
}

/** The layout in which a rule judges: tokens, rows, or runs of kept tokens as rows. */
function unitsOf(level: string, { shape, mask }: Tokens) {
  if (level !== "segment") return { shape, mask };
  const runs = segments({ shape, mask });
  return { offsets: runs.offsets, mask: runs.mask };
}

/** Weights and mask of the correction between trainer and sampler. */
function trainInfer(rules: Inputs, tokens: Tokens, { backend }: Context) {
  const { old, sampler, mask, shape } = tokens;
  let kept = mask;
  for (const each of rules.has("filters") ? rules.list("filters") : []) {
    const rule = new Inputs(each as GoldenRecord);
    if (rule.has("enabled") && !rule.boolean("enabled")) continue;
    const level = rule.has("agg_type") ? rule.string("agg_type") : "token";
    const where = unitsOf(level, tokens);
    const judged = level === "token" ? {} : ({ level: "row", reduce: level === "sequence" ? "sum" : "mean" } as const);
    const apply = (options: object): void => {
      const near = offPolicyMask(old, sampler, { ...where, ...judged, ...options }).mask;
      kept = kept.map((flag, i) => (near[i] === 0 ? 0 : flag));
    };
    if (!rule.has("ratio_enabled") || rule.boolean("ratio_enabled"))
      apply({ low: number(rule, "ratio_low", 0.8), high: number(rule, "ratio_high", 1.2) });
    if (on(rule, "diff_enabled"))
      apply({ measure: "probability", low: number(rule, "diff_low", -0.2), high: number(rule, "diff_high", 0.2) });
  }
  const weight = rules.has("is_weight") ? new Inputs(rules.value("is_weight") as GoldenRecord) : undefined;
  if (!weight || !on(weight, "enabled")) return { kept, weights: undefined };
  const type = weight.has("weight_type") ? weight.string("weight_type") : "token";
  const where = unitsOf(type, tokens);
  const high = weight.isNull("upper_bound") ? {} : { high: number(weight, "upper_bound", 1.2) };
  const level = type === "token" ? "token" : type === "sequence" ? "sequence" : "geometric";
  const { ratios } = importanceRatio(old, sampler, { ...where, level, ...high, backend });
  if (level === "token") return { kept, weights: ratios };
  const layout = where.offsets ? { offsets: where.offsets } : { shape };
  return { kept, weights: groupBroadcast(ratios, { ...layout, mask: where.mask, backend }) };
}

function tokensOf(inputs: Inputs): Tokens {
  return {
    old: inputs.floats("old_log_probs"),
    sampler: inputs.floats("infer_log_probs"),
    mask: inputs.uint8("response_mask"),
    shape: inputs.shape2("response_mask"),
  };
}

function batchOf(inputs: Inputs, context: Context): PolicyBatch {
  const { kept, weights } = inputs.has("train_infer")
    ? trainInfer(new Inputs(inputs.value("train_infer") as GoldenRecord), tokensOf(inputs), context)
    : { kept: inputs.uint8("response_mask"), weights: undefined };
  return {
    shape: inputs.shape2("response_mask"),
    mask: kept,
    logProbs: inputs.floats("log_probs"),
    oldLogProbs: inputs.floats("old_log_probs"),
    referenceLogProbs: inputs.floats("ref_log_probs"),
    advantages: inputs.floats("advantages"),
    advantagesPer: "token",
    ...(weights && { rolloutWeights: weights, rolloutWeightsPer: "token" }),
  };
}

function band(inputs: Inputs) {
  const clip = number(inputs, "pg_clip", 0.2);
  return on(inputs, "use_pg_clip_range")
    ? { clipLow: inputs.number("pg_clip_low"), clipHigh: inputs.number("pg_clip_high") }
    : { clipLow: clip, clipHigh: clip };
}

const dual = (inputs: Inputs) =>
  on(inputs, "dual_clip_loss") ? { dualClip: 1 + 2 * number(inputs, "pg_clip", 0.2) } : {};

const klOf = (inputs: Inputs) =>
  on(inputs, "use_kl_loss") ? { kl: { coefficient: inputs.number("kl_loss_coef") } } : {};

function actorLoss(inputs: Inputs, context: Context): Outputs {
  const { backend } = context;
  const batch = batchOf(inputs, context);
  const common = { preset: "roll", ...aggregationOf(inputs), ...band(inputs), ...klOf(inputs), backend } as const;
  const runs = inputs.has("ratio_type") && inputs.string("ratio_type") === "segment";
  const rows = inputs.has("importance_sampling") && inputs.string("importance_sampling") === "seq";
  const policy = runs
    ? policyLoss("segmentRatio", batch, { ...aggregationOf(inputs), ...band(inputs), ...klOf(inputs), backend })
    : rows
      ? gspoLoss(batch, common)
      : ppoLoss(batch, { ...common, ...dual(inputs) });
  const weight = number(inputs, "rl_loss_coef", 1);
  const n = inputs.uint8("response_mask").length;
  if (!inputs.has("entropy_loss_coef")) {
    const { loss, gradLogProbs } = combineLosses([{ ...policy, weight }]);
    return { loss, grad_log_probs: gradLogProbs };
  }
  const { aggregation, ...counts } = aggregationOf(inputs);
  const bonus = entropyBonus(inputs.floats("entropies"), {
    shape: inputs.shape2("response_mask"),
    mask: inputs.uint8("response_mask"),
    coefficient: inputs.number("entropy_loss_coef"),
    mode: aggregation,
    ...counts,
    backend,
  });
  const { loss, gradLogProbs } = combineLosses([
    { ...policy, weight },
    { loss: bonus.loss, gradLogProbs: new Float64Array(n) },
  ]);
  return { loss, grad_log_probs: gradLogProbs, grad_entropies: bonus.gradEntropies };
}

/** The losses of its trainer for plain policy gradients. */
function variant(inputs: Inputs, context: Context): CombinedLoss {
  const actor = new Inputs(inputs.value("actor") as GoldenRecord);
  const batch = batchOf(inputs, context);
  const common = { preset: "roll", ...aggregationOf(inputs), backend: context.backend } as const;
  const { preset: _, ...plain } = common;
  switch (actor.oneOf("pg_variant", ["vanilla", "ppo", "tis", "topr", "cispo", "kimi15"])) {
    case "vanilla":
      return reinforceLoss(batch, plain);
    case "ppo":
      return ppoLoss(batch, { ...common, ...band(inputs), ...dual(inputs) });
    case "tis": {
      const [low, high] = [number(actor, "tis_lower_bound", 0), number(actor, "tis_upper_bound", 1)];
      return cispoLoss(batch, { ...common, clipLow: 1 - low, clipHigh: high - 1 });
    }
    case "topr":
      return policyLoss(
        "topr",
        { ...batch, rewards: inputs.floats("scores") },
        {
          ...plain,
          positiveWeight: number(actor, "topr_positive_weight", 1),
          negativeWeight: number(actor, "topr_negative_weight", 1),
        },
      );
    case "cispo": {
      const [low, high] = [number(actor, "cispo_epsilon_low", 0.1), number(actor, "cispo_epsilon_high", 0.1)];
      const region = { low, high, measure: "ratio" } as const;
      const { shape, mask, logProbs, oldLogProbs, advantages } = batch;
      const inside = { shape: shape!, mask: mask!, advantages, advantagesPer: "token" } as const;
      const termMask = on(actor, "cispo_use_unified_mask")
        ? trustRegionMask(logProbs, oldLogProbs!, { ...inside, ...region })
        : undefined;
      return cispoLoss({ ...batch, termMask }, { ...common, clipLow: low, clipHigh: high });
    }
    case "kimi15":
      return policyLoss("kimi", batch, { ...plain, beta: number(actor, "kimi15_tau", 0.1) });
  }
}

export const rollLosses: readonly Mapping[] = [
  {
    family,
    function: "compute_approx_kl",
    ours: "klPenalty",
    options: 'preset "roll"',
    run: (inputs, { backend }) => {
      const { values, gradLogProbs } = klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), {
        preset: "roll",
        shape: inputs.shape2("action_mask"),
        mask: inputs.uint8("action_mask"),
        estimator: inputs.oneOf("kl_penalty", ["kl", "abs", "mse", "k3"] as const),
        backend,
      });
      return { kl: values, grad_log_probs: gradLogProbs };
    },
  },
  {
    family,
    function: "agg_loss",
    ours: ["aggregateLoss", "affine"],
    options: 'emptyRows "count"; row weights scale the losses beforehand',
    replacedBy: "what lies under the mask does not count",
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("loss_mat");
      const { aggregation, ...counts } = aggregationOf(inputs);
      const scale = inputs.has("weights") ? inputs.floats("weights") : 1;
      const layout = { shape, mask: inputs.uint8("loss_mask"), backend };
      const losses = affine(wide(inputs.floats("loss_mat")), { ...layout, scale });
      const { loss, gradients } = aggregateLoss(losses, { ...layout, ...counts, mode: aggregation });
      return { loss, grad_loss_mat: affine(gradients, { ...layout, scale }) };
    },
  },
  {
    family,
    function: "compute_train_infer_correction",
    ours: ["offPolicyMask", "importanceRatio"],
    options: 'runs of kept tokens as rows, measure "probability" for differences',
    notCompared: METRICS,
    run: (inputs, context) => {
      const { kept, weights } = trainInfer(inputs, tokensOf(inputs), context);
      return { is_weight: weights ?? new Float64Array(kept.length).fill(1), filter_mask: kept };
    },
    masked: (inputs) => ({ is_weight: inputs.uint8("response_mask"), filter_mask: inputs.uint8("response_mask") }),
  },
  {
    family,
    function: "rlvr_actor_loss",
    ours: ["ppoLoss", "gspoLoss", "offPolicyMask", "combineLosses"],
    options: 'preset "roll"; dualClip 1 + 2 pg_clip',
    notCompared: METRICS,
    replacedBy: "what lies under the mask does not count",
    skip: ({ inputs }) =>
      inputs["difficulty_loss_weight"] === true ? "weights by difficulty and length are the caller's" : undefined,
    run: actorLoss,
  },
  {
    family,
    function: "agentic_actor_loss",
    ours: ["policyLoss", "ppoLoss", "combineLosses"],
    options: 'preset "roll"; "segmentRatio" of policyLoss',
    notCompared: METRICS,
    run: actorLoss,
  },
  {
    family,
    function: "pg_variant_loss",
    ours: ["policyLoss", "reinforceLoss", "ppoLoss", "cispoLoss"],
    options: 'preset "roll"; tis: clip widths 1 − low and high − 1; "topr" and "kimi" of policyLoss',
    notCompared: METRICS,
    run: (inputs, context) => {
      const { loss, gradLogProbs } = variant(inputs, context);
      return { loss, grad_log_probs: gradLogProbs };
    },
  },
];
