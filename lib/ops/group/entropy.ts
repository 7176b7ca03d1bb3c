// Entropy of the weights of each group.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import type { CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { allocateFloat, floatDType } from "../../core/float-arrays";
import type { GroupLayout, NamedGroups } from "../../core/groups";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import { gatherItems, itemArgs, needItems, withGroupIds } from "./items";

takesDeviceArrays("groupEntropy");

export interface GroupEntropyOptions extends GroupLayout, BackendOption, CollectiveOption {
  /** Divide the values of each group by their sum first. Default false: they are taken as they are. */
  readonly normalize?: boolean;
  /** Smaller values count as this inside the logarithm, and where values are normalised, >= 0. Default 0. */
  readonly least?: number;
}

/** One entry per group; with a `collective` of the groups of all workers. */
export interface GroupEntropyResult {
  /** Nats; 0 for an empty group. */
  readonly entropies: FloatArray;
  /** Entropy over ln count: 1 where all weights are equal, 0 where one has all, and for a group of one. */
  readonly evennesses: FloatArray;
  /** The group number of each item: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

/** The same on a device, where the first array lies. */
export function groupEntropy(
  values: DeviceFloatArray,
  options: Anywhere<GroupEntropyOptions & NamedGroups>,
): OnDevice<GroupEntropyResult, "groupIds">;
/**
 * Shannon entropy of each group of weights, and how much of the largest possible one that is:
 *
 *     H = −Σ x_i·ln max(x_i, least),   evenness = H / ln count
 *     with `normalize`, of y_i = max(x_i, least) / Σ_j max(x_j, least) in place of x_i
 *
 * 0·ln 0 = 0. Without `normalize` this is an entropy only where values are >= 0 and sum to 1. NaN makes its group NaN. float64
 * inside; the results have the type of `values`.
 *
 * @param values one weight per item
 * @param options `groups` (a label per item, or `"all"`) or `groupOffsets`
 * @throws SurprisalError as `groupNormalize`
 */
export function groupEntropy(values: FloatArray, options: GroupEntropyOptions & NamedGroups): GroupEntropyResult;
export function groupEntropy(
  values: AnyFloatArray,
  anywhere: GroupEntropyOptions | Anywhere<GroupEntropyOptions>,
): GroupEntropyResult | OnDevice<GroupEntropyResult, "groupIds"> {
  const options = anywhere;
  const op = "groupEntropy";
  const stream = streamOf(op, options, values);
  const local = needItems(op, "values", values, options);
  const least = needNumber(op, "least", options.least ?? 0, { min: 0 });
  const items = gatherItems(op, options.collective, local);
  const dtype = floatDType(items.values);
  const { G } = items.groups;
  const result = {
    entropies: allocateFloat(dtype, G, stream),
    evennesses: allocateFloat(dtype, G, stream),
  };
  selectBackend(op, options.backend, stream).ops.groupEntropy({
    normalize: options.normalize === true ? 1 : 0,
    least,
    entropies: result.entropies,
    evennesses: result.evennesses,
    ...itemArgs(items),
  });
  return withGroupIds(result, items);
}
