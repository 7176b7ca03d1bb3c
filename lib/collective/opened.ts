// What a program holds of a collective that it opened.
import type { Collective, CollectiveArray, CollectiveReduction } from "../core/collective";

/** A collective whose calls have asynchronous forms too: those of one rank run one after the other, as they were made. */
export interface AsyncCollective extends Collective {
  allReduceAsync<A extends CollectiveArray>(values: A, reduction: CollectiveReduction): Promise<A>;
  allGatherAsync<A extends CollectiveArray>(values: A): Promise<A[]>;
  broadcastAsync<A extends CollectiveArray>(values: A, root: number): Promise<A>;
  barrierAsync(): Promise<void>;
  subgroup(ranks: readonly number[]): AsyncCollective;
}

/** This rank's end of a collective. */
export interface OpenedCollective extends AsyncCollective {
  readonly kind: "single" | "workers" | "mpi";
  /** What the library says that it is, where there is one. */
  readonly library: string | undefined;
  /**
   * This rank takes part no more: calls of the others that wait for it, and its own that are under way, end with
   * ERR_SURPRISAL_COLLECTIVE_LOST. The end of the thread or the process does the same.
   *
   * @param options.abort Default false; true ends all processes of an MPI job at once, this one too.
   */
  close(options?: { readonly abort?: boolean }): void;
}
