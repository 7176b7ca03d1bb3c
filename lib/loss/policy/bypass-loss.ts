// Bypass mode: the sampler's log-probs take the place of the old policy's, which are not computed; tokens too far away are rejected.
import { optionError } from "../../core/errors";
import type { FloatArray } from "../../core/dtype";
import { needWord } from "../../core/option-checks";
import { type PresetOption, resolvePreset } from "../../presets";
import type { CorrectionRules, RolloutConventions } from "../correction";
import { correctMismatch } from "../correction/rollout-correction";
import { type CheckedPolicyBatch, needPolicyBatch, type PolicyBatch } from "./policy-batch";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossOptions } from "./policy-loss-options";
import PPO, { type PpoClipping, type PpoLossConventions } from "./ppo-loss";
import REINFORCE from "./reinforce-loss";
import { evaluateTokenMap } from "./token-map";

const OBJECTIVES = ["clip", "reinforce"] as const;

/** `samplerLogProbs` are the old ones, and weights are the correction's. */
export interface BypassBatch extends Omit<PolicyBatch, "oldLogProbs" | "rolloutWeights" | "rolloutWeightsPer"> {
  /** o: log-probs of the sampler that made the rollouts, per token. */
  readonly samplerLogProbs: FloatArray;
}

/** The choices in which frameworks differ. */
export interface BypassLossConventions extends PpoLossConventions {
  /** Conventions of the correction, where `correction` does not say its own. Default: none. */
  readonly correctionConventions?: RolloutConventions;
}

interface CommonOptions
  extends PolicyLossOptions, PresetOption<"bypassLoss">, Pick<BypassLossConventions, "correctionConventions"> {
  /** Weights and rejection, as the options of `rolloutCorrection`. Default: no weights, nothing rejected. */
  readonly correction?: CorrectionRules & RolloutConventions;
}

type ClipObjective = PpoClipping & {
  /** `"clip"`: `ppoLoss`, whose ratio is the correction already: weights enter the metrics alone. */
  readonly objective: "clip";
};

interface ReinforceObjective {
  /** `"reinforce"`: `reinforceLoss` with the weights. */
  readonly objective: "reinforce";
}

export type BypassLossOptions = CommonOptions & (ClipObjective | ReinforceObjective);

export interface BypassLossResult extends PolicyLossResult {
  /** w, one per token, constants; null without `correction.weights`. */
  readonly weights: FloatArray | null;
  /** 1 = a token that the rejection left in the mask, [n]. */
  readonly mask: Uint8Array;
}

const CLIPPING = [
  "clip",
  "clipLow",
  "clipHigh",
  "dualClip",
  "ratioCap",
  "boundsPer",
  "logClamp",
] as const satisfies readonly (keyof PpoClipping)[];

function refuse(op: string, given: object, names: readonly string[], want: string): void {
  for (const name of names) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined) throw optionError(op, name, value, want);
  }
}

function needBypassBatch(op: string, batch: BypassBatch): CheckedPolicyBatch {
  refuse(op, batch, ["oldLogProbs"], "nothing: samplerLogProbs takes its place");
  refuse(op, batch, ["rolloutWeights"], "nothing: correction.weights makes them");
  const checked = needPolicyBatch(op, batch);
  if (!checked.samplerLogProbs)
    throw optionError(op, "samplerLogProbs", undefined, "log-probs of the sampler, which the ratio is taken to");
  return { ...checked, oldLogProbs: checked.samplerLogProbs };
}

/**
 * The policy loss of a trainer that skips the old policy's forward pass, and its gradient. With o of the sampler, D = ℓ − o held
 * constant, w and m′ the weights and the mask of `rolloutCorrection(ℓ, o)`:
 *
 *     "clip"        ppoLoss with r = exp(ℓ − o) over m′
 *     "reinforce"   l = −w·A·ℓ,   d l / d ℓ = −w·A over m′
 *
 * m′ replaces the mask everywhere: rejected tokens are not in the aggregation, the KL term, the entropy bonus or the metrics.
 * `metrics` has those of the loss and of the correction.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see verl, compute_policy_loss_bypass_mode; docs/loss/bypass.md also has the decoupled form, which has three policies
 */
export function bypassLoss(batch: BypassBatch, options: BypassLossOptions): BypassLossResult {
  const op = "bypassLoss";
  const resolved = resolvePreset(op, options.preset, options);
  needWord(op, "objective", resolved.objective, OBJECTIVES);
  if (resolved.objective === "reinforce") refuse(op, options, CLIPPING, 'nothing: objective "reinforce" clips nothing');
  const given = needBypassBatch(op, batch);
  const { shape, offsets, logProbs, samplerLogProbs } = batch;
  const corrected = correctMismatch(
    op,
    logProbs,
    samplerLogProbs,
    {
      shape,
      offsets,
      mask: batch.mask,
      backend: resolved.backend,
      ...resolved.correctionConventions,
      ...resolved.correction,
    },
    "correction.",
  );
  const { weights, mask } = corrected;
  const masked = { ...given, mask };
  const result =
    resolved.objective === "reinforce"
      ? evaluateTokenMap(
          op,
          REINFORCE,
          weights ? { ...masked, rolloutWeights: { array: weights, perToken: true } } : masked,
          resolved,
        )
      : evaluateTokenMap(op, PPO, masked, resolved);
  return { ...result, metrics: { ...result.metrics, ...corrected.metrics }, weights, mask };
}
