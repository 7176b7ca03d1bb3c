// What the ops on groups of items have in common.
import type { GroupArgs } from "../../backend/contract/group";
import { needFloats, refuseOverlap } from "../../core/arrays";
import { DTYPE_CODE, type FloatArray, floatDType } from "../../core/dtype";
import { type GroupLayout, type Groups, needGroups } from "../../core/groups";

/** One checked array of items and its groups. */
export interface GroupedItems {
  readonly values: FloatArray;
  readonly groups: Groups;
}

/** Checks `values` and the groups that the options name. */
export function needItems(op: string, name: string, values: unknown, layout: GroupLayout): GroupedItems {
  const length = ArrayBuffer.isView(values) ? (values as FloatArray).length : 0;
  const floats = needFloats(op, name, values, length, "its own length");
  return { values: floats, groups: needGroups(op, layout, floats.length) };
}

/** The fields that every op on groups passes to a backend. */
export function itemArgs({ values, groups }: GroupedItems): GroupArgs {
  const { G, members, offsets } = groups;
  return { dtype: DTYPE_CODE[floatDType(values)], values, members, offsets, n: values.length, G };
}

/** Refuses outputs that lie over the values, the labels or the offsets. */
export function refuseItemOverlap(
  op: string,
  outputs: Readonly<Record<string, ArrayBufferView | null>>,
  values: FloatArray,
  { groups, groupOffsets }: GroupLayout,
): void {
  refuseOverlap(op, outputs, { values, groups: ArrayBuffer.isView(groups) ? groups : null, groupOffsets });
}
