// The collective of one worker.
import type { Collective, CollectiveArray, CollectiveReduction } from "../core/collective";
import { emptyLike, needRanks, needReduction, needRoot, needValues } from "./checks";

function copied<A extends CollectiveArray>(op: string, values: A): A {
  needValues(op, values);
  const copy = emptyLike(values);
  copy.set(values);
  return copy;
}

const ALONE: Collective = Object.freeze({
  rank: 0,
  size: 1,
  allReduce<A extends CollectiveArray>(values: A, reduction: CollectiveReduction): A {
    needReduction("allReduce", reduction);
    return copied("allReduce", values);
  },
  allGather: <A extends CollectiveArray>(values: A): A[] => [copied("allGather", values)],
  broadcast<A extends CollectiveArray>(values: A, root: number): A {
    needRoot("broadcast", root, 1);
    return copied("broadcast", values);
  },
  barrier: () => undefined,
  subgroup(ranks: readonly number[]): Collective {
    needRanks("subgroup", ranks, 0, 1);
    return ALONE;
  },
});

/** A worker alone: programs that take a collective run with it as they are, without threads. */
export function singleCollective(): Collective {
  return ALONE;
}
