// What the ops on groups of items have in common.
import type { GroupTop2Args } from "../../backend/contract/group";
import { lengthOf, needFloats, refuseOverlap } from "../../core/arrays";
import type { Collective } from "../../core/collective";
import { DTYPE_CODE, type FloatArray, type FloatDType } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import { gatherGroups } from "../../core/gathered-groups";
import { type GroupLayout, type Groups, needGroups } from "../../core/groups";
import { gatherRowPartials, needAgreement } from "../../core/row-partials";

/** One checked array of items and its groups. */
export interface GroupedItems {
  readonly values: FloatArray;
  readonly groups: Groups;
}

/** Checks `values` and the groups that the options name. */
export function needItems(op: string, name: string, values: unknown, layout: GroupLayout): GroupedItems {
  const floats = needFloats(op, name, values, lengthOf(values), "its own length");
  return { values: floats, groups: needGroups(op, layout, floats.length) };
}

/** Items of all workers; those here are begin … end − 1. */
export interface GatheredItems extends GroupedItems {
  readonly begin: number;
  readonly end: number;
}

/** Numbers of all workers, one an item, in the type that the ranks share. */
export function gatherFloats(
  op: string,
  collective: Collective | undefined,
  values: FloatArray,
): Pick<GatheredItems, "values" | "begin" | "end"> {
  if (!collective) return { values, begin: 0, end: values.length };
  const dtype: FloatDType = floatDType(values);
  needAgreement(op, "bytes a number", collective, values.BYTES_PER_ELEMENT);
  const { partials, begin, end } = gatherRowPartials(op, collective, Float64Array.from(values));
  // float32 in float64 and back is the same number.
  return { values: dtype === "float64" ? partials : Float32Array.from(partials), begin, end };
}

/** The items of all workers, in the order of the global batch, where there is a collective. */
export function gatherItems(op: string, collective: Collective | undefined, items: GroupedItems): GatheredItems {
  if (!collective) return { values: items.values, groups: items.groups, begin: 0, end: items.values.length };
  return { ...gatherFloats(op, collective, items.values), groups: gatherGroups(op, collective, items.groups) };
}

/** To make a getter costs as much as the group numbers of so many items. */
const FEW_ITEMS = 512;

/** Adds the group number of each item of this worker: of many, when it is read. */
export function withGroupIds<Results extends object>(
  results: Results,
  { groups, begin, end }: Pick<GatheredItems, "groups" | "begin" | "end">,
): Results & { readonly groupIds: Int32Array } {
  const numbered = results as Results & { groupIds: Int32Array };
  const all = begin === 0 && end === groups.offsets[groups.G];
  if (all && end > FEW_ITEMS)
    return Object.defineProperty(numbered, "groupIds", { get: () => groups.ids, enumerable: true });
  numbered.groupIds = all ? groups.ids : groups.ids.slice(begin, end);
  return numbered;
}

/** The fields that every op on groups passes to a backend. */
export function itemArgs({
  values,
  groups,
}: GroupedItems): Pick<GroupTop2Args, "dtype" | "values" | "members" | "offsets" | "n" | "G"> {
  const { G, members, offsets } = groups;
  return { dtype: DTYPE_CODE[floatDType(values)], values, members, offsets, n: values.length, G };
}

/** Refuses outputs that lie over the values, the labels or the offsets. */
export function refuseItemOverlap(
  op: string,
  given: object | undefined,
  outputs: Readonly<Record<string, ArrayBufferView | null>>,
  values: FloatArray,
  { groups, groupOffsets }: GroupLayout,
): void {
  refuseOverlap(op, given, outputs, { values, groups: ArrayBuffer.isView(groups) ? groups : null, groupOffsets });
}
