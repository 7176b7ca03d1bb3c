// The likeliest ids of each row.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { int32Or, needInt32, optionalMask, refuseOverlap } from "../../core/arrays";
import type { DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE } from "../../core/dtype";
import { fromHalfBits } from "../../core/half";
import { holdBack } from "../../core/held-back";
import { namedNumber } from "../../core/not-finite";
import type { Anywhere } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import {
  type DeviceWideLogits,
  type LogitLayout,
  needWideLogits,
  type WideLogitDType,
  type WideLogits,
} from "../logprob/logits";

takesDeviceArrays("topLogits");

export interface TopLogitsOptions extends LogitLayout<WideLogitDType>, BackendOption {
  /** One flag a row; the ids of a row with 0 are 0, and it is not read. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Memory for the ids, [rows, k]. */
  readonly out?: Int32Array;
}

/** Options where the logits lie on a device. */
export type DeviceTopLogitsOptions = Anywhere<Omit<TopLogitsOptions, "out">> & { readonly out?: DeviceArray<"int32"> };

/** The same on a device, where the logits lie. A NaN is reported at the next read. */
export function topLogits(logits: DeviceWideLogits, k: number, options?: DeviceTopLogitsOptions): DeviceArray<"int32">;
/**
 * The ids of the k largest logits of each row, ascending. Of equal logits the smaller ids; −∞ is below everything else.
 *
 * @param logits [rows, vocab]: float32, float64, or half types
 * @param k in 0..vocab
 * @returns [rows, k]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _BUFFER, naming the argument; _VALUE for a NaN in a row that
 *   is read, where k > 0
 */
export function topLogits(logits: WideLogits, k: number, options?: TopLogitsOptions): Int32Array;
export function topLogits(
  logits: WideLogits | DeviceWideLogits,
  k: number,
  anywhere: TopLogitsOptions | DeviceTopLogitsOptions = {},
): Int32Array | DeviceArray<"int32"> {
  const options = anywhere as TopLogitsOptions;
  const op = "topLogits";
  const stream = streamOf(op, options, logits, options.mask, options.out);
  const { logits: x, dtype, N, V, stride } = needWideLogits(op, "logits", logits, options);
  const K = needNumber(op, "k", k, { min: 0, max: V, integer: true });
  const mask = optionalMask(op, "mask", options.mask, N, "one a row");
  const ids =
    options.out === undefined
      ? int32Or(op, "", undefined, N * K, stream)
      : needInt32(op, "out", options.out, N * K, "rows * k");
  refuseOverlap(op, options.out, { ids }, { logits: x, mask });
  const { args, release } = holdBack({ dtype, logits: x, mask, N, V, stride, K, ids }, { ids: options.out }, true);
  try {
    selectBackend(op, options.backend, stream).ops.divergenceTop(args);
  } catch (error) {
    const half = dtype === DTYPE_CODE.float16 ? "float16" : "bfloat16";
    const values = x instanceof Uint16Array ? fromHalfBits(x, half) : x;
    const kept = (i: number): boolean => i % stride < V && (!mask || mask[Math.floor(i / stride)] !== 0);
    throw namedNumber(op, error, "a number", [{ name: "logits", values, kept }], "NaN has no rank: mask its row");
  }
  release();
  return ids;
}
