// Centring and scaling per group.
import {
  GROUP_CENTERS,
  GROUP_SCALES,
  GROUP_SINGLETONS,
  type GroupCenter,
  type GroupNormalizeArgs,
  type GroupScale,
  type GroupSingleton,
  NAN_POLICIES,
  type NanPolicy,
} from "../../backend/contract/group";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { int32Or, needOutput, optionalFloats, outputOr, refuseOverlap } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { asFloat, widestFloat } from "../../core/float-arrays";
import { valueError } from "../../core/errors";
import type { GroupLayout, NamedGroups } from "../../core/groups";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { gatherFloats, gatherItems, type GroupedItems, needItems, refuseItemOverlap, withGroupIds } from "./items";

takesDeviceArrays("groupNormalize");

/** The choices in which systems differ when they normalise a group. */
export interface GroupConventions {
  /**
   * What is subtracted: the group's mean, the mean of the group's other items, or nothing. `"runnerUp"`: from the largest item
   * the second largest, from every other item itself, so that a sole winner keeps its lead and the rest is 0. Default `"mean"`.
   */
  readonly center?: GroupCenter;
  /**
   * Divide by `std + epsilon`; by that of the `"others"` in the group where it is not 0; by `mean + epsilon` (`"mean"`: where the
   * mean is > 0, else the result is 0); or not. Default `"std"`.
   */
  readonly scale?: GroupScale;
  /** Degrees of freedom that the variance gives up: 1 = sample, 0 = population. Default 1. */
  readonly ddof?: number;
  /** Added to the std, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** The variance is not allowed below this, >= 0. Default 0. */
  readonly varianceFloor?: number;
  /**
   * A group of one number: 0, or the number itself, uncentred (divided by 1 + epsilon when scaling). `"standard"`: as
   * `"raw"`, and its mean is reported as 0 and its std as 1, as are those of an empty group. Default `"zero"`.
   */
  readonly singleton?: GroupSingleton;
  /** NaN: makes its whole group NaN, or abstains (left out of the statistics, own result 0). Default `"propagate"`. */
  readonly nan?: NanPolicy;
}

type GroupConventionArgs = Pick<
  GroupNormalizeArgs,
  "ddof" | "epsilon" | "varianceFloor" | "center" | "scale" | "singleton" | "nanPolicy"
>;

export interface GroupNormalizeOptions extends GroupConventions, GroupLayout, BackendOption, CollectiveOption {
  /**
   * How often each item counts in its group's statistics, >= 0: weighted mean, variance and leave-one-out mean. 0 leaves the
   * item out; a group of weight 0 has mean NaN and results 0. Default: 1 each.
   */
  readonly weights?: FloatArray;
  /** Multiplies the results, >= 0. Default 1. */
  readonly gain?: number;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: {
    readonly normalized?: FloatArray;
    readonly means?: FloatArray;
    readonly stds?: FloatArray;
    readonly counts?: Int32Array;
    /** What was subtracted from each item. Not made unless it is given; not with a `collective`. */
    readonly centers?: FloatArray;
    /** What divided it, without epsilon; 1 with scale `"none"`. As `centers`. */
    readonly spreads?: FloatArray;
  };
}

export interface GroupNormalizeResult {
  /** One per item. */
  readonly normalized: FloatArray;
  /** One per group; NaN for an empty one, but see `singleton`. */
  readonly means: FloatArray;
  /** One per group, without epsilon; 0 for a group of one or of equal numbers, NaN for an empty one, but see `singleton`. */
  readonly stds: FloatArray;
  /** Items that entered the statistics, one per group. */
  readonly counts: Int32Array;
  /** The group number of each item: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

/** Conventions checked, with defaults filled in, as backends take them. */
function needConventions(op: string, conventions: GroupConventions): GroupConventionArgs {
  const nonNegative = { min: 0 } as const;
  return {
    center: needWord(op, "center", conventions.center ?? "mean", GROUP_CENTERS),
    scale: needWord(op, "scale", conventions.scale ?? "std", GROUP_SCALES),
    ddof: needNumber(op, "ddof", conventions.ddof ?? 1, nonNegative),
    epsilon: needNumber(op, "epsilon", conventions.epsilon ?? 1e-6, nonNegative),
    varianceFloor: needNumber(op, "varianceFloor", conventions.varianceFloor ?? 0, nonNegative),
    singleton: needWord(op, "singleton", conventions.singleton ?? "zero", GROUP_SINGLETONS),
    nanPolicy: needWord(op, "nan", conventions.nan ?? "propagate", NAN_POLICIES),
  };
}

/** Normalises the items of all workers, and keeps the results of the items here. */
function normalizeTogether(op: string, items: GroupedItems, options: GroupNormalizeOptions): GroupNormalizeResult {
  const { collective, out, groups: _, groupOffsets: __, ...conventions } = options;
  const weights = optionalFloats(op, "weights", options.weights, items.values.length, "one per item");
  const dtype = widestFloat(items.values, weights);
  const given = out?.normalized;
  if (given) {
    needOutput(op, "normalized", given, dtype, items.values.length);
    refuseItemOverlap(op, out, { normalized: given }, items.values, options);
  }
  const all = gatherItems(op, collective, { ...items, values: asFloat(items.values, dtype) });
  const { normalized, means, stds, counts, groupIds } = normalizeItems(op, all, {
    ...conventions,
    weights: weights ? gatherFloats(op, collective, asFloat(weights, dtype)).values : undefined,
    out: out && { means: out.means, stds: out.stds, counts: out.counts },
  });
  const own = normalized.slice(all.begin, all.end);
  given?.set(own);
  return { normalized: given ?? own, means, stds, counts, groupIds: groupIds.slice(all.begin, all.end) };
}

/** Runs on items that are checked already, for the public function `op`. */
export function normalizeItems(op: string, items: GroupedItems, options: GroupNormalizeOptions): GroupNormalizeResult {
  const stream = streamOf(op, options, items.values, options.weights);
  if (options.collective) return normalizeTogether(op, items, options);
  const { values, groups } = items;
  const conventions = needConventions(op, options);
  const weights = optionalFloats(op, "weights", options.weights, values.length, "one per item");
  // Weights on a device are not checked: an invalid one makes its group NaN.
  if (ArrayBuffer.isView(weights))
    for (let i = 0; i < weights.length; ++i)
      if (!(weights[i]! >= 0 && weights[i]! < Infinity))
        throw valueError(op, `weights[${i}]`, weights[i], "a finite number >= 0");
  const gain = needNumber(op, "gain", options.gain ?? 1, { min: 0 });
  const dtype = widestFloat(values, weights);
  const { out } = options;
  const normalized = outputOr(op, "normalized", out?.normalized, dtype, values.length, stream);
  const means = outputOr(op, "means", out?.means, dtype, groups.G, stream);
  const stds = outputOr(op, "stds", out?.stds, dtype, groups.G, stream);
  const counts = int32Or(op, "counts", out?.counts, groups.G, stream);
  const centers = out?.centers ? outputOr(op, "centers", out.centers, dtype, values.length, stream) : null;
  const spreads = out?.spreads ? outputOr(op, "spreads", out.spreads, dtype, values.length, stream) : null;
  // What few calls have costs the others nothing.
  const outputs: Readonly<Record<string, ArrayBufferView | null>> =
    centers || spreads ? { normalized, means, stds, counts, centers, spreads } : { normalized, means, stds, counts };
  refuseItemOverlap(op, out, outputs, values, options);
  if (weights) refuseOverlap(op, out, outputs, { weights });
  selectBackend(op, options.backend, stream).ops.groupNormalize({
    normalized,
    means: means,
    stds: stds,
    counts: counts,
    centers,
    spreads,
    weights: weights && asFloat(weights, dtype),
    gain,
    ddof: conventions.ddof,
    epsilon: conventions.epsilon,
    varianceFloor: conventions.varianceFloor,
    center: conventions.center,
    scale: conventions.scale,
    singleton: conventions.singleton,
    nanPolicy: conventions.nanPolicy,
    dtype: DTYPE_CODE[dtype],
    values: asFloat(values, dtype),
    members: groups.members,
    offsets: groups.offsets,
    n: values.length,
    G: groups.G,
  });
  return withGroupIds({ normalized, means, stds, counts }, { groups, begin: 0, end: values.length });
}

/** The same on a device, where the first array lies. */
export function groupNormalize(
  values: DeviceFloatArray,
  options: Anywhere<GroupNormalizeOptions & NamedGroups>,
): OnDevice<GroupNormalizeResult, "groupIds">;
/**
 * Centres and scales each item by the statistics of its group.
 *
 *     center "mean"          c = mean of the group
 *     center "leaveOneOut"   c_i = (sum − x_i) / (count − 1)
 *     scale  "std"           y_i = (x_i − c_i) / (std + ε),   std = sqrt(max(Σ(x − mean)² / (count − ddof), varianceFloor))
 *     scale  "others"        the same with the std of the other items, where it is not 0 (else y_i = x_i − c_i)
 *     scale  "mean"          y_i = (x_i − c_i) / (mean + ε) where mean > 0, else 0;  "signedMean": wherever
 *     scale  "none"          y_i = x_i − c_i
 *     center "runnerUp"      c_i = second largest x for the largest item, x_i for the others
 *
 * A group whose numbers are all equal gives exact zeros. Statistics in float64; results in the type of `values`. With a
 * `collective` a label is one group wherever its items lie, and what is listed per group is of the groups of all workers.
 *
 * @param values one number per item, in their own unit
 * @param options `groups` (a label per item, or `"all"`) or `groupOffsets`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function groupNormalize(values: FloatArray, options: GroupNormalizeOptions & NamedGroups): GroupNormalizeResult;
export function groupNormalize(
  values: AnyFloatArray,
  anywhere: GroupNormalizeOptions | Anywhere<GroupNormalizeOptions>,
): GroupNormalizeResult | OnDevice<GroupNormalizeResult, "groupIds"> {
  const options = anywhere as GroupNormalizeOptions;
  return normalizeItems("groupNormalize", needItems("groupNormalize", "values", values, options), options);
}
