// verl: policy and value losses, the KL penalty.
import {
  bypassLoss,
  cispoLoss,
  clipCovLoss,
  gmpoLoss,
  gspoTokenLoss,
  type KlEstimatorName,
  klCovLoss,
  klPenalty,
  type PolicyBatch,
  type PolicyLossResult,
  ppoLoss,
  reinforceLoss,
  sapoLoss,
  valueLoss,
} from "surprisal";
import type { GoldenRecord } from "../golden";
import { Inputs } from "../inputs";
import type { Context, Mapping, Outputs } from "../mapping";
import { rejectionRules, weightRule } from "./correction";
import { type VerlEdition, verlCounts, verlMode } from "./reductions";

const nothing = "nothing kept: the loss is 0, and so is its gradient";

export function batchOf(inputs: Inputs, old = "old_log_prob"): PolicyBatch {
  return {
    shape: inputs.shape2("response_mask"),
    mask: inputs.uint8("response_mask"),
    logProbs: inputs.floats("log_prob"),
    ...(inputs.has(old) && { oldLogProbs: inputs.floats(old) }),
    advantages: inputs.floats("advantages"),
    advantagesPer: "token",
    ...(inputs.has("rollout_is_weights") && {
      rolloutWeights: inputs.floats("rollout_is_weights"),
      rolloutWeightsPer: "token",
    }),
  };
}

/** What all calls have: the preset, the mode of the case and the counts of the larger batch. */
export function commonOf<Edition extends VerlEdition>(edition: Edition) {
  return (inputs: Inputs, { backend }: Context) => {
    const apart = inputs.has("global_batch_info");
    const counts = verlCounts(apart ? new Inputs(inputs.value("global_batch_info") as GoldenRecord) : inputs);
    return { preset: edition, aggregation: verlMode(inputs, edition), ...counts, backend } as const;
  };
}

/** The widths of a case, which stand in for each other where one is absent. */
export function clipRange(inputs: Inputs) {
  const width = (name: string): number => inputs.number(inputs.has(name) ? name : "clip_ratio");
  return { clipLow: width("clip_ratio_low"), clipHigh: width("clip_ratio_high") };
}

export function outputs({ loss, metrics, gradLogProbs }: PolicyLossResult): Outputs {
  return { loss, metrics, grad_log_prob: gradLogProbs };
}

/** The settings of a loss, a record of their own. */
export function settings(inputs: Inputs): Inputs {
  return new Inputs(inputs.value("policy_loss") as GoldenRecord);
}

/** Of both editions of verl; what one of them lacks has no golden file there. */
export function verlLosses(family: string, edition: VerlEdition): readonly Mapping[] {
  const common = commonOf(edition);
  const preset = `preset "${edition}"`;
  return [
    {
      family,
      function: "compute_policy_loss_vanilla",
      ours: "ppoLoss",
      options: preset,
      run: (inputs, context) =>
        outputs(
          ppoLoss(batchOf(inputs), {
            ...common(inputs, context),
            ...clipRange(inputs),
            dualClip: inputs.number("clip_ratio_c"),
          }),
        ),
    },
    {
      family,
      function: "compute_policy_loss_gspo",
      ours: "gspoTokenLoss",
      options: preset,
      differs: "one mean a row, whatever the aggregation that is asked for",
      run: (inputs, context) => {
        const { aggregation: _, ...shared } = common(inputs, context);
        return outputs(gspoTokenLoss(batchOf(inputs), { ...shared, ...clipRange(inputs) }));
      },
    },
    {
      family,
      function: "compute_policy_loss_geo_mean",
      ours: "gmpoLoss",
      options: preset,
      differs: "both take a mean over all rows; the counts of a larger batch are not used there",
      run: (inputs, { backend }) =>
        outputs(gmpoLoss(batchOf(inputs), { preset: edition, ...clipRange(inputs), backend })),
    },
    {
      family,
      function: "compute_policy_loss_cispo",
      ours: "cispoLoss",
      options: `${preset}, clipLow`,
      run: (inputs, context) =>
        outputs(cispoLoss(batchOf(inputs), { ...common(inputs, context), ...clipRange(inputs) })),
    },
    {
      family,
      function: "compute_policy_loss_sapo",
      ours: "sapoLoss",
      options: preset,
      differs: "one mean a row, whatever the aggregation that is asked for",
      run: (inputs, context) => {
        const { aggregation: _, ...shared } = common(inputs, context);
        const temperatures = {
          temperaturePositive: inputs.number("tau_pos"),
          temperatureNegative: inputs.number("tau_neg"),
        };
        return outputs(sapoLoss(batchOf(inputs), { ...shared, ...temperatures }));
      },
    },
    {
      family,
      function: "compute_policy_loss_gpg",
      ours: "reinforceLoss",
      options: preset,
      differs: "logs nothing",
      run: (inputs, context) => ({ ...outputs(reinforceLoss(batchOf(inputs), common(inputs, context))), metrics: {} }),
    },
    {
      family,
      function: "compute_policy_loss_reinforce",
      ours: "reinforceLoss",
      options: preset,
      differs: "the sampler's log-probs are oldLogProbs here",
      run: (inputs, context) => outputs(reinforceLoss(batchOf(inputs, "rollout_log_prob"), common(inputs, context))),
    },
    {
      family,
      function: "compute_policy_loss_clip_cov",
      ours: "clipCovLoss",
      options: preset,
      differs: "the order of the candidates comes from torch's generator; here from a seed or as permutation",
      run: (inputs, context) =>
        outputs(
          clipCovLoss(batchOf(inputs), {
            ...common(inputs, context),
            ...clipRange(inputs),
            share: inputs.number("clip_cov_ratio"),
            between: [inputs.number("clip_cov_lb"), inputs.number("clip_cov_ub")],
            permutation: Int32Array.from(inputs.numbers("perm")),
          }),
        ),
    },
    {
      family,
      function: "compute_policy_loss_kl_cov",
      ours: "klCovLoss",
      options: preset,
      replacedBy: nothing,
      run: (inputs, context) => {
        const own = settings(inputs);
        const options = { share: own.number("kl_cov_ratio"), coefficient: own.number("ppo_kl_coef") };
        return outputs(klCovLoss(batchOf(inputs), { ...common(inputs, context), ...options }));
      },
    },
    {
      family,
      function: "compute_policy_loss_bypass_mode",
      ours: "bypassLoss",
      options: preset,
      differs: "the sampler's log-probs are samplerLogProbs here",
      run: (inputs, context) => {
        const rules = new Inputs(settings(inputs).value("rollout_correction") as GoldenRecord);
        const correction = {
          ...(rules.has("rollout_is") && { weights: weightRule(rules) }),
          ...(rules.has("rollout_rs") && { rejection: rejectionRules(rules) }),
        };
        const { oldLogProbs, ...batch } = batchOf(inputs);
        const options = { ...common(inputs, context), correction };
        const clips = rules.oneOf("loss_type", ["ppo_clip", "reinforce"]) === "ppo_clip";
        const objective = clips
          ? ({ objective: "clip", ...clipRange(inputs) } as const)
          : ({ objective: "reinforce" } as const);
        return outputs(bypassLoss({ ...batch, samplerLogProbs: oldLogProbs! }, { ...options, ...objective }));
      },
    },
    {
      family,
      function: "compute_value_loss",
      ours: "valueLoss",
      options: preset,
      replacedBy: nothing,
      run: (inputs, context) => {
        const batch = {
          shape: inputs.shape2("response_mask"),
          mask: inputs.uint8("response_mask"),
          values: inputs.floats("vpreds"),
          oldValues: inputs.floats("values"),
          returns: inputs.floats("returns"),
        };
        const result = valueLoss(batch, { ...common(inputs, context), clip: inputs.number("cliprange_value") });
        return {
          vf_loss: result.loss,
          vf_clipfrac: result.metrics["critic/vf_clipfrac"],
          grad_vpreds: result.gradValues,
        };
      },
    },
    {
      family,
      function: "kl_penalty",
      ours: "klPenalty",
      options: preset,
      failures: { NotImplementedError: ["ERR_SURPRISAL_OPTION"] },
      replacedBy: "a name with + has the value of the name and the gradient of k2",
      run: (inputs, { backend }) => {
        const estimator = inputs.string("kl_penalty") as KlEstimatorName;
        const layout = { shape: inputs.shape2("logprob"), preset: edition, estimator, backend } as const;
        const { values, gradLogProbs } = klPenalty(inputs.floats("logprob"), inputs.floats("ref_logprob"), layout);
        return { kl: values, grad_logprob: gradLogProbs };
      },
    },
  ];
}

export const verlLoss = verlLosses("verl", "verl-2026-01");
