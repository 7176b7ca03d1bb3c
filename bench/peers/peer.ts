// What a peer is: somebody else who can do the work of a case.
import type { Contender } from "../harness/pairing";
import type { Errors } from "../record";
import type { PeerTask } from "./task";

/** One way in which a peer does a task. */
export interface PeerForm extends Contender {
  readonly check: () => Errors;
  readonly backend: string;
  /** Part of the task that is timed; absent: all of it. */
  readonly part?: number;
  readonly extraMegabytes: () => Promise<number | undefined>;
}

export interface Peer {
  readonly name: string;
  /** With versions: "torch 1.13.0 (AVX-512)". */
  readonly version: string;
  /** The ways in which it does this task; none if it cannot. */
  readonly formsOf: (task: PeerTask, threads: number) => Promise<readonly PeerForm[]>;
  readonly pid?: () => number | undefined;
  /** Forgets the task and its memory. */
  readonly release: () => Promise<void>;
  readonly close: () => void;
}

export interface AbsentPeer {
  readonly name: string;
  readonly reason: string;
}

export type OpenPeer = () => Promise<Peer | AbsentPeer>;

export interface PeerSet {
  readonly present: readonly Peer[];
  readonly absent: readonly AbsentPeer[];
  readonly formsOf: (task: PeerTask, threads: number) => Promise<readonly PeerForm[]>;
  readonly pids: () => number[];
  readonly release: () => Promise<void>;
  readonly close: () => void;
}
