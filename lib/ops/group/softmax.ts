// Softmax within each group.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { outputOr } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { allocateFloat, floatDType } from "../../core/float-arrays";
import type { GroupLayout, NamedGroups } from "../../core/groups";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import { gatherItems, itemArgs, needItems, refuseItemOverlap, withGroupIds } from "./items";

takesDeviceArrays("groupSoftmax", "groupLogSumExp");

export interface GroupSoftmaxOptions extends GroupLayout, BackendOption, CollectiveOption {
  /** Divides the values; >= 0. 0, the limit: the best item takes all, equal best ones share exactly. Default 1. */
  readonly temperature?: number;
  /**
   * Smallest weight, >= 0: the weights are mixed with the uniform ones. From 1/count on they are uniform, never inverted.
   * Default 0.
   */
  readonly floor?: number;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly weights?: FloatArray };
}

/** The same on a device, where the first array lies. */
export function groupSoftmax(
  values: DeviceFloatArray,
  options: Anywhere<GroupSoftmaxOptions & NamedGroups>,
): DeviceFloatArray;
/**
 * Weights within each group, which sum to 1:
 *
 *     p_i = exp((x_i − max)/τ) / Σ_j exp((x_j − max)/τ),   w_i = p_i + f·(1 − count·p_i),   f = min(floor, 1/count)
 *
 * −∞ has weight 0, or the floor. A group of −∞ only, or with NaN or +∞, is NaN. float64 inside; the result has the type of `values`.
 *
 * @param values one number per item (a score, a log-probability)
 * @param options `groups` (a label per item, or `"all"`) or `groupOffsets`
 * @throws SurprisalError as `groupNormalize`
 */
export function groupSoftmax(values: FloatArray, options: GroupSoftmaxOptions & NamedGroups): FloatArray;
export function groupSoftmax(
  values: AnyFloatArray,
  anywhere: GroupSoftmaxOptions | Anywhere<GroupSoftmaxOptions>,
): AnyFloatArray {
  const options = anywhere as GroupSoftmaxOptions;
  const op = "groupSoftmax";
  const stream = streamOf(op, options, values);
  const items = needItems(op, "values", values, options);
  const temperature = needNumber(op, "temperature", options.temperature ?? 1, { min: 0 });
  const floor = needNumber(op, "floor", options.floor ?? 0, { min: 0 });
  const dtype = floatDType(items.values);
  const weights = outputOr(op, "weights", options.out?.weights, dtype, items.values.length, stream);
  refuseItemOverlap(op, options.out, { weights }, items.values, options);
  const gathered = options.collective && gatherItems(op, options.collective, items);
  const { values: all, groups } = gathered ?? items;
  const found = gathered ? allocateFloat(dtype, all.length) : weights;
  selectBackend(op, options.backend, stream).ops.groupSoftmax({
    // Each by name, as in logRatio.
    dtype: DTYPE_CODE[dtype],
    values: all,
    members: groups.members,
    offsets: groups.offsets,
    n: all.length,
    G: groups.G,
    temperature,
    weights: found,
    logSumExps: null,
    softMeans: null,
    floor,
  });
  if (gathered) weights.set(found.subarray(gathered.begin, gathered.end));
  return weights;
}

export interface GroupLogSumExpOptions extends GroupLayout, BackendOption, CollectiveOption {
  /** Divides the values; > 0. Default 1. */
  readonly temperature?: number;
}

/** One entry per group. */
export interface GroupLogSumExpResult {
  /** ln Σ exp(x/τ); −∞ for an empty group. */
  readonly logSumExps: FloatArray;
  /** τ·ln(mean of exp(x/τ)): between the mean (τ → ∞) and the maximum (τ → 0). NaN for an empty group. */
  readonly softMeans: FloatArray;
  /** The group number of each item: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

/** The same on a device, where the first array lies. */
export function groupLogSumExp(
  values: DeviceFloatArray,
  options: Anywhere<GroupLogSumExpOptions & NamedGroups>,
): OnDevice<GroupLogSumExpResult, "groupIds">;
/**
 * Logarithm of the summed exponentials of each group, and the soft mean that belongs to it:
 *
 *     logSumExp = ln Σ_j exp(x_j/τ),   softMean = τ·(logSumExp − ln count)
 *
 * Equal numbers have exactly themselves as soft mean. A group of −∞ only has −∞, one with +∞ has +∞, NaN gives NaN. float64
 * inside; the results have the type of `values`.
 *
 * @param values one number per item
 * @param options `groups` (a label per item, or `"all"`) or `groupOffsets`
 * @throws SurprisalError as `groupNormalize`
 */
export function groupLogSumExp(values: FloatArray, options: GroupLogSumExpOptions & NamedGroups): GroupLogSumExpResult;
export function groupLogSumExp(
  values: AnyFloatArray,
  anywhere: GroupLogSumExpOptions | Anywhere<GroupLogSumExpOptions>,
): GroupLogSumExpResult | OnDevice<GroupLogSumExpResult, "groupIds"> {
  const options = anywhere;
  const op = "groupLogSumExp";
  const stream = streamOf(op, options, values);
  const local = needItems(op, "values", values, options);
  const temperature = needNumber(op, "temperature", options.temperature ?? 1, { min: 0, above: true });
  const items = gatherItems(op, options.collective, local);
  const { G } = items.groups;
  const dtype = floatDType(items.values);
  const result = { logSumExps: allocateFloat(dtype, G, stream), softMeans: allocateFloat(dtype, G, stream) };
  selectBackend(op, options.backend, stream).ops.groupSoftmax({
    temperature,
    weights: null,
    logSumExps: result.logSumExps,
    softMeans: result.softMeans,
    floor: 0,
    ...itemArgs(items),
  });
  return withGroupIds(result, items);
}
