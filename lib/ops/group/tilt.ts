// Weights of a group that are tilted by log-factors: powers of one distribution times powers of another.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { optionalFloats, outputOr, refuseOverlap } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { allocateFloat, asFloat, widestFloat } from "../../core/float-arrays";
import type { GroupLayout, NamedGroups } from "../../core/groups";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import { gatherFloats, gatherItems, type GroupedItems, itemArgs, needItems, refuseItemOverlap } from "./items";

takesDeviceArrays("groupTilt");

/** The numbers of a tilt. */
export interface GroupTiltSettings {
  /** Exponents are divided by it, >= 0. 0, the limit: the largest exponent takes all, equal ones share exactly. Default 1. */
  readonly temperature?: number;
  /** Of the log-factors, >= 0. At 0 they are not read. Default 1. */
  readonly coefficient?: number;
  /** Smaller values count as this, >= 0. Default 0: a value of 0 has weight 0. */
  readonly least?: number;
}

export interface GroupTiltOptions extends GroupTiltSettings, GroupLayout, BackendOption, CollectiveOption {
  /** l_i, one per item: log-probabilities up to a constant of the group. Default: 0. */
  readonly logFactors?: FloatArray;
  /** How often each weight counts, one per item; below 1 counts as 1. Default: 1 each. */
  readonly counts?: FloatArray;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly weights?: FloatArray };
}

/** Runs on items that are checked already, for the public function `op`; `names` are what it calls the two other inputs. */
export function tiltItems(
  op: string,
  { values, groups }: GroupedItems,
  options: GroupTiltOptions,
  names: { readonly logFactors: string; readonly counts: string },
): FloatArray {
  const stream = streamOf(op, options, values, options.logFactors, options.counts);
  const logFactors = optionalFloats(op, names.logFactors, options.logFactors, values.length, "one per item");
  const counts = optionalFloats(op, names.counts, options.counts, values.length, "one per item");
  const temperature = needNumber(op, "temperature", options.temperature ?? 1, { min: 0 });
  const coefficient = needNumber(op, "coefficient", options.coefficient ?? 1, { min: 0 });
  const least = needNumber(op, "least", options.least ?? 0, { min: 0 });
  const dtype = widestFloat(values, logFactors, counts);
  const weights = outputOr(op, "weights", options.out?.weights, dtype, values.length, stream);
  refuseItemOverlap(op, options.out, { weights }, values, options);
  refuseOverlap(op, options.out, { weights }, { [names.logFactors]: logFactors, [names.counts]: counts });
  const { collective } = options;
  const all = gatherItems(op, collective, { values: asFloat(values, dtype), groups });
  const found = collective ? allocateFloat(dtype, all.values.length) : weights;
  const ofAll = (array: FloatArray | null): FloatArray | null =>
    array && gatherFloats(op, collective, asFloat(array, dtype)).values;
  selectBackend(op, options.backend, stream).ops.groupTilt({
    logFactors: ofAll(logFactors),
    counts: ofAll(counts),
    temperature,
    coefficient,
    least,
    weights: found,
    ...itemArgs(all),
  });
  if (found !== weights) weights.set(found.subarray(all.begin, all.end));
  return weights;
}

/** The same on a device, where the first array lies. */
export function groupTilt(
  values: DeviceFloatArray,
  options: Anywhere<GroupTiltOptions & NamedGroups>,
): DeviceFloatArray;
/**
 * Weights within each group from powers of `values` and exponentials of `logFactors`, which sum to 1:
 *
 *     z_i = ln max(x_i, least) + coefficient·l_i,   p = softmax(z / temperature):   p_i ∝ x_i^(1/τ) · exp(l_i)^(coefficient/τ)
 *     w_i = p_i·m_i / Σ_j p_j·m_j,   m_i = max(counts_i, 1)
 *
 * A value of 0 (unless `least` lifts it) and a log-factor of −∞ give weight 0; a group of such items only is NaN, and so is
 * one with NaN or an infinite exponent. float64 inside; the result has the widest type of the inputs.
 *
 * @param values one number per item, >= 0: a distribution over the group, which need not sum to 1
 * @param options `groups` (a label per item, or `"all"`) or `groupOffsets`
 * @throws SurprisalError as `groupNormalize`
 */
export function groupTilt(values: FloatArray, options: GroupTiltOptions & NamedGroups): FloatArray;
export function groupTilt(
  values: AnyFloatArray,
  anywhere: GroupTiltOptions | Anywhere<GroupTiltOptions>,
): AnyFloatArray {
  const options = anywhere as GroupTiltOptions;
  const op = "groupTilt";
  return tiltItems(op, needItems(op, "values", values, options), options, {
    logFactors: "logFactors",
    counts: "counts",
  });
}
