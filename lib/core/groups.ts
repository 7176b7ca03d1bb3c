// Groups of rows (the rollouts of one prompt): by a label per row, or as consecutive blocks with offsets.
import { typedArrayName } from "./dtype";
import { dtypeError, optionError, rangeError, SurprisalError, valueError } from "./errors";
import { checkOffsets } from "./offsets";

/** One label per row. Rows with the same label form a group, wherever they stand. Integers (bigint too) or strings. */
export type GroupLabels =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | readonly number[]
  | readonly bigint[]
  | readonly string[];

/** Which rows belong together. Give at most one of the two. */
export interface GroupLayout {
  /** A label per row: prompt ids, in any order. Groups are numbered by first appearance. `"all"`: all rows are one group. */
  readonly groups?: GroupLabels | "all";
  /** Consecutive groups: group g is rows groupOffsets[g] … groupOffsets[g+1]. One entry more than groups; empty groups allowed. */
  readonly groupOffsets?: Int32Array;
}

/** What a call needs that has no default for its groups. */
export type NamedGroups = { readonly groups: GroupLabels | "all" } | { readonly groupOffsets: Int32Array };

/** Whether a layout says which rows belong together. */
export const namesGroups = ({ groups, groupOffsets }: GroupLayout): boolean => groups != null || groupOffsets != null;

/** Which rows of a batch belong together, without the rest of it. Where it does not say, what reads them refuses. */
export function groupingOf({ groups, groupOffsets }: GroupLayout): GroupLayout & NamedGroups {
  return { groups, groupOffsets } as GroupLayout & NamedGroups;
}

/** Checked groups, as backends take them: group g is items members[offsets[g]] … members[offsets[g+1] - 1]. */
export interface Groups {
  readonly G: number;
  /** The items, group after group, in their own order within a group. null = the identity: groups are consecutive. */
  readonly members: Int32Array | null;
  readonly offsets: Int32Array;
  /** The group number of each item. */
  readonly ids: Int32Array;
  /** The labels of the groups, by which other workers recognise them. null = offsets, or one group for all. */
  readonly labels: ArrayLike<number | bigint | string> | null;
  /** All items are one group, and so are those of other workers. */
  readonly whole: boolean;
}

const INTEGER_ARRAYS = new Set([
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "BigInt64Array",
  "BigUint64Array",
]);

function needLabels(op: string, name: string, labels: unknown, count: number): ArrayLike<number | bigint | string> {
  const kind = typedArrayName(labels);
  if (!Array.isArray(labels) && !(kind !== undefined && INTEGER_ARRAYS.has(kind)))
    throw dtypeError(op, name, labels, "an array of integers or strings, one a row");
  const list = labels as ArrayLike<number | bigint | string>;
  if (list.length !== count)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: ${name} has ${list.length} labels, expected ${count}, one a row`,
      {
        op,
        name,
        got: list.length,
        want: `${count}, one a row`,
      },
    );
  // A typed array holds integers only; a list may hold anything, and holes.
  if (kind === undefined)
    for (let i = 0; i < list.length; ++i) {
      const label: unknown = list[i];
      if (typeof label !== "string" && typeof label !== "bigint" && !Number.isSafeInteger(label))
        throw valueError(op, `${name}[${i}]`, label, "an integer or a string");
    }
  return list;
}

/** Groups of equal labels, numbered by first appearance; rows keep their order within a group. */
export function groupsByLabel(op: string, name: string, labels: unknown, count: number): Groups {
  const list = needLabels(op, name, labels, count);
  const ids = new Int32Array(count);
  const numbers = new Map<number | bigint | string, number>();
  const sizes: number[] = [];
  let sorted = true;
  for (let i = 0; i < count; ++i) {
    const label = list[i]!;
    let id = numbers.get(label);
    if (id === undefined) {
      id = numbers.size;
      numbers.set(label, id);
      sizes.push(0);
    }
    if (i > 0 && id < ids[i - 1]!) sorted = false;
    ids[i] = id;
    ++sizes[id]!;
  }

  const G = sizes.length;
  const offsets = new Int32Array(G + 1);
  for (let g = 0; g < G; ++g) offsets[g + 1] = offsets[g]! + sizes[g]!;
  if (sorted) return { G, members: null, offsets, ids, labels: list, whole: false };

  const members = new Int32Array(count);
  const next = offsets.slice(0, G);
  for (let i = 0; i < count; ++i) members[next[ids[i]!]!++] = i;
  return { G, members, offsets, ids, labels: list, whole: false };
}

// From so many numbers on fill() is faster than a loop: a call of it costs as much as they do.
const FILLED = 64;

function evenIds(size: number, count: number): Int32Array {
  const ids = new Int32Array(count);
  if (size < FILLED) {
    for (let begin = 0, g = 0; begin < count; begin += size, ++g) for (let i = begin; i < begin + size; ++i) ids[i] = g;
    return ids;
  }
  // Those of group 0 are 0 already.
  for (let begin = size, g = 1; begin < count; begin += size, ++g) ids.fill(g, begin, begin + size);
  return ids;
}

function idsOf(offsets: Int32Array, count: number): Int32Array {
  const ids = new Int32Array(count);
  for (let g = 0; g + 1 < offsets.length; ++g) for (let i = offsets[g]!; i < offsets[g + 1]!; ++i) ids[i] = g;
  return ids;
}

class ConsecutiveGroups implements Groups {
  readonly members = null;
  readonly labels = null;
  readonly whole = false;
  private known: Int32Array | undefined;

  constructor(
    readonly G: number,
    readonly offsets: Int32Array,
    private readonly count: number,
    /** Of every group; -1: they differ. */
    private readonly size: number,
  ) {}

  // Made when it is read: a number per item costs as much as a native op on the items, and most callers never need it.
  get ids(): Int32Array {
    return (this.known ??= this.size >= 0 ? evenIds(this.size, this.count) : idsOf(this.offsets, this.count));
  }
}

/** Consecutive groups. Offsets run from 0 to `count` and never go down. */
export function groupsByOffsets(op: string, name: string, offsets: unknown, count: number): Groups {
  if (typedArrayName(offsets) !== "Int32Array")
    throw dtypeError(op, name, offsets, "an Int32Array", "Int32Array.from(offsets) converts");
  const checked = offsets as Int32Array;
  const size = checkOffsets(op, name, checked);
  const G = checked.length - 1;
  if (checked[G] !== count) throw rangeError(op, `${name}[${G}]`, checked[G], `${count}, the number of rows`);
  // The caller's offsets may change before ids are read: so this keeps a copy, or the size where all groups have one size.
  return new ConsecutiveGroups(G, size >= 0 ? checked : checked.slice(), count, size);
}

// The same array for the next group of this size: offsets are never written to.
let lastOfOne = Int32Array.of(0);

/** All items in one group; no group where there is no item. */
export function oneGroup(count: number): Groups {
  const G = count > 0 ? 1 : 0;
  if (lastOfOne.length !== G + 1 || lastOfOne[G] !== count) lastOfOne = G ? Int32Array.of(0, count) : Int32Array.of(0);
  return { G, members: null, offsets: lastOfOne, ids: new Int32Array(count), labels: null, whole: true };
}

/**
 * Reads and checks `groups` or `groupOffsets` of an options object, for `count` items. Nobody may forget them: over the rows of
 * several prompts the numbers would look right and be wrong.
 */
export function needGroups(op: string, layout: GroupLayout, count: number): Groups {
  const { groups, groupOffsets } = layout;
  if (groups != null && groupOffsets != null)
    throw optionError(op, "groups", groups, "nothing where groupOffsets is given: either labels or offsets");
  if (groups === "all") return oneGroup(count);
  if (groups != null) return groupsByLabel(op, "groups", groups, count);
  if (groupOffsets != null) return groupsByOffsets(op, "groupOffsets", groupOffsets, count);
  throw optionError(
    op,
    "groups",
    groups,
    "a label per row (the prompt that it answers), or groupOffsets",
    'groups: "all" makes one group of all rows',
  );
}
