// NeMo-RL: policy and value losses, KL terms.
import {
  affine,
  aggregateLoss,
  cispoLoss,
  combineLosses,
  gspoLoss,
  importanceRatio,
  klPenalty,
  type KlTerm,
  moments,
  negativeLogLikelihood,
  type PolicyBatch,
  type PolicyLossResult,
  ppoLoss,
  reinforceLoss,
  supportDistillation,
  valueLoss,
} from "surprisal";
import type { Inputs } from "../../inputs";
import type { Context, Mapping } from "../../mapping";

const family = "nemo-rl";

/** The tokens of rows that are sampled. */
function tokens(inputs: Inputs): Uint8Array {
  const rows = inputs.uint8("sample_mask");
  const [, T] = inputs.shape2("token_mask");
  return inputs.uint8("token_mask").map((kept, i) => (rows[Math.floor(i / T)] === 0 ? 0 : kept));
}

const on = (inputs: Inputs, name: string): boolean => inputs.has(name) && inputs.boolean(name);

/** The aggregation with the counts of all workers, where anything is counted. */
function counts(inputs: Inputs) {
  const byToken = !inputs.has("token_level_loss") || inputs.boolean("token_level_loss");
  const name = byToken ? "global_valid_toks" : "global_valid_seqs";
  const count = inputs.number(name) > 0 ? inputs.number(name) : undefined;
  return byToken
    ? ({ aggregation: "tokenMean", tokens: count } as const)
    : ({ aggregation: "rowMean", rows: count } as const);
}

function weightsOf(inputs: Inputs, mask: Uint8Array, { backend }: Context): Partial<PolicyBatch> {
  if (!on(inputs, "use_importance_sampling_correction")) return {};
  const kind = inputs.has("truncated_importance_sampling_type")
    ? inputs.oneOf("truncated_importance_sampling_type", ["tis", "icepop", "seq-mask-tis"])
    : undefined;
  const low = inputs.has("truncated_importance_sampling_ratio_min")
    ? { low: inputs.number("truncated_importance_sampling_ratio_min") }
    : {};
  const bounds = kind && { ...low, high: inputs.number("truncated_importance_sampling_ratio") };
  const rows = on(inputs, "sequence_level_importance_ratios");
  const { ratios } = importanceRatio(inputs.floats("prev_logprobs"), inputs.floats("generation_logprobs"), {
    shape: inputs.shape2("token_mask"),
    mask,
    ...(rows ? { level: "sequence" } : { level: "token" }),
    ...(kind && { mode: `openrlhf/${kind}` as const }),
    ...bounds,
    backend,
  });
  return { rolloutWeights: ratios, rolloutWeightsPer: rows ? "row" : "token" };
}

function klOf(inputs: Inputs): { kl?: KlTerm } {
  const coefficient = inputs.has("reference_policy_kl_penalty") ? inputs.number("reference_policy_kl_penalty") : 0.01;
  if (on(inputs, "use_kl_in_reward") || coefficient === 0) return {};
  return {
    kl: {
      coefficient,
      kind: inputs.has("reference_policy_kl_type")
        ? inputs.oneOf("reference_policy_kl_type", ["k1", "k2", "k3"] as const)
        : "k3",
      importanceCorrected: on(inputs, "use_on_policy_kl_approximation") ? "sampler" : "self",
      ...(inputs.isNull("kl_input_clamp_value") && { logClamp: Infinity }),
      ...(inputs.isNull("kl_output_clamp_value") && { valueClamp: Infinity }),
    },
  };
}

function policyTerm(inputs: Inputs, mask: Uint8Array, context: Context): PolicyLossResult {
  const batch: PolicyBatch = {
    shape: inputs.shape2("token_mask"),
    mask,
    logProbs: inputs.floats("logprobs"),
    oldLogProbs: inputs.floats("prev_logprobs"),
    samplerLogProbs: inputs.floats("generation_logprobs"),
    referenceLogProbs: inputs.floats("reference_policy_logprobs"),
    advantages: inputs.floats("advantages"),
    advantagesPer: "token",
    ...weightsOf(inputs, mask, context),
  };
  const common = { preset: "nemo-rl", ...counts(inputs), ...klOf(inputs), backend: context.backend } as const;
  if (on(inputs, "disable_ppo_ratio")) return reinforceLoss(batch, common);
  const band = {
    clipLow: inputs.has("ratio_clip_min") ? inputs.number("ratio_clip_min") : 0.2,
    clipHigh: inputs.has("ratio_clip_max") ? inputs.number("ratio_clip_max") : 0.2,
  };
  if (on(inputs, "use_cispo")) return cispoLoss(batch, { ...common, ...band });
  if (on(inputs, "sequence_level_importance_ratios")) return gspoLoss(batch, { ...common, ...band });
  if (on(inputs, "force_on_policy_ratio"))
    return ppoLoss({ ...batch, oldLogProbs: undefined }, { ...common, clip: Infinity });
  const dual = inputs.has("ratio_clip_c") ? { dualClip: inputs.number("ratio_clip_c") } : {};
  return ppoLoss(batch, { ...common, ...band, ...dual });
}

export const nemoRlLosses: readonly Mapping[] = [
  {
    family,
    function: "ClippedPGLossFn",
    ours: ["ppoLoss", "gspoLoss", "cispoLoss", "reinforceLoss", "importanceRatio", "combineLosses"],
    options: 'preset "nemo-rl"; kl.importanceCorrected "self" or "sampler"',
    notCompared: {
      outputs: ["metrics"],
      because:
        "means over tokens of what results have per token (moments of ratios, losses, kl); its sampler errors: mismatchMetrics",
    },
    run: (inputs, context) => {
      const mask = tokens(inputs);
      const policy = policyTerm(inputs, mask, context);
      const weight = inputs.has("positive_example_nll_weight") ? inputs.number("positive_example_nll_weight") : 0;
      if (weight === 0) return { loss: policy.loss, grad_logprobs: policy.gradLogProbs };
      const rewards = inputs.floats("rewards");
      const shape = inputs.shape2("token_mask");
      const imitated = mask.map((kept, i) => (rewards[Math.floor(i / shape[1])]! > 0 ? kept : 0));
      const nll = negativeLogLikelihood(inputs.floats("logprobs"), {
        shape,
        mask: imitated,
        mode: "tokenMean",
        backend: context.backend,
      });
      const { loss, gradLogProbs } = combineLosses([policy, { loss: nll.loss, gradLogProbs: nll.gradients, weight }]);
      return { loss, grad_logprobs: gradLogProbs };
    },
  },
  {
    family,
    function: "MseValueLossFn",
    ours: ["valueLoss", "aggregateLoss", "moments"],
    options: 'preset "nemo-rl"',
    run: (inputs, { backend }) => {
      const clips = inputs.has("cliprange") && inputs.number("cliprange") > 0;
      const count = inputs.number("global_valid_toks");
      const batch = {
        shape: inputs.shape2("token_mask"),
        mask: tokens(inputs),
        values: inputs.floats("values"),
        oldValues: inputs.floats("old_values"),
        returns: inputs.floats("returns"),
      };
      const result = valueLoss(batch, {
        preset: "nemo-rl",
        ...(clips && { clip: inputs.number("cliprange") }),
        ...(count > 0 && { tokens: count }),
        backend,
      });
      const scaled = { loss: result.loss, gradLogProbs: result.gradValues, weight: inputs.number("scale") };
      const { loss, gradLogProbs } = combineLosses([scaled]);
      const [values, returns] = [Float64Array.from(batch.values), Float64Array.from(batch.returns)];
      const where = { shape: batch.shape, mask: batch.mask, backend };
      const mean = (numbers: Float64Array): number =>
        aggregateLoss(numbers, { ...where, mode: "tokenMean", ...(count > 0 && { tokens: count }) }).loss;
      const product = (numbers: Float64Array, by: Float64Array): Float64Array =>
        affine(numbers, { shape: [numbers.length, 1], scale: by, backend }) as Float64Array;
      const residuals = affine(values, { shape: [values.length, 1], center: returns, backend }) as Float64Array;
      const { mins, maxs } = moments(values, { ...where, over: "all" });
      const metrics = {
        loss,
        num_valid_samples: batch.shape[0],
        residual_sq_mean: mean(product(residuals, residuals)),
        returns_mean: mean(returns),
        returns_sq_mean: mean(product(returns, returns)),
        values_mean: mean(values),
        values_max: count > 0 ? maxs[0] : 0,
        values_min: count > 0 ? mins[0] : 0,
        vf_clipfrac: clips ? mean(Float64Array.from(result.clipped)) : 0,
      };
      return { loss, grad_values: gradLogProbs, metrics };
    },
  },
  {
    family,
    function: "calculate_kl",
    ours: "klPenalty",
    options: 'preset "nemo-rl", importance',
    run: (inputs, { backend }) => {
      const clamp = (name: string): number => (inputs.has(name) ? inputs.number(name) : Infinity);
      const { values, gradLogProbs } = klPenalty(inputs.floats("logprobs"), inputs.floats("logprobs_reference"), {
        preset: "nemo-rl",
        shape: inputs.shape2("logprobs"),
        estimator: inputs.oneOf("kl_type", ["k1", "k2", "k3"] as const),
        logClamp: clamp("input_clamp_value"),
        valueClamp: clamp("output_clamp_value"),
        ...(inputs.has("weight_base") && { importance: inputs.floats("weight_base") }),
        backend,
      });
      return { kl: values, grad_logprobs: gradLogProbs };
    },
  },
  {
    family,
    function: "DistillationLossFn",
    ours: "supportDistillation",
    options: "beta 0, 1, or the share of the reverse KL; outsideLogProb −100",
    differs: "the entropies have a gradient, too; upstream's sum over the vocabulary is minus the entropy",
    backendFree: true,
    run: (inputs) => {
      const [B, T, K] = inputs.shape("student_topk_logprobs");
      const kind = inputs.oneOf("kl_type", ["forward", "reverse", "mixed"] as const);
      const { loss, gradLogProbs } = supportDistillation(
        Float64Array.from(inputs.floats("student_topk_logprobs")),
        inputs.floats("teacher_topk_logprobs"),
        {
          shape: [B! * T!, K!],
          beta: { forward: 0, reverse: 1, mixed: 1 - inputs.number("mixed_kl_weight") }[kind],
          mask: inputs.uint8("token_mask"),
          tokens: inputs.number("global_valid_toks"),
          ...(inputs.boolean("zero_outside_topk") && {
            outsideLogProb: -100,
            entropies: inputs.floats("H_all").map((sum) => -sum),
          }),
        },
      );
      return { loss, grad_student_topk_logprobs: gradLogProbs };
    },
  },
];
