// Groups whose rows lie on several workers.
import type { Collective } from "./collective";
import { valueError } from "./errors";
import { type Groups, groupsByLabel, groupsByOffsets, oneGroup } from "./groups";
import { gatherRagged, gatherRowPartials, needAgreement } from "./row-partials";

/** Labels as numbers that other workers read the same. */
function numericLabels(op: string, labels: ArrayLike<number | bigint | string>): Float64Array {
  return Float64Array.from(labels as ArrayLike<unknown>, (label, i) => {
    const number = typeof label === "bigint" ? Number(label) : label;
    if (typeof number === "number" && Number.isSafeInteger(number)) return number;
    throw valueError(op, `groups[${i}]`, label, "an integer within ±(2^53 − 1) where workers share groups");
  });
}

/** Offsets of the groups of all ranks, one behind the other. */
function joinedOffsets(collective: Collective, offsets: Int32Array): Int32Array {
  const sizes = Float64Array.from(offsets.subarray(1), (end, g) => end - offsets[g]!);
  const all = [0];
  for (const part of gatherRagged(collective, sizes)) for (const size of part) all.push(all.at(-1)! + size);
  return Int32Array.from(all);
}

/**
 * The groups of the rows of all workers, numbered in the order of the global batch. The same label is the same group on every
 * worker; groups by offsets stay on theirs; without either all rows of all workers are one.
 */
export function gatherGroups(op: string, collective: Collective, groups: Groups): Groups {
  needAgreement(
    op,
    "the kind of groups (0 one, 1 labels, 2 offsets)",
    collective,
    groups.whole ? 0 : groups.labels ? 1 : 2,
  );
  if (groups.labels) {
    const { partials } = gatherRowPartials(op, collective, numericLabels(op, groups.labels));
    return groupsByLabel(op, "groups", Array.from(partials), partials.length);
  }
  if (!groups.whole) {
    const offsets = joinedOffsets(collective, groups.offsets);
    return groupsByOffsets(op, "groupOffsets", offsets, offsets.at(-1)!);
  }
  const counts = collective.allReduce(Int32Array.of(groups.ids.length), "sum");
  return oneGroup(counts[0]!);
}
