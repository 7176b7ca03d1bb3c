// Listwise weights: the maximum-entropy compromise between a target distribution and the reference policy.
import type { BackendOption } from "../../backend/select";
import type { CollectiveOption } from "../../core/collective";
import { type FloatArray, isFloatArray } from "../../core/dtype";
import { widestFloat, allocateFloat } from "../../core/float-arrays";
import { optionError } from "../../core/errors";
import type { GroupLayout } from "../../core/groups";
import { needFlag, needNumber, needWord } from "../../core/option-checks";
import { groupSoftmax } from "../../ops/group";
import { needItems } from "../../ops/group/items";
import { tiltItems } from "../../ops/group/tilt";
import { type PresetOption, resolvePreset } from "../../presets";
import { type PromptLayout, promptGrouping, promptItems, promptSizes, type NamedPrompts } from "./prompts";

interface ListwiseWeightConventions {
  /**
   * No targets beside log-probs, or no log-probs beside targets: refused as any other difference in length, or answered by no
   * weights. Default `"refuse"`.
   */
  readonly unpaired?: "refuse" | "empty";
}

/** The numbers of the closed form. */
export interface ListwiseWeightSettings {
  /** κ, >= 0: `maxentTemperature(tau, beta)`. 0 = the largest exponents share exactly. */
  readonly temperature: number;
  /** Coefficient of the reference, >= 0; at 0 its log-probs are not read. Default 0. */
  readonly beta?: number;
  /** Smaller targets count as this, >= 0. Default 1e-12. */
  readonly least?: number;
  /** Equal weights for a prompt that has nothing to weigh by: its weights would be NaN. Default false. */
  readonly uniformFallback?: boolean;
}

export interface ListwiseWeightsOptions
  extends
    ListwiseWeightSettings,
    ListwiseWeightConventions,
    PromptLayout,
    PresetOption<"listwiseWeights">,
    BackendOption,
    CollectiveOption {
  /** Log-probs of the completions under the reference policy, nats, per token or summed. Needed where beta > 0. */
  readonly referenceLogProbs?: FloatArray;
  /** Multiplies each weight by its token count, at least 1, and renormalises. Default: not. */
  readonly tokenCounts?: FloatArray;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly weights?: FloatArray };
}

const UNPAIRED = ["refuse", "empty"] as const;

/** 1/n in the place of NaN, which reaches a whole group or none of it. */
function evenOut(op: string, weights: FloatArray, layout: GroupLayout, collective: CollectiveOption): FloatArray {
  const { counts, groupIds } = promptSizes(op, layout, weights.length, collective);
  weights.forEach((weight, i) => {
    if (Number.isNaN(weight)) weights[i] = 1 / counts[groupIds[i]!]!;
  });
  return weights;
}

const isEmpty = (value: unknown): boolean => isFloatArray(value) && value.length === 0;

/**
 * Weights of the completions of each prompt, in closed form:
 *
 *     w_i ∝ max(q_i, least)^(1/κ) · π_ref,i^(beta/κ) = softmax_i[(ln max(q_i, least) + beta·l_i) / κ]
 *
 * With κ = tau + beta this maximises <w, ln q> + tau·H(w) − beta·KL(w ‖ π_ref). κ = 1, beta = 0 gives q back; κ → ∞ is uniform,
 * κ → 0 the set of the best, beta → ∞ the reference. Only differences of log-probs within a group matter. A log-prob of −∞ has
 * weight 0; a group of those only, or with NaN in what is used, is NaN, or even with `uniformFallback`. Weights are constants for
 * the gradient.
 *
 * @param targets q, one per completion: `rewardDistribution`; taken as it is, not normalised again
 * @param options `groups`, `groupOffsets` or `shape`; none = one prompt
 * @returns one weight per completion, summing to 1 in each group, in the widest float type of the inputs
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function listwiseWeights(targets: FloatArray, options: ListwiseWeightsOptions & NamedPrompts): FloatArray {
  const op = "listwiseWeights";
  const resolved = resolvePreset(op, options.preset, options);
  const { referenceLogProbs, tokenCounts, out, backend } = resolved;
  const temperature = needNumber(op, "temperature", resolved.temperature, { min: 0 });
  const beta = needNumber(op, "beta", resolved.beta ?? 0, { min: 0 });
  const least = needNumber(op, "least", resolved.least ?? 1e-12, { min: 0 });
  const layout = promptGrouping(op, resolved);
  const even = needFlag(op, "uniformFallback", resolved.uniformFallback) === 1;
  const unpaired = needWord(op, "unpaired", resolved.unpaired ?? "refuse", UNPAIRED);
  if (
    UNPAIRED[unpaired] === "empty" &&
    referenceLogProbs !== undefined &&
    (isEmpty(targets) || isEmpty(referenceLogProbs))
  )
    return allocateFloat(widestFloat(targets, referenceLogProbs), 0);
  if (beta > 0 && referenceLogProbs === undefined)
    throw optionError(op, "referenceLogProbs", undefined, "one log-prob per completion; or beta 0");
  const weights = tiltItems(
    op,
    needItems(op, "targets", targets, layout),
    {
      ...layout,
      temperature,
      coefficient: beta,
      least,
      logFactors: referenceLogProbs,
      counts: tokenCounts,
      out,
      backend,
      collective: resolved.collective,
    },
    { logFactors: "referenceLogProbs", counts: "tokenCounts" },
  );
  return even ? evenOut(op, weights, layout, { collective: resolved.collective }) : weights;
}

export interface UniformWeightsOptions extends PromptLayout, BackendOption, CollectiveOption {
  /** Completions; needed with `groups: "all"`. */
  readonly count?: number;
}

/**
 * Equal weights, 1/n in a group of n: what is left where there is nothing to weigh by.
 *
 * @param options `groups`, `groupOffsets` or `shape`; with `groups: "all"` the `count` of the prompt
 * @returns float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _RANGE, naming the argument
 */
export function uniformListwiseWeights(options: UniformWeightsOptions & NamedPrompts): Float64Array {
  const op = "uniformListwiseWeights";
  const layout = promptGrouping(op, options);
  const count = needNumber(op, "count", options.count ?? promptItems(layout), { min: 0, integer: true });
  const { backend, collective } = options;
  return groupSoftmax(new Float64Array(count), { ...layout, backend, collective }) as Float64Array;
}
