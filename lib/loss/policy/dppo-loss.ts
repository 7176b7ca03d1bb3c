// DPPO: the policy gradient inside of a trust region on probabilities, nothing outside.
import { needNumber, needWord } from "../../core/option-checks";
import { type PresetOption, resolvePreset } from "../../presets";
import { evaluatePolicy, type FormCall, policyResult } from "./evaluate-policy";
import { needPolicyBatch, type PolicyBatch } from "./policy-batch";
import type { PolicyLossConventions, PolicyLossOptions } from "./policy-loss-options";
import type { PolicyLossResult } from "./policy-loss-result";
import { withProximity } from "./proximity";
import { insideRegion, needRegion, type TrustRegion } from "./trust-region";

const SURROGATES = ["weight", "ratio"] as const;

/** The choices in which frameworks differ. */
export interface DppoLossConventions extends PolicyLossConventions {
  /** `"weight"`, the default: −w·A·ℓ with the ratio as a constant weight w; `"ratio"`: −A·r. The gradients agree, the values do not. */
  readonly surrogate?: (typeof SURROGATES)[number];
  /** The weight is at most this, > 0. Of `"weight"` alone. Default: Infinity, off. */
  readonly ratioCap?: number;
  /** The log ratio is clamped to ±logClamp; `"ratio"` has no gradient outside. Default: Infinity, off. */
  readonly logClamp?: number;
  /** Which bound holds a token, see `trustRegionMask`. Default `"advantage"`. */
  readonly sides?: TrustRegion["sides"];
}

export interface DppoLossOptions extends DppoLossConventions, PolicyLossOptions, PresetOption<"dppoLoss"> {
  /** `"probability"` (total variation, TV), `"binaryKl"` or `"ratio"`. Default `"probability"`. */
  readonly measure?: TrustRegion["measure"];
  /** Bounds of the measure below and above, >= 0: one for all, per row, or per token. */
  readonly low: TrustRegion["low"];
  readonly high: TrustRegion["high"];
  /** β >= 0: + β/2·(ℓ − o)² on every kept token, outside of the region, too. Default 0. */
  readonly proximity?: number;
}

export interface DppoLossResult extends PolicyLossResult {
  /** 1 = a token inside of the region, [n]. */
  readonly inside: Uint8Array;
}

const METRICS = {
  verl: { "actor/ppo_kl": "-clampedLogRatio" },
  trl: "none",
} as const;

/**
 * DPPO's policy loss and its gradient, per token inside of the region (0 outside of it):
 *
 *     w = min(exp(ℓ − o), ratioCap), a constant;   l = −w·A·ℓ;   d l / d ℓ = −w·A
 *
 * A region on probabilities lets rare tokens move far and frequent ones little, where a band of ratios does the opposite.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Qi et al. 2026, Rethinking the Trust Region in LLM Reinforcement Learning (DPPO)
 */
export function dppoLoss(batch: PolicyBatch, options: DppoLossOptions): DppoLossResult {
  const op = "dppoLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const { measure = "probability", low, high, sides } = resolved;
  const checked = needPolicyBatch(op, batch);
  const { rows, mask, logProbs, termMask } = checked;
  const region = needRegion(op, { measure, low, high, sides }, checked);
  const weighs = needWord(op, "surrogate", resolved.surrogate ?? "weight", SURROGATES) === 0;
  const ratioCap = needNumber(op, "ratioCap", resolved.ratioCap ?? Infinity, { min: 0, above: true, infinite: true });
  const inside = insideRegion(rows, mask, logProbs, checked.oldLogProbs ?? logProbs, checked.advantages, region);
  const off = { clipLow: Infinity, clipHigh: Infinity, logClamp: resolved.logClamp ?? Infinity } as const;
  const call: FormCall = {
    skeleton: "token",
    form: weighs ? { form: "weighted", ...off, ratioCap } : { form: "clip", ...off },
  };
  const terms = termMask ? inside.map((flag, i) => (flag !== 0 && termMask[i] !== 0 ? 1 : 0)) : inside;
  const plain = evaluatePolicy(op, { ...checked, termMask: terms }, resolved, call);
  const evaluation = withProximity(op, plain, checked, resolved.proximity ?? 0, resolved);
  const result = policyResult(evaluation, resolved, METRICS);
  const { ratios } = result;
  const kept = evaluation.figures.kept;
  let outside = 0;
  let capped = 0;
  for (let i = 0; i < rows.n; ++i)
    if (!mask || mask[i] !== 0) {
      if (inside[i] === 0) ++outside;
      else if (ratios[i]! > ratioCap) ++capped;
    }
  const { metricNames = "verl" } = resolved;
  const shares: Record<string, number> =
    metricNames === "verl"
      ? { "actor/pg_clipfrac": outside / (kept + 1e-8), "actor/pg_clipfrac_lower": capped / (kept + 1e-8) }
      : metricNames === "skyrl"
        ? { clip_ratio: outside / Math.max(kept, 1) }
        : {};
  return { ...result, metrics: { ...result.metrics, ...shares }, inside };
}
