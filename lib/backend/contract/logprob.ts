// The logprob ops as backends take them: native/include/surprisal/logprob.h, names in camelCase.
import type { DTypeCode } from "../../core/dtype";

/** Logits in memory: numbers, or the bits of a half type. */
export type LogitArray = Float32Array | Uint16Array;

/** z = scale·x / temperature, or softcap·tanh(scale·x / softcap) / temperature with softcap > 0. */
export interface LogitMapArgs {
  readonly temperature: number;
  readonly scale: number;
  /** 0 = none. */
  readonly softcap: number;
}

interface LogitArgs extends LogitMapArgs {
  readonly dtype: DTypeCode;
  /** [N, stride], of which the first V columns count. */
  readonly logits: LogitArray;
  /** [N,K]. */
  readonly targets: Int32Array | null;
  /** [N]; 0 = not read. */
  readonly keep: Uint8Array | null;
  readonly N: number;
  readonly V: number;
  readonly stride: number;
  readonly K: number;
}

/** Where the columns lie in the whole vocabulary. */
interface ShardArgs {
  readonly vocabStart: number;
  readonly vocabSize: number;
}

export interface LogprobOutputs {
  /** [N,K]; the others [N]. */
  readonly logprob: Float32Array | null;
  readonly entropy: Float32Array | null;
  readonly lse: Float32Array | null;
  readonly maxLogit: Float32Array | null;
  readonly log1pSum: Float32Array | null;
  readonly meanGap: Float32Array | null;
  readonly sumSq: Float32Array | null;
}

export interface LogprobForwardArgs extends LogitArgs, LogprobOutputs {}

export interface LogprobBackwardArgs extends LogitArgs, ShardArgs {
  readonly maxLogit: Float32Array;
  readonly log1pSum: Float32Array;
  /** Needed with gradEntropy. */
  readonly meanGap: Float32Array | null;
  /** [N,K]. */
  readonly gradLogprob: Float32Array | null;
  /** [N]. */
  readonly gradEntropy: Float32Array | null;
  /** [N, stride]; may be the logits themselves. */
  readonly grad: LogitArray;
}

export interface LogprobPartialArgs extends LogitArgs, ShardArgs {
  /** [N, 4+K]. */
  readonly state: Float64Array;
}

export interface LogprobMergeArgs extends LogitMapArgs, LogprobOutputs {
  /** [P, N, 4+K]. */
  readonly states: Float64Array;
  readonly P: number;
  readonly N: number;
  readonly K: number;
}

/** Doubles of a state in front of its target logits: maximum, S', W, Σ exp(2(z − M)). */
export const STATE_SUMS = 4;
/** S' in the state of an ignored row. */
export const IGNORED_REST = -1;

export interface LogprobOps {
  logprobForward(args: LogprobForwardArgs): void;
  logprobBackward(args: LogprobBackwardArgs): void;
  logprobPartial(args: LogprobPartialArgs): void;
  logprobMerge(args: LogprobMergeArgs): void;
}
