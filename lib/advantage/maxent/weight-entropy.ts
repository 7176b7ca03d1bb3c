// How spread the weights of each prompt are.
import type { BackendOption } from "../../backend/select";
import type { CollectiveOption } from "../../core/collective";
import { refuseDevice } from "../../core/device-arguments";
import { DeviceArray } from "../../core/device-array";
import type { FloatArray } from "../../core/dtype";
import { groupEntropy } from "../../ops/group";
import { type PromptLayout, promptGrouping, promptSizes, type NamedPrompts } from "./prompts";

/** Weights below count as this inside the logarithm. */
export const LEAST_WEIGHT = 1e-12;

export interface WeightEntropyOptions extends PromptLayout, BackendOption, CollectiveOption {}

export interface WeightEntropies {
  /** One per group, nats; 0 for an empty one. */
  readonly entropies: FloatArray;
  /** Over the groups that are not empty; 0 without any. A NaN makes all three NaN. */
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** w_i − 1/n, one per completion, float64: the weights as advantages. */
  readonly deviations: Float64Array;
}

/** w_i − 1/n. */
function deviationsOf(weights: FloatArray, counts: Int32Array, groupIds: Int32Array): Float64Array {
  return Float64Array.from(weights, (weight, i) => weight - 1 / counts[groupIds[i]!]!);
}

/** The mean; 0 of nothing. */
export function meanOf(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
}

/**
 * Entropy of the weights of each prompt, H = −Σ w_i·ln max(w_i, 1e-12), and how far each weight is from the uniform one. Weights
 * are taken as they are: unless they are >= 0 and sum to 1, H is no entropy.
 *
 * @param weights one per completion
 * @param options `groups`, `groupOffsets` or `shape`; none = one prompt
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _VALUE, naming the argument
 */
export function weightEntropies(weights: FloatArray, options: WeightEntropyOptions & NamedPrompts): WeightEntropies {
  const op = "weightEntropies";
  if (DeviceArray.is(weights)) throw refuseDevice(op, "weights"); // groupEntropy would take it; what follows is on the host
  const layout = promptGrouping(op, options);
  const where = { backend: options.backend, collective: options.collective };
  const { entropies } = groupEntropy(weights, { ...layout, least: LEAST_WEIGHT, ...where });
  const { counts, groupIds } = promptSizes(op, layout, weights.length, options);
  const present = Array.from(entropies).filter((_, g) => counts[g]! > 0);
  return {
    entropies,
    mean: meanOf(present),
    // Both pass NaN on; of nothing they are infinite.
    min: present.length === 0 ? 0 : Math.min(...present),
    max: present.length === 0 ? 0 : Math.max(...present),
    deviations: deviationsOf(weights, counts, groupIds),
  };
}
