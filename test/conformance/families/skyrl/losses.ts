// SkyRL: policy and value losses, KL terms.
import {
  affine,
  aggregateLoss,
  cispoLoss,
  clipCovLoss,
  dppoLoss,
  gspoTokenLoss,
  importanceRatio,
  klCovLoss,
  moments,
  klPenalty,
  type KlEstimatorName,
  negativeLogLikelihood,
  offPolicyMask,
  type OffPolicyMaskOptions,
  type PolicyBatch,
  type PolicyLossResult,
  ppoLoss,
  sapoLoss,
  valueLoss,
} from "surprisal";
import type { GoldenCase, GoldenRecord } from "../../golden";
import { type FloatArray, Inputs } from "../../inputs";
import type { Context, Mapping, Outputs } from "../../mapping";

const family = "skyrl";
const CORRECTED = "the loss after its off-policy correction; both are recorded apart, too";

const corrected = ({ inputs }: GoldenCase): string | undefined =>
  inputs["off_policy_correction"] === undefined || inputs["off_policy_correction"] === null ? undefined : CORRECTED;

function batchOf(inputs: Inputs, old = "old_log_probs"): PolicyBatch {
  return {
    shape: inputs.shape2("loss_mask"),
    mask: inputs.uint8("loss_mask"),
    logProbs: inputs.floats("log_probs"),
    oldLogProbs: inputs.floats(old),
    advantages: inputs.floats("advantages"),
    advantagesPer: "token",
  };
}

const common = ({ backend }: Context) => ({ preset: "skyrl", backend }) as const;

function band(inputs: Inputs) {
  return { clipLow: inputs.number("eps_clip_low"), clipHigh: inputs.number("eps_clip_high") };
}

function outputs({ loss, metrics, gradLogProbs }: PolicyLossResult): Outputs {
  return { loss, metrics, grad_log_probs: gradLogProbs };
}

function own(inputs: Inputs, name: string): Inputs {
  return new Inputs(inputs.value(name) as GoldenRecord);
}

const behaviour = (inputs: Inputs): string => (inputs.has("rollout_logprobs") ? "rollout_logprobs" : "old_log_probs");

/** What each token of some rows is scaled by, in the place of those rows. */
function reduceRows(
  inputs: Inputs,
  [begin, end]: readonly [number, number],
  options: object,
  context: Context,
): FloatArray {
  const [, T] = inputs.shape2("loss_mask");
  const shape = [end - begin, T] as const;
  const mask = inputs.uint8("loss_mask").slice(begin * T, end * T);
  const values = Float64Array.from(inputs.floats("advantages").slice(begin * T, end * T));
  const { rowWeights } = aggregateLoss(values, {
    shape,
    mask,
    mode: "tokenMean",
    emptyRows: "count",
    ...options,
    backend: context.backend,
  });
  return affine(values, { shape, mask, scale: rowWeights, backend: context.backend });
}

/** The advantages, scaled so that a sum of the tokens' losses is the reduction. */
function scaled(inputs: Inputs, context: Context): Float64Array {
  const B = inputs.shape2("loss_mask")[0];
  const reduction = inputs.string("loss_reduction");
  const size = inputs.number("micro_batch_size");
  const parts: (readonly [number, number])[] =
    reduction === "prompt_mean"
      ? (inputs.value("prompt_boundaries") as [number, number][])
      : reduction === "token_mean_legacy"
        ? Array.from({ length: Math.floor(B / size) }, (_, k) => [k * size, (k + 1) * size] as const)
        : [[0, B]];
  const mode =
    { sequence_mean: { mode: "rowMean" }, seq_mean_token_sum_norm: { mode: "fixedLength" } }[reduction] ?? {};
  const options = { ...mode, length: inputs.number("max_seq_len"), accumulation: parts.length };
  return Float64Array.from(parts.flatMap((rows) => Array.from(reduceRows(inputs, rows, options, context))));
}

const number = (inputs: Inputs, name: string, otherwise: number): number =>
  inputs.has(name) ? inputs.number(name) : otherwise;

/** The mask after each rule in its turn, and the ratio that multiplies the loss. */
function corrections(inputs: Inputs, { backend }: Context): Outputs {
  const rules = own(inputs, "off_policy_correction");
  const [old, sampler] = [inputs.floats("old_log_probs"), inputs.floats("rollout_logprobs")];
  const shape = inputs.shape2("loss_mask");
  let mask = inputs.uint8("loss_mask");
  const drop = (options: Omit<OffPolicyMaskOptions, "shape" | "mask">): void => {
    mask = offPolicyMask(old, sampler, { shape, mask, logClamp: 20, ...options }).mask;
  };
  if (rules.has("outlier_token_is_threshold_low"))
    drop({ level: "row", reduce: "min", low: rules.number("outlier_token_is_threshold_low") });
  if (rules.has("outlier_token_is_threshold_high"))
    drop({ level: "row", reduce: "max", high: rules.number("outlier_token_is_threshold_high") });
  if (rules.has("token_mask_is_threshold_low") && rules.has("token_mask_is_threshold_high"))
    drop({ low: rules.number("token_mask_is_threshold_low"), high: rules.number("token_mask_is_threshold_high") });
  const kind = rules.has("tis_ratio_type") ? rules.oneOf("tis_ratio_type", ["token", "sequence"]) : undefined;
  const high = kind && number(rules, `${kind}_tis_ratio_clip_high`, kind === "token" ? 2 : 5);
  const over = kind === "sequence" ? { mask } : {};
  const ratios =
    kind && importanceRatio(old, sampler, { shape, level: kind, high, logClamp: 20, ...over, backend }).ratios;
  const metric = rules.has("sequence_mask_metric")
    ? rules.oneOf("sequence_mask_metric", ["geometric", "product"])
    : null;
  if (metric === "geometric")
    drop({ level: "row", low: number(rules, "geo_mask_low", 0.99), high: number(rules, "geo_mask_high", 1.01) });
  if (metric === "product") {
    const bounds = { low: number(rules, "product_mask_low", 0.5), high: number(rules, "product_mask_high", 2) };
    drop({ level: "row", reduce: "sum", ...bounds });
  }
  const shaped = ratios && { data: ratios, shape: kind === "token" ? shape : [shape[0], 1] };
  return { tis_ratio: shaped ?? null, loss_mask: mask };
}

export const skyrlLosses: readonly Mapping[] = [
  {
    family,
    function: "apply_loss_reduction_to_advantages_minibatch",
    ours: ["aggregationWeights", "affine"],
    options: "aggregateLoss' weights over the rows of a reduction, `accumulation` the number of its parts",
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
    replacedBy: "rows beyond the last full micro-batch are a smaller one",
    skip: ({ failure }) => (failure === undefined ? undefined : "a prompt is the rows that are passed together"),
    run: (inputs, context) => ({ advantages: scaled(inputs, context) }),
    masked: (inputs) => ({ advantages: inputs.uint8("loss_mask") }),
  },
  {
    family,
    function: "compute_off_policy_correction",
    ours: ["offPolicyMask", "importanceRatio"],
    options: "a rule is a call, with the mask of the one before",
    notCompared: {
      outputs: ["metrics"],
      because:
        "max, min and std run over the zeros of masked tokens; shares of dropped rows: droppedFraction of each rule",
    },
    run: corrections,
  },
  {
    family,
    function: "ppo_policy_loss",
    ours: "ppoLoss",
    options: 'preset "skyrl"',
    skip: corrected,
    run: (inputs, context) => {
      const dual = inputs.string("policy_loss_type") === "dual_clip";
      const options = { ...common(context), ...band(inputs) };
      return outputs(
        ppoLoss(batchOf(inputs), dual ? { ...options, dualClip: inputs.number("clip_ratio_c") } : options),
      );
    },
  },
  {
    family,
    function: "gspo_policy_loss",
    ours: "gspoTokenLoss",
    options: 'preset "skyrl"',
    skip: corrected,
    run: (inputs, context) => outputs(gspoTokenLoss(batchOf(inputs), { ...common(context), ...band(inputs) })),
  },
  {
    family,
    function: "sapo_policy_loss",
    ours: "sapoLoss",
    options: 'preset "skyrl"',
    skip: corrected,
    run: (inputs, context) => {
      const tau = own(inputs, "sapo");
      const temperatures = {
        temperaturePositive: tau.number("tau_pos"),
        temperatureNegative: tau.number("tau_neg"),
      };
      return outputs(sapoLoss(batchOf(inputs), { ...common(context), ...temperatures }));
    },
  },
  {
    family,
    function: "compute_policy_loss_cispo",
    ours: "cispoLoss",
    options: 'preset "skyrl"; anchor "rollout": the sampler\'s log-probs as oldLogProbs',
    skip: (golden) =>
      corrected(golden) ??
      (golden.failure === undefined ? undefined : "weights beside the sampler's ratio are allowed"),
    run: (inputs, context) => {
      const given = own(inputs, "cispo");
      const anchored = given.has("cispo_anchor") && given.string("cispo_anchor") === "rollout";
      const options = {
        clipLow: given.has("cispo_eps_clip_low") ? given.number("cispo_eps_clip_low") : 1,
        clipHigh: given.has("cispo_eps_clip_high") ? given.number("cispo_eps_clip_high") : 4,
      };
      const batch = batchOf(inputs, anchored ? "rollout_logprobs" : "old_log_probs");
      return outputs(cispoLoss(batch, { ...common(context), ...options }));
    },
  },
  {
    family,
    function: "dppo_policy_loss",
    ours: "dppoLoss",
    options: 'preset "skyrl", the sampler\'s log-probs as oldLogProbs where there are some',
    skip: corrected,
    run: (inputs, context) => {
      const region = own(inputs, "dppo");
      const measure = region.string("dppo_type") === "binary_tv" ? "probability" : "binaryKl";
      const bounds = { low: region.number("delta_low"), high: region.number("delta_high") };
      return outputs(dppoLoss(batchOf(inputs, behaviour(inputs)), { ...common(context), measure, ...bounds }));
    },
  },
  {
    family,
    function: "rollout_is_policy_loss",
    ours: "dppoLoss",
    options: 'preset "skyrl", measure "ratio", sides "both", surrogate "weight"',
    skip: corrected,
    run: (inputs, context) =>
      outputs(
        dppoLoss(batchOf(inputs, "rollout_logprobs"), {
          ...common(context),
          measure: "ratio",
          sides: "both",
          surrogate: "weight",
          low: inputs.number("eps_clip_low"),
          high: inputs.number("eps_clip_high"),
        }),
      ),
  },
  {
    family,
    function: "compute_policy_loss_clip_cov",
    ours: "clipCovLoss",
    options: 'preset "skyrl"',
    run: (inputs, context) => {
      const cov = own(inputs, "clip_cov");
      return outputs(
        clipCovLoss(batchOf(inputs), {
          ...common(context),
          ...band(inputs),
          share: cov.number("clip_ratio"),
          between: [cov.number("clip_cov_lb"), cov.number("clip_cov_ub")],
          permutation: Int32Array.from(inputs.numbers("perm")),
        }),
      );
    },
  },
  {
    family,
    function: "compute_policy_loss_kl_cov",
    ours: "klCovLoss",
    options: 'preset "skyrl"',
    run: (inputs, context) => {
      const cov = own(inputs, "kl_cov");
      const options = { share: cov.number("kl_cov_frac"), coefficient: cov.number("ppo_kl_coef") };
      return outputs(klCovLoss(batchOf(inputs), { ...common(context), ...options }));
    },
  },
  {
    family,
    function: "importance_sampling_loss",
    ours: ["ppoLoss", "moments"],
    options: 'preset "skyrl", clip Infinity, logClamp Infinity',
    differs: "its metric is the mean ratio",
    run: (inputs, context) => {
      const batch = batchOf(inputs);
      const result = ppoLoss(batch, { ...common(context), clip: Infinity, logClamp: Infinity });
      const { shape, mask } = batch;
      const { means } = moments(result.ratios, { shape: shape!, mask: mask!, over: "all", backend: context.backend });
      return { ...outputs(result), metrics: { importance_ratio: means[0] } };
    },
  },
  {
    family,
    function: "cross_entropy_loss",
    ours: "negativeLogLikelihood",
    options: 'mode "tokenSum"',
    differs: "logs a clip ratio of 0",
    run: (inputs, { backend }) => {
      const layout = { shape: inputs.shape2("loss_mask"), mask: inputs.uint8("loss_mask"), backend } as const;
      const { loss, gradients } = negativeLogLikelihood(inputs.floats("log_probs"), { ...layout, mode: "tokenSum" });
      return { loss, metrics: { clip_ratio: 0 }, grad_log_probs: gradients };
    },
  },
  {
    family,
    function: "ppo_critic_loss",
    ours: "valueLoss",
    options: 'preset "skyrl"',
    run: (inputs, context) => {
      const clipped = inputs.has("value_clip");
      const result = valueLoss(
        {
          shape: inputs.shape2("loss_mask"),
          mask: inputs.uint8("loss_mask"),
          values: inputs.floats("values"),
          oldValues: inputs.floats("old_values"),
          returns: inputs.floats("returns"),
        },
        { ...common(context), ...(clipped && { clip: inputs.number("value_clip") }) },
      );
      return {
        loss: result.loss,
        clipfrac: clipped ? result.metrics["critic/vf_clipfrac"] : null,
        grad_values: result.gradValues,
      };
    },
  },
  {
    family,
    function: "compute_approx_kl",
    ours: "klPenalty",
    options: 'preset "skyrl"',
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, context) => {
      const { values, gradLogProbs } = klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), {
        ...common(context),
        shape: inputs.shape2("loss_mask"),
        mask: inputs.uint8("loss_mask"),
        estimator: inputs.string("kl_estimator_type") as KlEstimatorName,
      });
      return { kl: values, grad_log_probs: gradLogProbs };
    },
  },
];
