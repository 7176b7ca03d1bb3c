// Options that the scans from right to left share, and their checks.
import { MASK_MODES, type MaskMode, type ScanReturnsArgs } from "../../backend/contract/scan";
import type { BackendOption } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalFloats, optionalMask } from "../../core/arrays";
import { DTYPE_CODE, type FloatArray, type FloatDType } from "../../core/dtype";
import { asFloat, widestFloat } from "../../core/float-arrays";
import { needFlag, needNumber, needNumbers, needWord } from "../../core/option-checks";
import { needPerRowOrToken, type Per, type PerRowOrToken } from "../../core/per-row";
import { needRows, type RowLayout, type Rows } from "../../core/row-layout";
import { DeviceArray } from "../../core/device-array";
import type { Stream } from "../../core/stream";

/** Options that every scan has. */
export interface ScanOptions extends RowLayout, BackendOption {
  /** Discount of one step, in [0, 1]: a number, or one per token (γ·(1 − done), which ends an episode inside a row). An infinite one counts as NaN. */
  readonly gamma: number | FloatArray;
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
  /**
   * What a masked token is:
   * - `"skip"`: no step at all; the chain runs on undiminished. Output 0.
   * - `"steps"`: a step with reward and value 0; holes decay by γλ, and tokens left of a kept one can have outputs.
   * - `"cut"`: the carry becomes 0 there. Output 0.
   *
   * All three agree for padding behind the last kept token, unless there is a bootstrap value. Default `"skip"`.
   */
  readonly maskMode?: MaskMode;
  /**
   * What a masked token gets with `"skip"` and `"cut"`: 0, or what the scan has there, for which alone its numbers are then
   * read. `"skip"`: the advantage carried over it, as return that plus its value; of `discountedReturns` the return carried
   * over it. `"cut"`: as a kept token, before the carry becomes 0. Default false. Not of `vtrace`.
   */
  readonly transformMasked?: boolean;
  /** One value per row for the state behind its last step (a truncated rollout). Default: 0. */
  readonly bootstrap?: FloatArray;
}

/** What a scan reads per token. */
export interface ScanInputs {
  readonly rewards: unknown;
  readonly values?: unknown;
  readonly weights?: unknown;
  /** A number, or one per row or token. */
  readonly lambda?: unknown;
  readonly lambdaPer?: Per;
}

/** All arrays of a call by their public names, as the caller gave them; null: not given, or not of this op. */
export interface ScanArrays {
  readonly rewards: FloatArray;
  readonly values: FloatArray | null;
  readonly weights: FloatArray | null;
  readonly gamma: FloatArray | null;
  readonly lambda: FloatArray | null;
  readonly mask: Uint8Array | null;
  readonly bootstrap: FloatArray | null;
  readonly offsets: Int32Array | null;
  readonly [name: string]: ArrayBufferView | null;
}

/** What the scans from right to left have in common, checked. `dtype` is what their inputs come to together. */
export interface PreparedScan {
  readonly arrays: ScanArrays;
  readonly dtype: FloatDType;
  readonly rows: Rows;
  /** Of a step; 1 where `arrays.gamma` has one per token. */
  readonly gamma: number;
  readonly lambdasPerToken: number;
  readonly maskMode: number;
  readonly transformMasked: number;
  /** Where it runs, if on a device. */
  readonly stream: Stream | null;
}

/** One per row or token. Those on a device and under the mask are not looked at. */
function needLambdas(
  op: string,
  { lambda, lambdaPer }: ScanInputs,
  rows: Rows,
  mask: Uint8Array | null,
): PerRowOrToken | null {
  if (!ArrayBuffer.isView(lambda) && !DeviceArray.is(lambda)) return null;
  const { array, perToken } = needPerRowOrToken(op, "lambda", lambda, rows, lambdaPer);
  if (ArrayBuffer.isView(array) && !DeviceArray.is(mask))
    needNumbers(op, "lambda", array, { min: 0, max: 1 }, (k) => !perToken || mask?.[k] !== 0);
  return { array, perToken };
}

export function prepare(op: string, inputs: ScanInputs, options: ScanOptions): PreparedScan {
  const stream = streamOf(
    op,
    options,
    inputs.rewards,
    inputs.values,
    inputs.weights,
    inputs.lambda,
    options.gamma,
    options.mask,
    options.bootstrap,
  );
  const rows = needRows(op, options);
  const { n, B, offsets, meaning } = rows;
  const rewards = needFloats(op, "rewards", inputs.rewards, n, meaning);
  const values = "values" in inputs ? needFloats(op, "values", inputs.values, n, meaning) : null;
  const weights = "weights" in inputs ? needFloats(op, "weights", inputs.weights, n, meaning) : null;
  const perToken = typeof options.gamma !== "number";
  const discount = perToken ? needFloats(op, "gamma", options.gamma, n, meaning) : null;
  const gamma = perToken ? 1 : needNumber(op, "gamma", options.gamma, { min: 0, max: 1 });
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const lambdas = needLambdas(op, inputs, rows, mask);
  const lambda = lambdas && lambdas.array;
  const bootstrap = optionalFloats(op, "bootstrap", options.bootstrap, B, "one per row");
  return {
    arrays: { rewards, values, weights, gamma: discount, lambda, mask, bootstrap, offsets },
    rows,
    gamma,
    lambdasPerToken: lambdas?.perToken ? 1 : 0,
    maskMode: needWord(op, "maskMode", options.maskMode ?? "skip", MASK_MODES),
    dtype: widestFloat(rewards, values, weights, discount, lambda, bootstrap),
    transformMasked: needFlag(op, "transformMasked", options.transformMasked),
    stream,
  };
}

/** The fields that each of these ops passes to a backend, in one float type. */
export function commonArgs({
  arrays,
  dtype,
  rows,
  gamma,
  maskMode,
}: PreparedScan): Omit<ScanReturnsArgs, "rewards" | "returns" | "transformMasked"> {
  return {
    dtype: DTYPE_CODE[dtype],
    gammas: arrays.gamma && asFloat(arrays.gamma, dtype),
    mask: arrays.mask,
    bootstrap: arrays.bootstrap && asFloat(arrays.bootstrap, dtype),
    offsets: arrays.offsets,
    n: rows.n,
    B: rows.B,
    T: rows.T,
    gamma,
    maskMode,
  };
}
