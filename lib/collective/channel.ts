// What a group of ranks needs of what carries its bytes. Shared memory and MPI implement it.
import type { DeviceArray } from "../core/device-array";
import type { SurprisalError } from "../core/errors";
import type { Ending, Fingerprint } from "./fingerprint";
import type { Line, Steps } from "./steps";

/** What the members gave, in their order. */
export interface Swapped {
  /** Of the first piece, where calls are checked. */
  readonly prints?: readonly Fingerprint[];
  /** Their bytes, readable until `release`. Of a broadcast only those of the root. Aligned for float64. */
  readonly parts: readonly Uint8Array[];
}

/** For arrays that stay on a device, whole. Results are new arrays there, and done. */
export interface DeviceLane {
  gather(op: string, values: DeviceArray): Steps<DeviceArray[]>;
  broadcast(op: string, values: DeviceArray, root: number): Steps<DeviceArray>;
}

/** One list of ranks. Every channel has one for each list, so that calls are counted alike on all members. */
export interface Lane {
  /** Calls made so far. */
  calls: number;
  /**
   * Hands over a piece and takes those of the others.
   *
   * @param print the bytes of this rank's fingerprint, with the first piece
   * @param mine at most `firstBytes` with the first piece, else `pieceBytes`
   * @param root position among the members; −1: every member gives
   */
  swap(op: string, print: Uint8Array | undefined, mine: Uint8Array, root: number): Steps<Swapped>;
  /** Where the channel carries DeviceArrays. */
  readonly onDevice?: DeviceLane;
  /** Every member has read its pieces. */
  release(op: string): Steps<void>;
}

export interface Channel {
  readonly rank: number;
  readonly size: number;
  readonly firstBytes: number;
  readonly pieceBytes: number;
  readonly line: Line;
  laneOf(members: readonly number[]): Lane;
  /** Why calls are refused from now on. */
  readonly ended: ((op: string) => SurprisalError) | undefined;
  /** This rank takes part no more, and lets the others know. */
  end(ending: Ending): void;
  abort(): void;
}
