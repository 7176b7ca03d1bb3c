// open-instruct: the policy loss with its correction, KL terms.
import {
  affine,
  cispoLoss,
  combineLosses,
  groupBroadcast,
  importanceRatio,
  type KlEstimatorName,
  klPenalty,
  type KlTerm,
  moments,
  offPolicyMask,
  type PolicyBatch,
  ppoLoss,
} from "surprisal";
import type { FloatArray, Inputs } from "../../inputs";
import type { Context, Mapping } from "../../mapping";

const family = "open-instruct";

/** A bound that is on: 0 stands for none. */
const bound = (inputs: Inputs, name: string): number | undefined =>
  inputs.number(name) > 0 ? inputs.number(name) : undefined;

/** What every kept token is weighed by, 0 where it is dropped. */
function rho(inputs: Inputs, old: FloatArray, { backend }: Context): FloatArray {
  const sampler = inputs.floats("sampler_logprobs");
  const shape = inputs.shape2("response_mask");
  const mask = inputs.uint8("response_mask");
  const byRow = inputs.boolean("rho_mask_sequence_level");
  const common = { shape, mask, logClamp: 10 };
  const within = { low: bound(inputs, "rho_mask_lower_bound"), high: bound(inputs, "rho_mask_upper_bound") };
  const advantages = inputs.floats("advantages");
  const far = inputs.boolean("rho_mask_tv_divergence")
    ? ({ measure: "totalVariation", level: "row", drops: "outward", advantages, advantagesPer: "token" } as const)
    : byRow
      ? ({ level: "row" } as const)
      : {};
  const { mask: kept } = offPolicyMask(old, sampler, { ...common, ...far, ...within });
  const held = { low: bound(inputs, "rho_clamp_lower_bound"), high: bound(inputs, "rho_clamp_upper_bound"), backend };
  if (!byRow) return importanceRatio(old, sampler, { ...common, mask: kept, level: "token", ...held }).ratios;
  const { ratios } = importanceRatio(old, sampler, { ...common, level: "geometric", ...held });
  return groupBroadcast(ratios, { shape, mask: kept, backend });
}

const ESTIMATORS: readonly KlTerm[] = [
  { coefficient: 0, kind: "k1" },
  { coefficient: 0, kind: "k2" },
  { coefficient: 0, kind: "k3" },
  { coefficient: 0, kind: "k1", importanceCorrected: true },
];

const names = ["k1", "k2", "k3", "k1"] as const satisfies readonly KlEstimatorName[];

export const openInstructLosses: readonly Mapping[] = [
  {
    family,
    function: "compute_grpo_loss",
    ours: ["ppoLoss", "cispoLoss", "offPolicyMask", "importanceRatio"],
    options:
      'preset "open-instruct"; estimator 3 is k1 with importanceCorrected; figures: `moments` of `clipped` and `kl`',
    run: (inputs, context) => {
      const old = inputs.floats("old_logprobs");
      const beta = inputs.number("beta");
      const batch: PolicyBatch = {
        shape: inputs.shape2("response_mask"),
        mask: inputs.uint8("response_mask"),
        logProbs: inputs.floats("new_logprobs"),
        oldLogProbs: old,
        advantages: inputs.floats("advantages"),
        advantagesPer: "token",
        ...(inputs.has("ref_logprobs") && { referenceLogProbs: inputs.floats("ref_logprobs") }),
        ...(inputs.boolean("use_rho_correction") && {
          rolloutWeights: rho(inputs, old, context),
          rolloutWeightsPer: "token",
        }),
      };
      const common = {
        preset: "open-instruct",
        ...(inputs.has("loss_denominator") && { tokens: inputs.number("loss_denominator") }),
        ...(inputs.has("ref_logprobs") &&
          beta > 0 && { kl: { ...ESTIMATORS[inputs.number("kl_estimator")]!, coefficient: beta } }),
        clipHigh: inputs.number("clip_higher"),
        backend: context.backend,
      } as const;
      const { loss, gradLogProbs, clipped, kl } =
        inputs.oneOf("loss_fn", ["dapo", "cispo"]) === "dapo"
          ? ppoLoss(batch, { ...common, clipLow: inputs.number("clip_lower") })
          : cispoLoss(batch, common);
      // A clipped token counts where it has weight, and the KL as it is.
      const weights = batch.rolloutWeights;
      const flags = Float64Array.from(clipped, (flag, i) => (flag !== 0 && weights?.[i] !== 0 ? 1 : 0));
      const mean = (values: FloatArray): number => {
        const where = { shape: batch.shape!, mask: batch.mask!, over: "all", backend: context.backend } as const;
        return moments(Float64Array.from(values), where).means[0]! || 0;
      };
      return { loss, grad_new_logprobs: gradLogProbs, clipfrac: mean(flags), kl: kl ? mean(kl) : 0 };
    },
  },
  {
    family,
    function: "compute_rho_correction",
    ours: ["offPolicyMask", "importanceRatio"],
    options: 'logClamp 10; TV: measure "totalVariation", level "row", drops "outward"',
    notCompared: {
      outputs: ["metrics"],
      because:
        "its two sides of the dropped share apart: droppedFraction is their sum; rho_weight: moments of the weights",
    },
    run: (inputs, context) => ({
      weights: inputs.boolean("use_rho_correction")
        ? rho(inputs, inputs.floats("old_logprob"), context)
        : new Float64Array(inputs.uint8("response_mask").length).fill(1),
    }),
  },
  {
    family,
    function: "estimate_kl",
    ours: "klPenalty",
    options: "k1, k2, k3, and k1 with importance; valueClamp and logClamp off",
    run: (inputs, { backend }) => {
      const [rows, T] = inputs.shape2("new_logprobs");
      const n = rows * T;
      const weights = inputs.floats("g");
      const all = names.map((estimator, k) => {
        const { values, gradLogProbs } = klPenalty(inputs.floats("new_logprobs"), inputs.floats("ref_logprobs"), {
          shape: [rows, T],
          estimator,
          ...(k === 3 && { importance: inputs.floats("old_logprobs") }),
          backend,
        });
        const scale = weights.slice(k * n, (k + 1) * n);
        const chained = affine(Float64Array.from(gradLogProbs), { shape: [n, 1], scale, backend });
        return { values, part: { loss: 0, gradLogProbs: chained } };
      });
      return {
        kl: { data: all.flatMap(({ values }) => Array.from(values)), shape: inputs.shape("g") },
        grad_new_logprobs: combineLosses(all.map(({ part }) => part)).gradLogProbs,
      };
    },
  },
];
