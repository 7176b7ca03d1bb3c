// PPO's policy and value losses as one: what a model with two heads is trained on.
import type { FloatArray } from "../core/dtype";
import { needNumber } from "../core/option-checks";
import { needPolicyBatch, type PolicyBatch } from "./policy/policy-batch";
import type { PolicyLossOptions } from "./policy/policy-loss-options";
import type { PolicyLossResult } from "./policy/policy-loss-result";
import PPO, { type PpoClipping } from "./policy/ppo-loss";
import { evaluateTokenMap } from "./policy/token-map";
import { evaluateValueLoss, type ValueBatch, type ValueLossResult } from "./value-loss";

export interface ActorCriticBatch extends PolicyBatch, Omit<ValueBatch, "mask"> {
  /** 1 = a token whose value counts. Default: `mask`. */
  readonly valueMask?: Uint8Array;
}

export type ActorCriticLossOptions = PpoClipping &
  PolicyLossOptions & {
    /** Weight of the value loss, >= 0. Default 0.5. */
    readonly valueCoefficient?: number;
    /** Values are clipped to the old ones ± valueClip. >= 0. Default: Infinity, off. */
    readonly valueClip?: number;
  };

export interface ActorCriticLossResult {
  /** policy.loss + valueCoefficient · value.loss. */
  readonly loss: number;
  readonly policy: PolicyLossResult;
  readonly value: ValueLossResult;
  /** d loss / d logProbs, [n]. */
  readonly gradLogProbs: FloatArray;
  /** d loss / d values, [n]: valueCoefficient included. */
  readonly gradValues: FloatArray;
}

/**
 * `ppoLoss` plus `valueCoefficient` times `valueLoss`, with the gradients of the sum. Both are aggregated alike, each over its mask.
 *
 * @throws SurprisalError as those two
 * @see Schulman et al. 2017, Proximal Policy Optimization Algorithms, equation 9 (the combined objective)
 */
export function actorCriticLoss(batch: ActorCriticBatch, options: ActorCriticLossOptions): ActorCriticLossResult {
  const { valueCoefficient, valueClip, ...policyOptions } = options;
  const op = "actorCriticLoss";
  const coefficient = needNumber(op, "valueCoefficient", valueCoefficient ?? 0.5, { min: 0 });
  const policy = evaluateTokenMap(op, PPO, needPolicyBatch(op, batch), policyOptions);
  const { aggregation, tokens, rows, length, workers, accumulation, stepsPerGeneration, emptyRows, backend } =
    policyOptions;
  const counts = { tokens, rows, length, workers, accumulation, stepsPerGeneration };
  const shared = { ...counts, aggregation, emptyRows, backend, clip: valueClip };
  const { mask: ownMask, valueMask, ...rest } = batch;
  const mask = valueMask ?? ownMask;
  const names = { clip: "valueClip", mask: valueMask ? "valueMask" : "mask" };
  const value = evaluateValueLoss(op, names, { ...rest, mask }, shared);
  return {
    loss: policy.loss + coefficient * value.loss,
    policy,
    value,
    gradLogProbs: policy.gradLogProbs,
    gradValues: value.gradValues.map((gradient) => coefficient * gradient),
  };
}
