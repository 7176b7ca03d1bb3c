// What a function needs of the workers that share a batch. Implementations live in lib/collective and with callers.

/** What travels. */
export type CollectiveArray = Float64Array | Int32Array;

/** How numbers of several ranks become one. NaN wins. */
export type CollectiveReduction = "sum" | "min" | "max";

/**
 * One worker's end of a group of workers that compute together. All ranks make every call, in the same order and with arrays of
 * the same type and length; it returns when all have made it, with the same result on each. Arguments are not changed, results
 * are new arrays. surprisal/collective has implementations; one over another transport needs only these members.
 */
export interface Collective {
  /** This worker's number, 0 … size − 1. Ranks are in the order of the global batch: rank 0 has its first rows. */
  readonly rank: number;
  /** How many workers. */
  readonly size: number;
  /** Element by element over all ranks, in the order of the ranks. A sum of Int32Array past int32 is an error. */
  allReduce<A extends CollectiveArray>(values: A, reduction: CollectiveReduction): A;
  /** The arrays of all ranks, one a rank. */
  allGather<A extends CollectiveArray>(values: A): A[];
  /** The array of rank `root`. The others give one of the same length, whose numbers are not read. */
  broadcast<A extends CollectiveArray>(values: A, root: number): A;
  /** Returns when every rank is here. */
  barrier(): void;
  /** A group of some of the ranks, numbered as listed. Called by those alone; it needs no call of the others. */
  subgroup(ranks: readonly number[]): Collective;
}

/** Option of every function whose statistics may span workers. */
export interface CollectiveOption {
  /**
   * The workers that hold the batch, rank 0 its first rows. Statistics are then those of the whole batch, to the bits of one
   * worker that has all rows; results are of the rows here. Every rank has to make the call. Default: this worker alone.
   */
  readonly collective?: Collective;
}
