// The ops of a linear head as backends take them: native/include/surprisal/linear.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";
import type { LogitMapArgs } from "./logprob";

/** Numbers, or the bits of a half type. */
export type HeadArray = Float32Array | Float64Array | Uint16Array;

interface HeadArgs extends LogitMapArgs {
  /** Of hidden, weight and bias. "Wide" below is float64 where it is float64, else float32. */
  readonly dtype: DTypeCode;
  /** [N,D]. */
  readonly hidden: HeadArray;
  /** [padded,D], of which the first V rows count. */
  readonly weight: HeadArray;
  /** [padded]. */
  readonly bias: HeadArray | null;
  /** [N]. */
  readonly targets: Int32Array | null;
  /** [N]; 0 = not read. */
  readonly keep: Uint8Array | null;
  readonly N: number;
  readonly D: number;
  readonly V: number;
  readonly padded: number;
  /** Rows in work at a time; 0 = the backend's own number. */
  readonly chunk: number;
}

/** All [N]. */
export interface LinearOutputs {
  /** Wide; needs targets. So are the next three. */
  readonly logprob: FloatArray | null;
  readonly entropy: FloatArray | null;
  readonly lse: FloatArray | null;
  readonly sumSq: FloatArray | null;
  readonly maxLogit: Float64Array | null;
  readonly log1pSum: Float64Array | null;
  readonly meanGap: Float64Array | null;
}

export interface LinearForwardArgs extends HeadArgs, LinearOutputs {}

export interface LinearBackwardArgs extends HeadArgs {
  readonly maxLogit: Float64Array;
  readonly log1pSum: Float64Array;
  /** Needed with gradEntropy. */
  readonly meanGap: Float64Array | null;
  /** Wide [N]; needs targets. */
  readonly gradLogprob: FloatArray | null;
  /** Wide [N]. */
  readonly gradEntropy: FloatArray | null;
  /** 1: gradWeight and gradBias are added to. */
  readonly accumulate: 0 | 1;
  /** [N,D] in hidden's dtype. */
  readonly gradHidden: HeadArray | null;
  /** Wide [padded,D]. */
  readonly gradWeight: FloatArray | null;
  /** Wide [padded]. */
  readonly gradBias: FloatArray | null;
}

export interface LinearOps {
  linearForward(args: LinearForwardArgs): void;
  linearBackward(args: LinearBackwardArgs): void;
}
