// Best and second best of each group.
import { type BackendOption, selectBackend } from "../../backend/select";
import type { CollectiveOption } from "../../core/collective";
import { allocateFloat, type FloatArray, floatDType } from "../../core/dtype";
import type { GroupLayout } from "../../core/groups";
import { gatherItems, itemArgs, needItems } from "./items";

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

/**
 * The largest item of each group, and the largest of the rest. Ties go to the smaller index; NaN is never picked.
 *
 * @param values one number per item
 * @param options `groups` or `groupOffsets`; neither = all items in one group
 * @throws SurprisalError as `groupNormalize`
 */
export function groupTop2(values: FloatArray, options: GroupTop2Options = {}): GroupTop2Result {
  const op = "groupTop2";
  const items = gatherItems(op, options.collective, needItems(op, "values", values, options));
  const { G, ids } = items.groups;
  const dtype = floatDType(items.values);
  const result = {
    best: new Int32Array(G),
    second: new Int32Array(G),
    bestValues: allocateFloat(dtype, G),
    secondValues: allocateFloat(dtype, G),
    groupIds: options.collective ? ids.slice(items.begin, items.end) : ids,
  };
  selectBackend(op, options.backend).ops.groupTop2({
    best: result.best,
    second: result.second,
    bestValue: result.bestValues,
    secondValue: result.secondValues,
    ...itemArgs(items),
  });
  return result;
}
