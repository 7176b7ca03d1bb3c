// Best and second best of each group.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { int32Or } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { allocateFloat, floatDType } from "../../core/float-arrays";
import type { GroupLayout, NamedGroups } from "../../core/groups";
import { namedNumber } from "../../core/not-finite";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { gatherItems, itemArgs, needItems, withGroupIds } from "./items";

takesDeviceArrays("groupTop2");

export interface GroupTop2Options extends GroupLayout, BackendOption, CollectiveOption {}

/** One entry per group. An index counts all items, those of all workers with a collective; −1, with the value NaN, where there is none. */
export interface GroupTop2Result {
  readonly best: Int32Array;
  readonly second: Int32Array;
  readonly bestValues: FloatArray;
  readonly secondValues: FloatArray;
  /** The group number of each item: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

/** The same on a device, where the first array lies. */
export function groupTop2(
  values: DeviceFloatArray,
  options: Anywhere<GroupTop2Options & NamedGroups>,
): OnDevice<GroupTop2Result, "groupIds">;
/**
 * The largest item of each group, and the largest of the rest. Ties go to the smaller index.
 *
 * @param values one number per item
 * @param options `groups` (a label per item, or `"all"`) or `groupOffsets`
 * @throws SurprisalError as `groupNormalize`; ERR_SURPRISAL_VALUE for a NaN, on a device at the next read
 */
export function groupTop2(values: FloatArray, options: GroupTop2Options & NamedGroups): GroupTop2Result;
export function groupTop2(
  values: AnyFloatArray,
  anywhere: GroupTop2Options | Anywhere<GroupTop2Options>,
): GroupTop2Result | OnDevice<GroupTop2Result, "groupIds"> {
  const options = anywhere;
  const op = "groupTop2";
  const stream = streamOf(op, options, values);
  const items = gatherItems(op, options.collective, needItems(op, "values", values, options));
  const { G } = items.groups;
  const dtype = floatDType(items.values);
  const result = {
    best: int32Or(op, "best", undefined, G, stream),
    second: int32Or(op, "second", undefined, G, stream),
    bestValues: allocateFloat(dtype, G, stream),
    secondValues: allocateFloat(dtype, G, stream),
  };
  try {
    selectBackend(op, options.backend, stream).ops.groupTop2({
      best: result.best,
      second: result.second,
      bestValues: result.bestValues,
      secondValues: result.secondValues,
      ...itemArgs(items),
    });
  } catch (error) {
    const inputs = [{ name: "values", values: items.values, kept: () => true }];
    const hint = options.collective ? "items count over all workers" : "NaN is neither best nor second";
    throw namedNumber(op, error, "a number", inputs, hint);
  }
  return withGroupIds(result, items);
}
