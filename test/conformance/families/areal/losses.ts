// AReaL: policy and value losses, KL terms, and the masks and weights of tokens that an older policy drew.
import {
  affine,
  cispoLoss,
  combineLosses,
  countKept,
  groupBroadcast,
  gspoLoss,
  importanceRatio,
  klPenalty,
  logRatio,
  moments,
  offPolicyMask,
  type OffPolicyMaskOptions,
  type PolicyBatch,
  type PolicyLossResult,
  ppoLoss,
  proximalLogProbs,
  reinforceLoss,
  sapoLoss,
  secondMomentMask,
  valueLoss,
} from "surprisal";
import type { GoldenRecord } from "../../golden";
import { type FloatArray, Inputs } from "../../inputs";
import type { Context, Mapping } from "../../mapping";

const family = "areal";
const preset = { preset: "areal" } as const;

const MEASURE = { ratio: "ratio", kl_k1: "k1", kl_k2: "k2", kl_k3: "k3", binary_kl: "binaryKl" } as const;

/** The rule of a case: its own fields, or a record of them. */
function own(inputs: Inputs, name: string): Inputs {
  return new Inputs(inputs.value(name) as GoldenRecord);
}

interface Tokens {
  readonly old: FloatArray;
  readonly sampler: FloatArray;
  readonly mask: Uint8Array;
  readonly layout: { readonly shape: readonly [number, number] } | { readonly offsets: Int32Array };
}

/** The mask without what is rejected, the weight of each token, and the share that is outside of the bounds. */
function reject(rule: Inputs, { old, sampler, mask, layout }: Tokens, { backend }: Context) {
  const measure =
    MEASURE[rule.has("metric") ? rule.oneOf("metric", ["ratio", "kl_k1", "kl_k2", "kl_k3", "binary_kl"]) : "ratio"];
  const byRow = rule.has("level") && rule.string("level") === "sequence";
  const bounds = {
    high: rule.has("upper") ? rule.number("upper") : 5,
    ...(rule.has("lower") && { low: rule.number("lower") }),
  };
  const reduce = rule.has("agg") ? rule.oneOf("agg", ["mean", "sum", "max"] as const) : "mean";
  const judged: OffPolicyMaskOptions = {
    ...layout,
    mask,
    measure,
    ...(byRow && { level: "row", reduce }),
    ...bounds,
  };
  const { mask: near, droppedFraction } = offPolicyMask(old, sampler, judged);
  const clamps = rule.has("action") && rule.string("action") === "clamp";
  const kept = clamps ? mask : near;
  const weigh = (limits: object): FloatArray => {
    const options = { ...layout, mask: kept, ...limits, backend };
    if (!byRow || measure !== "ratio") return importanceRatio(old, sampler, { ...options, level: "token" }).ratios;
    const { ratios } = importanceRatio(old, sampler, { ...options, mask, level: "geometric" });
    return groupBroadcast(ratios, { ...layout, mask: kept, backend });
  };
  const plain = weigh({});
  const held = clamps ? weigh({ low: 0, ...bounds }) : plain;
  const weights = byRow ? plain.map((w, i) => (near[i] === 0 ? held[i]! : w)) : held;
  if (!clamps) return { kept, weights, droppedFraction };
  // Of weights that are bounded it is the share that was.
  const byMean = byRow && measure === "ratio" ? ({ level: "row", reduce: "mean" } as const) : {};
  const changed = offPolicyMask(old, sampler, { ...layout, mask, ...byMean, low: 0, ...bounds }).droppedFraction;
  return { kept, weights, droppedFraction: changed };
}

const tokensOf = (inputs: Inputs): Tokens => ({
  old: inputs.floats("proximal_logprobs"),
  sampler: inputs.floats("old_logprobs"),
  mask: inputs.uint8("loss_mask"),
  layout: { shape: inputs.shape2("loss_mask") },
});

function batchOf(inputs: Inputs, old = "proximal_logprobs"): PolicyBatch {
  return {
    shape: inputs.shape2("loss_mask"),
    mask: inputs.uint8("loss_mask"),
    logProbs: inputs.floats("logprobs"),
    oldLogProbs: inputs.floats(old),
    advantages: inputs.floats("advantages"),
    advantagesPer: "token",
  };
}

const band = (inputs: Inputs) => ({
  clipLow: inputs.number("eps_clip"),
  clipHigh: inputs.has("eps_clip_higher") ? inputs.number("eps_clip_higher") : inputs.number("eps_clip"),
});

const bySequence = (inputs: Inputs): boolean =>
  inputs.has("importance_sampling_level") && inputs.string("importance_sampling_level") === "sequence";

/** PPO per token, or by row with the rows' mean advantages over what the rejection left. */
function clipped(inputs: Inputs, batch: PolicyBatch, { backend }: Context): PolicyLossResult {
  const common = { ...preset, backend, ...band(inputs) };
  if (!bySequence(inputs)) {
    const dual = inputs.has("c_clip") ? { dualClip: inputs.number("c_clip") } : {};
    return ppoLoss(batch, { ...common, ...dual });
  }
  const { shape, mask, termMask = mask, advantages } = batch;
  const left = { shape: shape!, mask: termMask!, backend };
  const means = moments(advantages, { ...left, over: "row" }).means;
  const tokens = countKept({ shape: shape!, mask: mask!, backend }).reduce((sum, count) => sum + count, 0);
  const { termMask: _, rolloutWeights, ...rest } = batch;
  const rows = { ...rest, mask: termMask!, advantages: means, advantagesPer: "row" } as const;
  const weights = rolloutWeights ? ({ rolloutWeights, rolloutWeightsPer: "token" } as const) : {};
  return gspoLoss({ ...rows, ...weights }, { ...common, ...(tokens > 0 && { tokens }) });
}

/** The policy one version back, as the case has it: given, made of the versions, or the one that learns. */
function proximalOf(inputs: Inputs, logProbs: FloatArray, sampler: FloatArray): FloatArray {
  if (inputs.has("prox_logp")) return inputs.floats("prox_logp");
  if (inputs.string("prox_logp_method") !== "loglinear") return logProbs;
  const versions = inputs.int32("versions");
  return proximalLogProbs(logProbs, sampler, { versions, currentVersion: inputs.number("current_version") });
}

const on = (inputs: Inputs, name: string): boolean => inputs.has(name) && inputs.boolean(name);

/** The surrogate that a case chooses. */
function surrogate(inputs: Inputs, batch: PolicyBatch, context: Context): PolicyLossResult {
  const { backend } = context;
  if (on(inputs, "use_sapo_loss"))
    return sapoLoss({ ...batch, oldLogProbs: inputs.floats("old_logp") }, { ...preset, backend });
  if (on(inputs, "use_cispo_loss")) return cispoLoss(batch, { ...preset, ...band(inputs), backend });
  return clipped(inputs, batch, context);
}

/** The mean of ℓ − q over the kept tokens. */
function klToTeacher({ shape, mask, logProbs }: PolicyBatch, teacher: FloatArray, backend: Context["backend"]) {
  const n = logProbs.length;
  const still = {
    shape: shape!,
    mask: mask!,
    logProbs,
    advantages: new Float64Array(n),
    advantagesPer: "token",
  } as const;
  return reinforceLoss(
    { ...still, referenceLogProbs: teacher },
    { aggregation: "tokenMean", kl: { coefficient: 1, kind: "k1" }, backend },
  );
}

/** A loss after the rejection of the case, if it has one; the tokens that are rejected keep their place in the denominator. */
function corrected(
  inputs: Inputs,
  context: Context,
  batch: PolicyBatch,
  tokens: () => Tokens,
  evaluate: (batch: PolicyBatch) => PolicyLossResult,
) {
  const rejects = inputs.has("rejection_sampling");
  const { kept, weights, droppedFraction } = rejects
    ? reject(own(inputs, "rejection_sampling"), tokens(), context)
    : { kept: undefined, weights: undefined, droppedFraction: 0 };
  const result = evaluate({
    ...batch,
    ...(kept && { termMask: kept }),
    ...(weights && { rolloutWeights: weights, rolloutWeightsPer: "token" }),
  });
  return {
    loss: result.loss,
    grad_logprobs: result.gradLogProbs,
    ...(kept && {
      behave_imp_weight: weights,
      behave_mask: kept,
      behave_approx_kl: behaviourKl(tokens(), kept, context),
      filtered_fraction: droppedFraction,
    }),
  };
}

/** Ratios, and where which bound holds: of the loss before the rejection, and of rows after it. */
function ppoFigures(inputs: Inputs, kept: Uint8Array, { backend }: Context) {
  const batch = batchOf(inputs);
  const common = { ...preset, backend, ...band(inputs) };
  const n = kept.length;
  if (!bySequence(inputs)) {
    const { ratios, clipped: clip_mask } = ppoLoss(batch, common);
    const dual = inputs.has("c_clip") ? { dualClip: inputs.number("c_clip") } : {};
    const { clipped: dual_clip_mask } = ppoLoss(batch, { ...preset, backend, clip: Infinity, ...dual });
    return { importance_weight: ratios, clip_mask, dual_clip_mask };
  }
  const left = { shape: batch.shape!, mask: kept, backend };
  const { means } = moments(batch.advantages, { ...left, over: "row" });
  const rows = { ...batch, mask: kept, advantages: means, advantagesPer: "row" } as const;
  const { ratios } = importanceRatio(wide(batch.logProbs), batch.oldLogProbs!, { ...left, level: "geometric" });
  return {
    importance_weight: groupBroadcast(ratios, left),
    clip_mask: gspoLoss(rows, common).clipped,
    dual_clip_mask: new Uint8Array(n),
  };
}

/** The KL estimate of the correction at what it keeps. */
function behaviourKl({ old, sampler, layout }: Tokens, kept: Uint8Array, { backend }: Context) {
  return logRatio(wide(old), wide(sampler), { ...layout, mask: kept, level: "token", backend }).logRatios;
}

const wide = (values: FloatArray): Float64Array => Float64Array.from(values);
const live = (name: string) => (inputs: Inputs) => ({ [name]: inputs.uint8("loss_mask") });

export const arealLosses: readonly Mapping[] = [
  {
    family,
    function: "kl_estimator",
    ours: "klPenalty",
    options: 'preset "areal"',
    run: (inputs, { backend }) => {
      const { values, gradLogProbs } = klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), {
        preset: "areal",
        shape: inputs.shape2("log_probs"),
        estimator: inputs.oneOf("kl_estimator", ["k1", "k2", "k3"] as const),
        ...(!inputs.boolean("apply_clamp") && { valueClamp: Infinity }),
        backend,
      });
      return { kl: values, grad_log_probs: gradLogProbs };
    },
  },
  {
    family,
    function: "apply_rejection_sampling",
    ours: ["offPolicyMask", "importanceRatio"],
    options: 'measure, level "row" with reduce; importanceRatio level "token" or "geometric"',
    skip: ({ name }) =>
      name === "spec1" ? "−∞ under both policies is NaN, and seen: such a token is to be masked" : undefined,
    run: (inputs, context) => {
      const packed = inputs.has("cu_seqlens");
      const layout = packed ? { offsets: inputs.int32("cu_seqlens") } : { shape: inputs.shape2("loss_mask") };
      const tokens = {
        old: inputs.floats("proximal_logprobs"),
        sampler: inputs.floats("old_logprobs"),
        mask: inputs.uint8("loss_mask"),
        layout,
      };
      const { kept, weights, droppedFraction } = reject(inputs, tokens, context);
      return { loss_mask: kept, behave_imp_weight: weights, filtered_fraction: droppedFraction };
    },
  },
  {
    family,
    function: "apply_m2po_masking",
    ours: "secondMomentMask",
    backendFree: true,
    run: (inputs) => ({
      loss_mask: secondMomentMask(inputs.floats("old_logp"), inputs.floats("prox_logp"), {
        shape: inputs.shape2("loss_mask"),
        mask: inputs.uint8("loss_mask"),
        threshold: inputs.number("m2_threshold"),
      }),
    }),
  },
  {
    family,
    function: "ppo_actor_loss_fn",
    ours: ["ppoLoss", "gspoLoss", "offPolicyMask"],
    options:
      'preset "areal"; what is rejected as termMask; by row: mean advantages of rows, tokens before the rejection',
    failures: { AssertionError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, context) => {
      const result = corrected(
        inputs,
        context,
        batchOf(inputs),
        () => tokensOf(inputs),
        (batch) => clipped(inputs, batch, context),
      );
      return { ...result, ...ppoFigures(inputs, result.behave_mask ?? inputs.uint8("loss_mask"), context) };
    },
  },
  {
    family,
    function: "cispo_loss_fn",
    ours: ["cispoLoss", "offPolicyMask"],
    options: 'preset "areal", clipLow',
    differs: "ratios and the other clip at masked tokens",
    masked: live("importance_weight"),
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, context) => {
      const options = {
        ...preset,
        backend: context.backend,
        clipLow: inputs.number("eps_clip"),
        clipHigh: inputs.has("eps_clip_higher") ? inputs.number("eps_clip_higher") : (undefined as unknown as number),
      };
      const result = corrected(
        inputs,
        context,
        batchOf(inputs),
        () => tokensOf(inputs),
        (batch) => cispoLoss(batch, options),
      );
      const { ratios } = cispoLoss(batchOf(inputs), options);
      const { clipped: clip_mask } = cispoLoss(
        { ...batchOf(inputs), mask: result.behave_mask ?? inputs.uint8("loss_mask") },
        options,
      );
      return { ...result, importance_weight: ratios, clip_mask, dual_clip_mask: new Uint8Array(ratios.length) };
    },
  },
  {
    family,
    function: "sapo_loss_fn",
    ours: "sapoLoss",
    options: 'preset "areal", ratioLevel',
    differs: "ratios and gates at masked tokens",
    masked: (inputs) => ({ ...live("importance_weight")(inputs), ...live("soft_gate")(inputs) }),
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, { backend }) => {
      const options = {
        ...preset,
        backend,
        temperaturePositive: inputs.number("tau_pos"),
        temperatureNegative: inputs.number("tau_neg"),
        ratioLevel: bySequence(inputs) ? "sequence" : "token",
      } as const;
      const batch = batchOf(inputs, "old_logprobs");
      const { loss, gradLogProbs, ratios } = sapoLoss(batch, options);
      // The gate is the loss of an advantage of one, less its sign.
      const signs = Float64Array.from(batch.advantages, (advantage) => (advantage > 0 ? 1 : -1));
      const { losses } = sapoLoss({ ...batch, advantages: signs }, options);
      const soft_gate = affine(wide(losses), { shape: [signs.length, 1], scale: signs, backend });
      const gate = affine(soft_gate, {
        shape: [signs.length, 1],
        scale: new Float64Array(signs.length).fill(-1),
        backend,
      });
      return { loss, grad_logprobs: gradLogProbs, importance_weight: ratios, soft_gate: gate };
    },
  },
  {
    family,
    function: "grpo_loss_fn",
    ours: ["ppoLoss", "sapoLoss", "cispoLoss", "proximalLogProbs", "secondMomentMask", "combineLosses"],
    options: 'preset "areal"; M2PO\'s mask as mask; the teacher as a KL term, or by its gain in ppoLoss',
    run: (inputs, context) => {
      const { backend } = context;
      const shape = inputs.shape2("loss_mask");
      const logProbs = inputs.floats("logprobs");
      const sampler = inputs.floats("old_logp");
      const old = proximalOf(inputs, logProbs, sampler);
      const mask = inputs.has("m2_threshold")
        ? secondMomentMask(sampler, old, {
            shape,
            mask: inputs.uint8("loss_mask"),
            threshold: inputs.number("m2_threshold"),
          })
        : inputs.uint8("loss_mask");
      const batch: PolicyBatch = {
        shape,
        mask,
        logProbs,
        oldLogProbs: old,
        advantages: inputs.floats("advantages"),
        advantagesPer: "token",
      };
      const policy = corrected(
        inputs,
        context,
        batch,
        () => ({ old, sampler, mask, layout: { shape } }),
        (given) => surrogate(inputs, given, context),
      );
      if (!inputs.has("teacher_logp")) return { loss: policy.loss, grad_logprobs: policy.grad_logprobs };
      const [weight, share] = [inputs.number("rl_loss_weight"), inputs.number("distill_loss_weight")];
      const [rows, T] = shape;
      const apart = { shape: [rows * T, 1] as const, backend };
      const teacher = Float64Array.from(inputs.floats("teacher_logp"));
      const own = Float64Array.from(logProbs);
      const { loss, gradLogProbs } =
        weight === 0
          ? combineLosses([
              {
                ...ppoLoss(
                  { ...batch, oldLogProbs: sampler, advantages: affine(teacher, { ...apart, center: own }) },
                  { clip: Infinity, backend },
                ),
                weight: share,
              },
            ])
          : combineLosses([
              { loss: policy.loss, gradLogProbs: policy.grad_logprobs, weight },
              { ...klToTeacher(batch, teacher, backend), weight: share },
            ]);
      return { loss, grad_logprobs: gradLogProbs };
    },
  },
  {
    family,
    function: "ppo_critic_loss_fn",
    ours: "valueLoss",
    options: 'preset "areal", huberDelta',
    replacedBy: "0 where nothing is kept",
    run: (inputs, { backend }) => {
      const huber = inputs.string("loss_fn_type") === "huber" && { huberDelta: 10 };
      const {
        loss,
        gradValues,
        clipped: clip_mask,
      } = valueLoss(
        {
          shape: inputs.shape2("loss_mask"),
          mask: inputs.uint8("loss_mask"),
          values: inputs.floats("value"),
          oldValues: inputs.floats("old_value"),
          returns: inputs.floats("target_value"),
        },
        { ...preset, clip: inputs.number("value_eps_clip"), ...huber, backend },
      );
      return { loss, grad_value: gradValues, clip_mask };
    },
  },
];
