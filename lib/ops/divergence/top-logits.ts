// The likeliest ids of each row.
import { type BackendOption, selectBackend } from "../../backend/select";
import { needInt32, optionalMask, refuseOverlap } from "../../core/arrays";
import { needNumber } from "../../core/options";
import { type LogitLayout, needWideLogits, type WideLogitDType, type WideLogits } from "../logprob/logits";

export interface TopLogitsOptions extends LogitLayout<WideLogitDType>, BackendOption {
  /** One flag a row; the ids of a row with 0 are 0, and it is not read. Default: all 1. */
  readonly keep?: Uint8Array;
  /** Memory for the ids, [rows, k]. */
  readonly out?: Int32Array;
}

/**
 * The ids of the k largest logits of each row, ascending. Of equal logits the smaller ids; NaN is below everything.
 *
 * @param logits [rows, vocab]: float32, float64, or half types
 * @param k in 0..vocab
 * @returns [rows, k]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _BUFFER, naming the argument
 */
export function topLogits(logits: WideLogits, k: number, options: TopLogitsOptions = {}): Int32Array {
  const op = "topLogits";
  const { logits: x, dtype, N, V, stride } = needWideLogits(op, "logits", logits, options);
  const K = needNumber(op, "k", k, { min: 0, max: V, integer: true });
  const keep = optionalMask(op, "keep", options.keep, N, "one a row");
  const ids = options.out === undefined ? new Int32Array(N * K) : needInt32(op, "out", options.out, N * K, "rows * k");
  refuseOverlap(op, { ids }, { logits: x, keep });
  selectBackend(op, options.backend).ops.divergenceTop({ dtype, logits: x, keep, N, V, stride, K, ids });
  return ids;
}
