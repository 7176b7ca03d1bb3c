// GSPO: one ratio a row. The gradient goes through the row's mean, or stays with each token.
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { needWord } from "../../core/option-checks";
import { type PresetOption, resolvePreset } from "../../presets";
import { needPolicyBatch, type PolicyBatch } from "./policy-batch";
import type { ClipRange } from "./clip-range";
import { evaluatePolicy, policyResult } from "./evaluate-policy";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossConventions, PolicyLossOptions } from "./policy-loss-options";
import { sequenceForm } from "./sequence-form";

const RATIO_TO = ["old", "sampler"] as const;

/** The choices in which frameworks differ. */
export interface GspoLossConventions extends PolicyLossConventions {
  /** The row's mean log ratio is clamped from above, without gradient there. Default: Infinity, off. */
  readonly maxLogRatio?: number;
}

/** What GSPO, GSPO-token and LUSPO have in common. */
type SequenceClipping = GspoLossConventions &
  PolicyLossOptions &
  ClipRange & {
    /** Two-sided clipping: the unclipped term sees min(ratio, ratioCap), without gradient above it; an array as the widths. Default: Infinity, off. */
    readonly ratioCap?: number | FloatArray;
  };

/** The options of `gspoLoss` but for its preset. */
export type GspoClipping = SequenceClipping & {
  /** The policy that the ratio is taken to: `oldLogProbs`, or `samplerLogProbs`, in place of a correction by weights. Default `"old"`. */
  readonly ratioTo?: (typeof RATIO_TO)[number];
};

export type GspoLossOptions = GspoClipping & PresetOption<"gspoLoss">;

export type GspoTokenLossOptions = SequenceClipping & PresetOption<"gspoTokenLoss">;

const METRICS = {
  verl: { "actor/pg_clipfrac": "clipped", "actor/ppo_kl": "-logRatio", "actor/pg_clipfrac_lower": "none" },
  trl: "rows",
} as const;
const TOKEN_METRICS = { ...METRICS, trl: "tokens" } as const;

/**
 * GSPO's policy loss and its gradient:
 *
 *     S_b = exp(mean over the kept tokens of row b of ℓ − o),   l_bt = max(−A_bt·S_b, −A_bt·clip(S_b, 1 − clipLow, 1 + clipHigh))
 *     loss = Σ W_bt·l_bt,   d loss / d ℓ_bu = (Σ_t W_bt·k_bt) / c_b,   k_bt = −A_bt·S_b where not clipped, else 0
 *
 * c_b is the number of kept tokens of the row. Use clip widths of about 3e-4: S is a mean of many tokens.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Zheng et al. 2025, Group Sequence Policy Optimization, equations 5 and 7 (the objective, its ratio)
 */
export function gspoLoss(batch: PolicyBatch, options: GspoLossOptions): PolicyLossResult {
  const op = "gspoLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const form = sequenceForm(op, "clip", resolved);
  const toSampler = needWord(op, "ratioTo", resolved.ratioTo ?? "old", RATIO_TO) === 1;
  const checked = needPolicyBatch(op, batch);
  if (toSampler && !checked.samplerLogProbs)
    throw optionError(op, "samplerLogProbs", undefined, 'log-probs of the sampler, since ratioTo is "sampler"');
  const call = toSampler ? { ...form, oldLogProbs: checked.samplerLogProbs! } : form;
  return policyResult(evaluatePolicy(op, checked, resolved, call), resolved, METRICS);
}

/**
 * GSPO-token: the value of `gspoLoss`, but the ratio is S_b·exp(ℓ − stop-gradient(ℓ)), so that each token has the gradient of its
 * own term: d loss / d ℓ_bt = W_bt·(−A_bt·S_b) where not clipped, else 0. With one advantage a row and weights that are equal
 * within it, both have the same gradient.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Zheng et al. 2025, Group Sequence Policy Optimization, equations 13 and 14 (GSPO-token)
 */
export function gspoTokenLoss(batch: PolicyBatch, options: GspoTokenLossOptions): PolicyLossResult {
  const op = "gspoTokenLoss";
  const resolved = resolvePreset(op, options.preset, options);
  return policyResult(
    evaluatePolicy(op, needPolicyBatch(op, batch), resolved, sequenceForm(op, "clipLocal", resolved)),
    resolved,
    TOKEN_METRICS,
  );
}
