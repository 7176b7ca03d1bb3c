// slime: policy and value losses, KL terms.
import {
  affine,
  aggregateLoss,
  cispoLoss,
  clamp,
  combineLosses,
  gspoLoss,
  groupBroadcast,
  importanceRatio,
  keptLogprob,
  keptLogprobBackward,
  klPenalty,
  offPolicyMask,
  type PolicyBatch,
  type PolicyLossResult,
  ppoLoss,
  valueLoss,
} from "surprisal";
import type { GoldenRecord } from "../../golden";
import { type FloatArray, Inputs } from "../../inputs";
import type { Context, Mapping } from "../../mapping";

const family = "slime";

/** The columns that a table of flags keeps of each row, as lists; all of them without a table. */
function keptIds(inputs: Inputs) {
  const [rows, vocab] = inputs.shape2("logits");
  const flags = inputs.has("keep") ? inputs.uint8("keep") : undefined;
  const lists = Array.from({ length: rows }, (_, b) =>
    Array.from({ length: vocab }, (_, j) => j).filter((j) => flags?.[b * vocab + j] !== 0),
  );
  const offsets = new Int32Array(rows + 1);
  lists.forEach((list, b) => (offsets[b + 1] = offsets[b]! + list.length));
  return { ids: Int32Array.from(lists.flat()), offsets };
}

const wide = (values: FloatArray): Float64Array => Float64Array.from(values);
const on = (inputs: Inputs, name: string): boolean => inputs.has(name) && inputs.boolean(name);

/** The bounds of a case: what is not given below is one over what is given above. */
function boundsOf(inputs: Inputs, of: "tis" | "rs") {
  const name = (end: string): string => {
    const own = `${of}_${end}_bound`;
    return inputs.has(own) || of === "tis" ? own : `tis_${end}_bound`;
  };
  const high = inputs.number(name("upper"));
  return { low: inputs.has(name("lower")) ? inputs.number(name("lower")) : 1 / high, high };
}

interface Tokens {
  readonly old: FloatArray;
  readonly sampler: FloatArray;
  readonly mask: Uint8Array;
  readonly shape: readonly [number, number];
}

/** The weights of multi-level importance sampling, and the mask without what it rejects. */
function misWeights(inputs: Inputs, { old, sampler, mask, shape }: Tokens, { backend }: Context) {
  const layout = { shape, mask };
  const far = (level: string, bounds: object) =>
    level === "token" ? bounds : ({ ...bounds, level: "row", reduce: level === "sequence" ? "sum" : "mean" } as const);
  let kept = mask;
  if (inputs.boolean("use_tis") && inputs.string("tis_mode") === "mask")
    kept = offPolicyMask(old, sampler, { ...layout, ...far(inputs.string("tis_level"), boundsOf(inputs, "tis")) }).mask;
  if (inputs.boolean("use_rs")) {
    kept = offPolicyMask(old, sampler, {
      ...layout,
      mask: kept,
      ...far(inputs.string("rs_level"), boundsOf(inputs, "rs")),
    }).mask;
    if (inputs.has("rs_veto_threshold")) {
      const veto = offPolicyMask(old, sampler, {
        ...layout,
        level: "row",
        reduce: "min",
        low: inputs.number("rs_veto_threshold"),
      });
      kept = kept.map((flag, i) => (veto.mask[i] === 0 ? 0 : flag));
    }
  }
  if (!inputs.boolean("use_tis")) return { kept, weights: undefined };
  const level = inputs.oneOf("tis_level", ["token", "sequence", "geometric"]);
  const { low, high } = boundsOf(inputs, "tis");
  const bounds = { truncate: { high }, clip: { low, high }, mask: {} }[
    inputs.oneOf("tis_mode", ["truncate", "clip", "mask"])
  ];
  const batchNormalize = inputs.boolean("tis_batch_normalize");
  const options = { ...layout, level, ...bounds, batchNormalize, logClamp: 20, backend };
  const { ratios } = importanceRatio(old, sampler, options);
  return { kept, weights: level === "token" ? ratios : groupBroadcast(ratios, { shape, mask, backend }) };
}

/** Weights and terms of a case's correction, if it has one. */
function corrected(inputs: Inputs, context: Context): Partial<PolicyBatch> {
  const shape = inputs.shape2("loss_mask");
  const mask = inputs.uint8("loss_mask");
  if (on(inputs, "use_opsm")) {
    const { mask: termMask } = offPolicyMask(inputs.floats("old_log_probs"), inputs.floats("log_probs"), {
      shape,
      mask,
      measure: "k1",
      level: "row",
      high: inputs.number("opsm_delta"),
      drops: "negative",
      advantages: inputs.floats("advantages"),
      advantagesPer: "token",
    });
    return { termMask };
  }
  if (!on(inputs, "use_tis")) return {};
  const [old, sampler] = [inputs.floats("old_log_probs"), inputs.floats("rollout_log_probs")];
  const kind = inputs.has("tis_function") ? inputs.oneOf("tis_function", ["icepop", "mis"]) : "tis";
  if (kind === "mis") {
    const rules = new Inputs(inputs.value("mis") as GoldenRecord);
    const { kept, weights } = misWeights(rules, { old, sampler, mask, shape }, context);
    return { termMask: kept, rolloutWeights: weights, rolloutWeightsPer: "token" };
  }
  const { ratios } = importanceRatio(old, sampler, {
    shape,
    mask,
    mode: `openrlhf/${kind}`,
    low: inputs.number("tis_clip_low"),
    high: inputs.number("tis_clip"),
    backend: context.backend,
  });
  return { rolloutWeights: ratios, rolloutWeightsPer: "token" };
}

/** One policy loss over the rows of `mask`; with `tokens` these divide it. */
function policyOf(inputs: Inputs, context: Context, mask: Uint8Array, tokens?: number): PolicyLossResult {
  const old = on(inputs, "use_rollout_logprobs") ? "rollout_log_probs" : "old_log_probs";
  const batch: PolicyBatch = {
    shape: inputs.shape2("loss_mask"),
    mask,
    logProbs: inputs.floats("log_probs"),
    ...(inputs.has(old) && { oldLogProbs: inputs.floats(old) }),
    referenceLogProbs: inputs.floats("ref_log_probs"),
    entropies: inputs.floats("entropies"),
    advantages: inputs.floats("advantages"),
    advantagesPer: "token",
    ...corrected(inputs, context),
  };
  const kind = inputs.has("kl_loss_type") ? inputs.oneOf("kl_loss_type", ["k1", "k2", "k3", "low_var_kl"]) : "k1";
  const common = {
    preset: "slime",
    ...(on(inputs, "calculate_per_token_loss") ? ({ aggregation: "tokenSum" } as const) : { rows: 1 }),
    ...(tokens !== undefined && ({ aggregation: "tokenMean", tokens } as const)),
    ...(on(inputs, "use_kl_loss") && {
      kl: {
        coefficient: inputs.number("kl_loss_coef"),
        kind: kind === "low_var_kl" ? "k3" : kind,
        importanceCorrected: on(inputs, "use_unbiased_kl"),
        ...(kind === "low_var_kl" && { valueClamp: 10 }),
      },
    }),
    ...(inputs.has("entropy_coef") && { entropyBonus: { coefficient: inputs.number("entropy_coef") } }),
    clipLow: inputs.has("eps_clip") ? inputs.number("eps_clip") : 0.2,
    clipHigh: inputs.has("eps_clip_high") ? inputs.number("eps_clip_high") : 0.2,
    backend: context.backend,
  } as const;
  const estimator = inputs.has("advantage_estimator")
    ? inputs.oneOf("advantage_estimator", ["grpo", "gspo", "cispo"])
    : "grpo";
  if (estimator === "gspo") return gspoLoss(batch, common);
  if (estimator === "cispo") return cispoLoss(batch, common);
  return ppoLoss(batch, { ...common, ...(inputs.has("eps_clip_c") && { dualClip: inputs.number("eps_clip_c") }) });
}

export const slimeLosses: readonly Mapping[] = [
  {
    family,
    function: "policy_loss_function",
    ours: ["ppoLoss", "gspoLoss", "cispoLoss", "offPolicyMask", "importanceRatio"],
    options:
      'preset "slime"; rows 1, or aggregation "tokenSum"; rows that share a denominator: a loss of these with `tokens`, and combineLosses',
    notCompared: {
      outputs: ["metrics"],
      because:
        "sums under its reduction of what results have per token (aggregateLoss of losses, clipped, kl); mis_ figures: compute_mis_weights",
    },
    run: (inputs, context) => {
      const mask = inputs.uint8("loss_mask");
      if (inputs.has("denominators")) {
        const rows = inputs.numbers("denominators");
        const width = inputs.shape2("loss_mask")[1];
        const parts = [...new Set(rows)].map((tokens) =>
          policyOf(
            inputs,
            context,
            mask.map((kept, i) => (rows[Math.floor(i / width)] === tokens ? kept : 0)),
            tokens,
          ),
        );
        const { loss, gradLogProbs } = combineLosses(parts);
        return { loss, grad_log_probs: gradLogProbs, grad_entropies: new Float64Array(mask.length) };
      }
      const { loss, gradLogProbs, gradEntropies } = policyOf(inputs, context, mask);
      return {
        loss,
        grad_log_probs: gradLogProbs,
        grad_entropies: gradEntropies ?? new Float64Array(gradLogProbs.length),
      };
    },
  },
  {
    family,
    function: "compute_mis_weights",
    ours: ["importanceRatio", "offPolicyMask"],
    options: "importanceRatio with batchNormalize; offPolicyMask for each rule",
    notCompared: {
      outputs: ["metrics"],
      because:
        "each row counts once in kl, k3_kl and weights, each token in mismatchMetrics; perplexities are those of mismatchMetrics",
    },
    replacedBy: "geometric weights are divided by their mean over rows",
    run: (inputs, context) => {
      const tokens = {
        old: inputs.floats("train_log_probs"),
        sampler: inputs.floats("rollout_log_probs"),
        mask: inputs.uint8("loss_mask"),
        shape: inputs.shape2("loss_mask"),
      };
      const { kept, weights } = misWeights(inputs, tokens, context);
      return { weights: weights ?? null, loss_mask: kept };
    },
  },
  {
    family,
    function: "value_loss_function",
    ours: ["valueLoss", "combineLosses", "clamp", "aggregateLoss"],
    options: 'preset "slime", rows 1 or aggregation "tokenSum"; weight 2: it has no factor 1/2',
    differs:
      "its share of clipped values is that of values that moved by more than the width, whichever error is larger",
    run: (inputs, { backend }) => {
      const perToken = inputs.boolean("calculate_per_token_loss");
      const result = valueLoss(
        {
          shape: inputs.shape2("loss_mask"),
          mask: inputs.uint8("loss_mask"),
          values: inputs.floats("values"),
          oldValues: inputs.floats("old_values"),
          returns: inputs.floats("returns"),
        },
        {
          preset: "slime",
          clip: inputs.number("value_clip"),
          ...(perToken ? { aggregation: "tokenSum" } : { rows: 1 }),
          backend,
        },
      );
      const { loss, gradLogProbs } = combineLosses([{ loss: result.loss, gradLogProbs: result.gradValues, weight: 2 }]);
      const width = inputs.number("value_clip");
      const [values, old] = [wide(inputs.floats("values")), wide(inputs.floats("old_values"))];
      const each = { shape: [values.length, 1], backend } as const;
      const { outside } = clamp(affine(values, { ...each, center: old }), { ...each, low: -width, high: width });
      const moved = aggregateLoss(Float64Array.from(outside), {
        shape: inputs.shape2("loss_mask"),
        mask: inputs.uint8("loss_mask"),
        ...(perToken ? { mode: "tokenSum" } : { mode: "rowMean", rows: 1 }),
        backend,
      });
      return { loss, grad_values: gradLogProbs, metrics: { value_loss: loss, value_clipfrac: moved.loss } };
    },
  },
  {
    family,
    function: "replay_support_log_probs",
    ours: ["keptLogprob", "keptLogprobBackward"],
    run: (inputs, { backend }) => {
      const logits = inputs.float32("logits");
      const entropies = inputs.floats("grad_entropy").some((g) => g !== 0); // else they were not asked for
      const options = { shape: inputs.shape2("logits"), entropies, backend };
      const targets = inputs.int32("target");
      const kept = keptIds(inputs);
      const { state, ...result } = keptLogprob(logits, targets, kept, options);
      const gradients = {
        gradLogProbs: inputs.floats("grad_logp"),
        ...(entropies && { gradEntropies: inputs.floats("grad_entropy") }),
      };
      const gradient = keptLogprobBackward(logits, targets, kept, state, { ...options, ...gradients });
      return { logp: result.logProbs, entropy: result.entropies, grad_logits: gradient };
    },
  },
  {
    family,
    function: "compute_approx_kl",
    ours: "klPenalty",
    options: 'preset "slime"; low_var_kl: valueClamp 10; use_unbiased_kl: importance',
    run: (inputs, { backend }) => {
      const name = inputs.oneOf("kl_loss_type", ["k1", "k2", "k3", "low_var_kl"] as const);
      const { values, gradLogProbs } = klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), {
        preset: "slime",
        shape: inputs.shape2("log_probs"),
        estimator: name,
        ...(name === "low_var_kl" && { valueClamp: 10 }),
        ...(inputs.has("old_log_probs") && { importance: inputs.floats("old_log_probs") }),
        backend,
      });
      return { kl: values, grad_log_probs: gradLogProbs };
    },
  },
];
