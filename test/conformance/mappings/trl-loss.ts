// TRL: the losses of its GRPO, RLOO and PPO trainers, and of the experimental ones.
import {
  actorCriticLoss,
  type AggregationName,
  appliedEntropyCoefficient,
  cispoLoss,
  gmpoLoss,
  gspoLoss,
  gspoTokenLoss,
  highEntropyMask,
  iwOpdAdvantage,
  logprob,
  logprobBackward,
  luspoLoss,
  offPolicyRowMask,
  type PolicyBatch,
  type PolicyLossOptions,
  type PolicyLossResult,
  ppoLoss,
  reinforceLoss,
  rlooLoss,
  sapoLoss,
  updateEntropyCoefficient,
  vespoLoss,
} from "surprisal";
import type { Inputs } from "../inputs";
import type { Context, Mapping, Outputs } from "../mapping";
import { complement, intersection } from "./arrange";
import { float32Tensor } from "./tensors";

const LOSS_TYPES = ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "vespo", "luspo"] as const;

/** Of whose rows the aggregation uses the count of the whole batch: their entropies are divided by it as well. */
const BY_ITEMS: readonly string[] = ["dapo", "cispo", "vespo"];

function maskOf(inputs: Inputs): Uint8Array {
  const mask = inputs.uint8("completion_mask");
  return inputs.has("tool_mask") ? intersection(mask, inputs.uint8("tool_mask")) : mask;
}

/** What a batch and its options share: where the rows lie and which tokens are kept. */
function layoutOf(inputs: Inputs, { backend }: Context) {
  return { shape: inputs.shape2("completion_mask"), mask: maskOf(inputs), backend } as const;
}

function rolloutWeights(inputs: Inputs) {
  if (!inputs.has("importance_sampling_ratio")) return {};
  const perRow = inputs.shape2("importance_sampling_ratio")[1] === 1;
  return {
    rolloutWeights: inputs.floats("importance_sampling_ratio"),
    rolloutWeightsPer: perRow ? "row" : "token",
  } as const;
}

function termMask(inputs: Inputs, context: Context) {
  if (!inputs.has("top_entropy_quantile")) return {};
  const share = inputs.number("top_entropy_quantile");
  return {
    termMask: highEntropyMask(inputs.floats("entropies"), { ...layoutOf(inputs, context), preset: "trl", share }),
  };
}

function rowMask(inputs: Inputs, context: Context) {
  if (!inputs.has("off_policy_mask_threshold")) return {};
  const logProbs = inputs.floats("per_token_logps");
  const { kept } = offPolicyRowMask(inputs.floats("advantages"), logProbs, inputs.floats("old_per_token_logps"), {
    ...layoutOf(inputs, context),
    threshold: inputs.number("off_policy_mask_threshold"),
  });
  return { rowMask: kept };
}

function batchOf(inputs: Inputs, context: Context): PolicyBatch {
  return {
    shape: inputs.shape2("completion_mask"),
    mask: maskOf(inputs),
    logProbs: inputs.floats("per_token_logps"),
    ...(inputs.has("old_per_token_logps") && { oldLogProbs: inputs.floats("old_per_token_logps") }),
    ...(inputs.has("ref_per_token_logps") && { referenceLogProbs: inputs.floats("ref_per_token_logps") }),
    ...(inputs.has("entropies") && { entropies: inputs.floats("entropies") }),
    advantages: inputs.floats("advantages"),
    advantagesPer: inputs.shape("advantages").length === 1 ? "row" : "token",
    ...rolloutWeights(inputs),
    ...termMask(inputs, context),
    ...rowMask(inputs, context),
  };
}

function entropyTarget(inputs: Inputs) {
  return inputs.has("entropy_target") ? { target: inputs.number("entropy_target") } : {};
}

function entropyState(inputs: Inputs) {
  return { coefficient: inputs.number("entropy_coef"), lastEntropy: inputs.number("last_world_entropy") };
}

/** The bonus of a case; none where its coefficient is 0. */
function entropyBonus(inputs: Inputs, context: Context, lossType: string) {
  const adaptive = inputs.has("use_adaptive_entropy");
  if (!inputs.has("entropy_coef") || (!adaptive && inputs.number("entropy_coef") === 0)) return {};
  const coefficient = adaptive
    ? appliedEntropyCoefficient(entropyState(inputs), entropyTarget(inputs))
    : inputs.number("entropy_coef");
  const { termMask: mask } = termMask(inputs, context);
  return {
    entropyBonus: {
      coefficient,
      ...(mask && { mask }),
      // The version that was recorded weighed these as the policy term; TRL 1.13 takes the plain mean everywhere.
      ...(BY_ITEMS.includes(lossType) && { aggregation: `trl/${lossType}` as AggregationName }),
    },
  };
}

function common(inputs: Inputs, context: Context, lossType: string): PolicyLossOptions & { preset: "trl" } {
  const beta = inputs.has("beta") ? inputs.number("beta") : 0;
  return {
    preset: "trl",
    backend: context.backend,
    aggregation: `trl/${lossType}` as AggregationName,
    ...(inputs.has("num_items_in_batch") && { tokens: inputs.number("num_items_in_batch") }),
    ...(inputs.has("max_completion_length") && { length: inputs.number("max_completion_length") }),
    ...(inputs.has("gradient_accumulation_steps") && { accumulation: inputs.number("gradient_accumulation_steps") }),
    ...(beta !== 0 && { kl: { coefficient: beta, importanceCorrected: inputs.has("use_bias_correction_kl") } }),
    ...entropyBonus(inputs, context, lossType),
  };
}

/** The widths of a case; upstream's default where it has none. */
function clipRange(inputs: Inputs) {
  return {
    clipLow: inputs.has("epsilon_low") ? inputs.number("epsilon_low") : 0.2,
    clipHigh: inputs.has("epsilon_high") ? inputs.number("epsilon_high") : 0.2,
    ...(inputs.has("delta") && { ratioCap: inputs.number("delta") }),
  };
}

/** The loss that a case is about. */
function evaluate(inputs: Inputs, context: Context): PolicyLossResult {
  const lossType = inputs.oneOf("loss_type", LOSS_TYPES);
  const batch = batchOf(inputs, context);
  const options = common(inputs, context, lossType) as PolicyLossOptions & { readonly preset: "trl" };
  switch (lossType) {
    case "cispo":
      // Upstream's bound is that of the ratio itself: 1 + clipHigh.
      return cispoLoss(batch, { ...options, clipHigh: inputs.number("epsilon_high") - 1 });
    case "sapo":
      return sapoLoss(batch, {
        ...options,
        temperaturePositive: inputs.number("sapo_temperature_pos"),
        temperatureNegative: inputs.number("sapo_temperature_neg"),
      });
    case "vespo":
      return vespoLoss(batch, {
        ...options,
        shapePositive: inputs.number("vespo_k_pos"),
        ratePositive: inputs.number("vespo_lambda_pos"),
        shapeNegative: inputs.number("vespo_k_neg"),
        rateNegative: inputs.number("vespo_lambda_neg"),
      });
    case "luspo":
      return luspoLoss(batch, { ...options, ...clipRange(inputs) });
    default:
      switch (inputs.oneOf("importance_sampling_level", ["token", "sequence", "sequence_token"])) {
        case "token":
          return ppoLoss(batch, { ...options, ...clipRange(inputs) });
        case "sequence":
          return gspoLoss(batch, { ...options, ...clipRange(inputs) });
        case "sequence_token":
          return gspoTokenLoss(batch, { ...options, ...clipRange(inputs) });
      }
  }
}

function outputs(inputs: Inputs, result: PolicyLossResult): Outputs {
  const { loss, metrics, gradLogProbs, gradEntropies } = result;
  const plain = { loss, metrics, grad_per_token_logps: gradLogProbs, grad_entropies: gradEntropies };
  if (!inputs.has("use_adaptive_entropy")) return plain;
  const next = updateEntropyCoefficient(entropyState(inputs), metrics.entropy!, entropyTarget(inputs));
  return {
    ...plain,
    metrics: { ...metrics, entropy_coef: next.coefficient },
    next_entropy_coef: next.coefficient,
    next_last_world_entropy: next.lastEntropy,
  };
}

const grpo = (name: string, ours: Mapping["ours"], more: Partial<Mapping> = {}): Mapping => ({
  family: "trl",
  function: `grpo_loss_${name}`,
  ours,
  options: `preset "trl", aggregation "trl/${name}"`,
  run: (inputs, context) => outputs(inputs, evaluate(inputs, context)),
  ...more,
});

export const trlLoss: readonly Mapping[] = [
  grpo("grpo", ["ppoLoss", "gspoLoss", "updateEntropyCoefficient"]),
  grpo("bnpo", ["ppoLoss", "gspoLoss"]),
  grpo("dr_grpo", ["ppoLoss", "gspoLoss"]),
  grpo("dapo", ["ppoLoss", "gspoLoss"]),
  grpo("cispo", "cispoLoss", { differs: "epsilon_high is the bound of the ratio, 1 + clipHigh here" }),
  grpo("sapo", "sapoLoss"),
  grpo("vespo", "vespoLoss", {
    differs: 'its sum of the sampler\'s ratios runs over padding too; here only with rolloutWeightsOver "all"',
  }),
  grpo("luspo", "luspoLoss", {
    replacedBy:
      "KL, masks and weights per token are averaged as the policy term is; upstream averages every column, padding included",
  }),
  {
    family: "trl",
    function: "gmpo_loss",
    ours: "gmpoLoss",
    options: 'preset "trl"',
    run: (inputs, context) =>
      outputs(inputs, gmpoLoss(batchOf(inputs, context), { ...common(inputs, context, "grpo"), ...clipRange(inputs) })),
  },
  {
    family: "trl",
    function: "gspo_token_loss",
    ours: ["gspoTokenLoss", "gspoLoss"],
    options: 'preset "trl"',
    run: (inputs, context) => outputs(inputs, evaluate(inputs, context)),
  },
  {
    family: "trl",
    function: "rloo_loss",
    ours: "rlooLoss",
    options: 'preset "trl", oldSequenceLogProbs',
    run: (inputs, context) => {
      const batch = { ...batchOf(inputs, context), oldSequenceLogProbs: inputs.floats("old_logps") };
      return outputs(inputs, rlooLoss(batch, { preset: "trl", ...clipRange(inputs), backend: context.backend }));
    },
  },
  {
    family: "trl",
    function: "ppo_losses",
    ours: "actorCriticLoss",
    options: 'metricNames "trlPpo"',
    differs: "log-probs under the mask are set to 1 there, so that their ratio is 1",
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("new_logprobs");
      const result = actorCriticLoss(
        {
          shape,
          mask: complement(inputs.uint8("padding_mask")),
          valueMask: complement(inputs.uint8("padding_mask_p1")),
          logProbs: inputs.floats("new_logprobs"),
          oldLogProbs: inputs.floats("logprobs"),
          advantages: inputs.floats("advantages"),
          advantagesPer: "token",
          values: inputs.floats("vpred"),
          oldValues: inputs.floats("values"),
          returns: inputs.floats("returns"),
        },
        {
          clip: inputs.number("cliprange"),
          valueClip: inputs.number("cliprange_value"),
          valueCoefficient: inputs.number("vf_coef"),
          metricNames: "trlPpo",
          backend,
        },
      );
      return {
        loss: result.loss,
        pg_loss: result.policy.loss,
        vf_loss: result.value.loss,
        ...result.policy.metrics,
        vf_clipfrac: result.value.metrics["critic/vf_clipfrac"],
        grad_new_logprobs: result.gradLogProbs,
        grad_vpred: result.gradValues,
      };
    },
  },
  {
    family: "trl",
    function: "iw_opd_loss",
    ours: ["reinforceLoss", "iwOpdAdvantage", "logprob", "logprobBackward"],
    options: "advantages of iwOpdAdvantage",
    run: (inputs, { backend }) => {
      const shape = inputs.shape2("labels");
      const mask = Uint8Array.from(inputs.int32("labels"), (label) => (label === -100 ? 0 : 1));
      const tensor = float32Tensor(inputs, "student_logits");
      const temperature = inputs.number("temperature");
      const targets = inputs.int32("completion_tokens");
      const student = logprob(tensor, targets, { temperature, backend });
      const rollout = inputs.has("rollout_logprobs") ? inputs.floats("rollout_logprobs") : student.logProbs;
      const { advantages } = iwOpdAdvantage(
        { shape, mask, samplerLogProbs: rollout, teacherLogProbs: inputs.floats("teacher_logprobs") },
        { gamma: inputs.number("gamma"), epsilon: inputs.number("epsilon"), backend },
      );
      const { loss, gradLogProbs } = reinforceLoss(
        { shape, mask, logProbs: student.logProbs, advantages, advantagesPer: "token" },
        { ...(inputs.has("num_items_in_batch") && { tokens: inputs.number("num_items_in_batch") }), backend },
      );
      return {
        loss,
        grad_student_logits: logprobBackward(tensor, targets, student, { gradLogProbs, temperature, backend }),
      };
    },
  },
];
