// The completions of prompts, as MaxEnt-GRPO's functions take them: groups, or a matrix with a prompt a row.
import type { CollectiveOption } from "../../core/collective";
import { groupingOf, type GroupLayout, type NamedGroups, needGroups } from "../../core/groups";
import { optionError } from "../../core/errors";
import { needRows } from "../../core/row-layout";
import { gatherItems } from "../../ops/group/items";

export interface PromptLayout extends GroupLayout {
  /** [prompts, completions of each], row-major, where all prompts have as many. In place of `groups` and `groupOffsets`. */
  readonly shape?: readonly [prompts: number, completions: number];
}

/** What a call needs that has no default for its prompts. */
export type NamedPrompts = NamedGroups | { readonly shape: readonly [prompts: number, completions: number] };

/** The groups of a layout: `shape` as offsets. */
export function promptGrouping(op: string, layout: PromptLayout): GroupLayout & NamedGroups {
  const { shape } = layout;
  if (shape === undefined) return groupingOf(layout);
  if (layout.groups != null || layout.groupOffsets != null)
    throw optionError(op, "shape", shape, "nothing where groups or groupOffsets are given");
  const { B, T } = needRows(op, { shape });
  return { groupOffsets: Int32Array.from({ length: B + 1 }, (_, g) => g * T) };
}

/** How many completions a layout says there are; undefined where it does not. */
export function promptItems({ groups, groupOffsets }: GroupLayout): number | undefined {
  return groupOffsets?.[groupOffsets.length - 1] ?? (groups === "all" ? undefined : groups?.length);
}

export interface PromptSizes {
  /** Completions of each prompt; with a `collective` of the prompts of all workers. */
  readonly counts: Int32Array;
  /** The group number of each completion: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

export function promptSizes(
  op: string,
  layout: GroupLayout,
  items: number,
  { collective }: CollectiveOption = {},
): PromptSizes {
  const { groups, begin, end } = gatherItems(op, collective, {
    values: new Float64Array(items),
    groups: needGroups(op, layout, items),
  });
  const { G, offsets } = groups;
  const ids = collective ? groups.ids.slice(begin, end) : groups.ids;
  return { counts: Int32Array.from({ length: G }, (_, g) => offsets[g + 1]! - offsets[g]!), groupIds: ids };
}
