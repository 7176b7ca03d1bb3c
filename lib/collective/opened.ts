// What a program holds of a collective that it opened.
import type { Collective, CollectiveArray, CollectiveReduction } from "../core/collective";
import type { DeviceArray } from "../core/device-array";

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
  readonly kind: "single" | "workers" | "mpi" | "nccl";
  /** What the library says that it is, where there is one. */
  readonly library: string | undefined;
  /**
   * This rank takes part no more: calls of the others that wait for it, and its own that are under way, end with
   * ERR_SURPRISAL_COLLECTIVE_LOST. The end of the thread or the process does the same.
   *
   * @param options.abort Default false; true ends all processes of an MPI job at once, this one too; of NCCL: of the job that it was
   *   opened through.
   */
  close(options?: { readonly abort?: boolean }): void;
}

/** Calls that take DeviceArrays too. Results are new arrays on the device, complete when the call returns. */
export interface DeviceCalls {
  allGather<A extends CollectiveArray | DeviceArray>(values: A): A[];
  allGatherAsync<A extends CollectiveArray | DeviceArray>(values: A): Promise<A[]>;
  broadcast<A extends CollectiveArray | DeviceArray>(values: A, root: number): A;
  broadcastAsync<A extends CollectiveArray | DeviceArray>(values: A, root: number): Promise<A>;
  subgroup(ranks: readonly number[]): AsyncCollective & DeviceCalls;
}

/** This rank's end of a collective over NCCL. */
export type DeviceCollective = DeviceCalls & OpenedCollective & { readonly kind: "nccl" };
