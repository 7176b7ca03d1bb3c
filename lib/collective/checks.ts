// Checks of what callers hand to a collective, before any rank is waited for.
import type { CollectiveArray, CollectiveReduction } from "../core/collective";
import { DeviceArray } from "../core/device-array";
import { typedArrayName } from "../core/dtype";
import { dtypeError, optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";

export const REDUCTIONS = ["sum", "min", "max"] as const satisfies readonly CollectiveReduction[];

const NOT_HERE =
  'read() it; allGather and broadcast of openCollective("nccl") take DeviceArrays, and sums are made of what was gathered';

export function needValues(op: string, values: unknown): void {
  const name = typedArrayName(values);
  if (name !== "Float64Array" && name !== "Int32Array")
    throw dtypeError(
      op,
      "values",
      values,
      "a Float64Array or an Int32Array",
      DeviceArray.is(values) ? NOT_HERE : "Float64Array.from(values) converts",
    );
}

/** Answers the position in REDUCTIONS. */
export function needReduction(op: string, reduction: CollectiveReduction): number {
  return needWord(op, "reduction", reduction, REDUCTIONS);
}

export function needRoot(op: string, root: unknown, size: number): number {
  return needNumber(op, "root", root, { min: 0, max: size - 1, integer: true });
}

/** Different ranks of the group, this one among them. */
export function needRanks(op: string, ranks: unknown, rank: number, size: number): readonly number[] {
  if (!Array.isArray(ranks)) throw optionError(op, "ranks", ranks, "a list of ranks");
  const list = ranks.map((member: unknown, i) =>
    needNumber(op, `ranks[${i}]`, member, { min: 0, max: size - 1, integer: true }),
  );
  list.forEach((member, i) => {
    if (list.indexOf(member) !== i) throw optionError(op, `ranks[${i}]`, member, "each rank once");
  });
  if (!list.includes(rank)) throw optionError(op, "ranks", ranks, `a list with this rank, ${rank}`);
  return list;
}

/** A new array of the same kind. */
export function emptyLike<A extends CollectiveArray>(values: A, length = values.length): A {
  return (typedArrayName(values) === "Int32Array" ? new Int32Array(length) : new Float64Array(length)) as A;
}

/** The same numbers in an array of their own. */
export function copyOf<A extends CollectiveArray>(values: A): A {
  const copy = emptyLike(values);
  copy.set(values);
  return copy;
}
