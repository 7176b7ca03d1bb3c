// Work that others can do too: the same bytes, the same numbers asked of them, and how right they were.
import type { Errors } from "../record";

export type PeerArray = Float32Array | Uint16Array | Int32Array | Uint8Array | BigInt64Array;

/** Kinds of work, as every peer names its forms. */
export type PeerWork =
  | "logprob"
  | "logprobBackward"
  | "gae"
  | "spans"
  | "groupNormalize"
  | "sequenceRatio"
  | "sequenceGradient"
  | "moments"
  | "whiten"
  | "quantileMask"
  | "linear"
  | "linearGradient"
  | "tokenLoss"
  | "tokenGradient"
  | "rowGradient"
  | "empg";

export interface PeerTask {
  readonly kind: PeerWork;
  readonly arrays: Readonly<Record<string, PeerArray>>;
  /** Sizes and constants. */
  readonly numbers: Readonly<Record<string, number>>;
  /** Kinds of arrays that say nothing of themselves: bits of bfloat16. */
  readonly bfloat16?: readonly string[];
  /** The same work on its first rows: for peers that would take minutes. */
  readonly cut?: (rows: number) => PeerTask;
  /** Outputs by the names of our own results. */
  readonly check: (outputs: Readonly<Record<string, PeerOutput>>) => Errors;
}

export interface PeerOutput extends ArrayLike<number> {
  subarray(begin: number, end: number): ArrayLike<number>;
}
