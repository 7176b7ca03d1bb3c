// verl as of August 2026: policy and value losses, KL terms.
import {
  affine,
  aggregateLoss,
  combineLosses,
  type CombinedLoss,
  dppoLoss,
  droLoss,
  type KlEstimatorName,
  klPenalty,
  moments,
  type PolicyBatch,
  policyLoss,
  type PolicyLossResult,
  ppoLoss,
  reinforceLoss,
  topKDistillation,
} from "surprisal";
import type { Inputs } from "../../inputs";
import { batchOf, clipRange, commonOf, outputs, settings, verlLosses } from "../../mappings/verl-loss";
import { verlReductions } from "../../mappings/reductions";
import type { Context, Mapping } from "../../mapping";

const family = "verl-2026-08";

/** Unchanged since January, and recorded once. */
const RECORDED_BEFORE = ["compute_policy_loss_gspo", "compute_policy_loss_geo_mean", "compute_policy_loss_sapo"];

const common = commonOf("verl");

function dppo(name: string, ours: "dppoTv" | "dppoKl"): Mapping {
  return {
    family,
    function: name,
    ours: ["policyLoss", "dppoLoss"],
    options: `"${ours}", preset "verl"`,
    run: (inputs: Inputs, context) => {
      const { clipLow: low, clipHigh: high } = clipRange(inputs);
      const cap = inputs.has("clip_ratio_c") ? inputs.number("clip_ratio_c") : 20;
      const options = { ...common(inputs, context), low, high, ratioCap: cap };
      return outputs(policyLoss(ours, batchOf(inputs), options));
    },
  };
}

const dro: Mapping = {
  family,
  function: "compute_policy_loss_dro",
  ours: "droLoss",
  options: 'preset "verl"',
  failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
  run: (inputs, context) => {
    const own = settings(inputs);
    const beta = own.has("dro_beta") ? own.number("dro_beta") : (undefined as unknown as number);
    return outputs(droLoss(batchOf(inputs), { ...common(inputs, context), beta }));
  },
};

/** The policy loss that the distillation goes through, by its name there. */
function throughLoss(inputs: Inputs, batch: PolicyBatch, context: Context): PolicyLossResult {
  const shared = common(inputs, context);
  switch (inputs.oneOf("policy_loss_mode", ["vanilla", "dppo_tv", "gpg"])) {
    case "vanilla":
      return ppoLoss(batch, { ...shared, ...clipRange(inputs) });
    case "dppo_tv":
      return dppoLoss(batch, {
        ...shared,
        low: inputs.number("clip_ratio_low"),
        high: inputs.number("clip_ratio_high"),
        ratioCap: 20, // what holds where the trainer's configuration has no field for it
      });
    case "gpg":
      return reinforceLoss(batch, shared);
  }
}

const distillation: Mapping = {
  family,
  function: "distillation_loss",
  ours: ["klPenalty", "policyLoss", "combineLosses", "moments"],
  options: 'preset "verl", valueClamp; the negative estimates as advantages of a policy loss, or aggregated',
  run: (inputs, context) => {
    const { backend } = context;
    const layout = { shape: inputs.shape2("response_mask"), mask: inputs.uint8("response_mask"), backend };
    const n = layout.mask.length;
    const estimator = inputs.string("loss_mode") as KlEstimatorName;
    const estimate = (name: KlEstimatorName, bound: object | false = false) =>
      klPenalty(Float64Array.from(inputs.floats("log_prob")), inputs.floats("teacher_log_prob"), {
        preset: "verl",
        ...layout,
        estimator: name,
        ...bound,
      });
    const { values, gradLogProbs } = estimate(
      estimator,
      inputs.has("loss_max_clamp") && { valueClamp: inputs.number("loss_max_clamp") },
    );
    // Its figures are those of the estimates before the clamp.
    const over = { ...layout, over: "all" } as const;
    const free = moments(estimate(estimator).values, over);
    const sizes = moments(estimate(["k1", "kl"].includes(estimator) ? "abs" : estimator).values, over);
    const batch: PolicyBatch = {
      shape: layout.shape,
      mask: layout.mask,
      logProbs: inputs.floats("log_prob"),
      oldLogProbs: inputs.floats("old_log_prob"),
      advantages: affine(values, { ...layout, scale: -1 }),
      advantagesPer: "token",
    };
    const aggregated = (): CombinedLoss => {
      const { aggregation: mode } = common(inputs, context);
      const { loss, gradients } = aggregateLoss(values, { ...layout, mode });
      return { loss, gradLogProbs: affine(gradLogProbs, { shape: [n, 1], scale: gradients, backend }) };
    };
    const policy = inputs.boolean("use_policy_gradient") ? throughLoss(inputs, batch, context) : undefined;
    const taught = policy ?? aggregated();
    const metrics = {
      "distillation/loss": taught.loss,
      "distillation/abs_loss": sizes.means[0],
      "distillation/loss_max": free.maxs[0],
      "distillation/loss_min": free.mins[0],
      ...Object.fromEntries(
        Object.entries(policy?.metrics ?? {}).map(([name, value]) => [name.replace("actor/", "distillation/"), value]),
      ),
    };
    const task = { ...batch, advantages: inputs.floats("advantages") };
    const { loss, gradLogProbs: gradient } = inputs.boolean("use_task_rewards")
      ? combineLosses([
          reinforceLoss(task, { preset: "verl", backend }),
          { ...taught, weight: inputs.number("distillation_loss_coef") },
        ])
      : taught;
    return { loss, grad_log_prob: gradient, metrics };
  },
};

const distillationTopK: Mapping = {
  family,
  function: "distillation_forward_kl_topk",
  ours: "topKDistillation",
  options: "floor −10; valueRange [0, 10] in training",
  run: (inputs, { backend }) => {
    const shape = inputs.shape2("student_logits");
    const result = topKDistillation(
      { data: inputs.float32("student_logits"), shape, dtype: "float32" },
      { ids: inputs.int32("teacher_topk_ids"), logProbs: inputs.floats("teacher_topk_log_probs") },
      {
        ...(inputs.has("log_prob_min_clamp") && { floor: inputs.number("log_prob_min_clamp") }),
        weights: inputs.floats("g"),
        tokens: 1,
        backend,
      },
    );
    return {
      losses: result.values,
      student_mass: result.studentMasses,
      teacher_mass: result.teacherMasses,
      overlap_count: result.overlaps,
      overlap_token_advantage: result.overlapAdvantages,
      grad_student_logits: result.gradStudentLogits,
    };
  },
};

export const verl202608Losses: readonly Mapping[] = [
  ...verlLosses(family, "verl").filter((mapping) => !RECORDED_BEFORE.includes(mapping.function)),
  ...verlReductions(family, "verl"),
  dppo("compute_policy_loss_dppo_tv", "dppoTv"),
  dppo("compute_policy_loss_dppo_kl", "dppoKl"),
  dro,
  distillation,
  distillationTopK,
];
