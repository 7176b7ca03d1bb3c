// Log-probs and token counts of the reference policy, cut into the groups of prompts.
import { type FloatArray, isFloatArray } from "../../core/dtype";
import { needFloats } from "../../core/arrays";
import { optionError } from "../../core/errors";
import { groupsByOffsets } from "../../core/groups";
import { needWord } from "../../core/option-checks";
import { type PresetOption, resolvePreset } from "../../presets";

interface ReferenceConventions {
  /** Numbers behind those of the last group: refused, or ignored. Default `"refuse"`. */
  readonly surplus?: "refuse" | "ignore";
}

/** What is known of the completions under the reference policy; one number per completion each. Absent or empty = unknown. */
export interface ReferenceStatistics {
  /** Mean log-prob per token, nats. */
  readonly means?: FloatArray | undefined;
  /** Summed log-probs, nats. */
  readonly sums?: FloatArray | undefined;
  readonly tokenCounts?: FloatArray | undefined;
}

export interface SplitReferenceLogProbsOptions extends ReferenceConventions, PresetOption<"splitReferenceLogProbs"> {
  /** Mean log-probs per token; false: summed ones, which favour short completions. Default true. */
  readonly lengthNormalize?: boolean;
}

export interface SplitReferenceTokenCountsOptions
  extends ReferenceConventions, PresetOption<"splitReferenceTokenCounts"> {}

/** The same numbers twice. */
export interface SplitNumbers {
  /** Flat, one per completion. */
  readonly values: Float64Array;
  /** A view of them for each group. */
  readonly byGroup: readonly Float64Array[];
}

const SURPLUS = ["refuse", "ignore"] as const;

/** The offsets, and the number of completions that they say there are. */
function needOffsets(op: string, groupOffsets: Int32Array): { readonly offsets: Int32Array; readonly count: number } {
  const given: unknown = groupOffsets;
  const last = ArrayBuffer.isView(given) ? (given as Int32Array)[(given as Int32Array).length - 1] : undefined;
  const { offsets } = groupsByOffsets(op, "groupOffsets", given, last ?? 0);
  return { offsets, count: last ?? 0 };
}

/** Exactly `count` numbers, or the first of them where more may be there. */
function needNumbers(
  op: string,
  name: string,
  value: unknown,
  count: number,
  { surplus }: ReferenceConventions,
): FloatArray {
  const ignore = needWord(op, "surplus", surplus ?? "refuse", SURPLUS) === 1;
  const longer = ignore && isFloatArray(value) && value.length > count;
  return longer ? value.subarray(0, count) : needFloats(op, name, value, count, "one per completion");
}

function split(values: Float64Array, offsets: Int32Array): SplitNumbers {
  return { values, byGroup: Array.from(offsets.subarray(1), (end, g) => values.subarray(offsets[g], end)) };
}

const isKnown = (numbers: FloatArray | undefined): boolean => numbers != null && numbers.length > 0;

/**
 * The reference log-probs that `listwiseWeights` takes, flat and by group, in float64:
 *
 *     lengthNormalize true    means;  where they are not known, sums_i / tokenCounts_i
 *     lengthNormalize false   sums
 *
 * A count that is not finite or not above 0 divides by 1. Values pass unchecked. Statistics that are needed and missing, or too
 * short, are refused: a log-prob of 0 in their place would mean certainty.
 *
 * @param groupOffsets group g is completions groupOffsets[g] … groupOffsets[g+1]
 * @throws SurprisalError ERR_SURPRISAL_OPTION (nothing known), _SHAPE, _DTYPE or _RANGE, naming the argument
 */
export function splitReferenceLogProbs(
  reference: ReferenceStatistics,
  groupOffsets: Int32Array,
  options: SplitReferenceLogProbsOptions = {},
): SplitNumbers {
  const op = "splitReferenceLogProbs";
  return split(...referenceLogProbs(op, reference, groupOffsets, resolvePreset(op, options.preset, options)));
}

/** The same flat, for the public function `op`. */
export function referenceLogProbs(
  op: string,
  { means, sums, tokenCounts }: ReferenceStatistics,
  groupOffsets: Int32Array,
  options: Omit<SplitReferenceLogProbsOptions, "preset">,
): [values: Float64Array, offsets: Int32Array] {
  const { offsets, count } = needOffsets(op, groupOffsets);
  const need = (name: string, value: unknown): FloatArray => needNumbers(op, name, value, count, options);
  const normalize = options.lengthNormalize ?? true;
  if (count === 0) return [new Float64Array(0), offsets];
  if (normalize && isKnown(means)) return [Float64Array.from(need("means", means)), offsets];
  if (!isKnown(sums)) {
    const name = normalize ? "means" : "sums";
    throw optionError(
      op,
      name,
      undefined,
      `one log-prob per completion${normalize ? "; or sums and tokenCounts" : ""}`,
    );
  }
  const summed = need("sums", sums);
  if (!normalize) return [Float64Array.from(summed), offsets];
  if (!isKnown(tokenCounts))
    throw optionError(
      op,
      "tokenCounts",
      undefined,
      "one count per completion, to divide sums by; or lengthNormalize: false",
    );
  const counts = need("tokenCounts", tokenCounts);
  const divisor = (n: number): number => (n > 0 && Number.isFinite(n) ? n : 1);
  return [Float64Array.from(summed, (sum, i) => sum / divisor(counts[i]!)), offsets];
}

/**
 * Token counts flat and by group, in float64. Values pass unchecked; missing counts are refused.
 *
 * @param groupOffsets group g is completions groupOffsets[g] … groupOffsets[g+1]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE or _RANGE, naming the argument
 */
export function splitReferenceTokenCounts(
  tokenCounts: FloatArray,
  groupOffsets: Int32Array,
  options: SplitReferenceTokenCountsOptions = {},
): SplitNumbers {
  const op = "splitReferenceTokenCounts";
  const { offsets, count } = needOffsets(op, groupOffsets);
  const counts = needNumbers(op, "tokenCounts", tokenCounts, count, resolvePreset(op, options.preset, options));
  return split(Float64Array.from(counts), offsets);
}
