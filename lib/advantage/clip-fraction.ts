// How much a clip would change.
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { needNumber } from "../core/options";

export interface ClipFractionOptions {
  /** Values below this count. Default −Infinity. */
  readonly low?: number;
  /** Values above this count. Default Infinity. */
  readonly high?: number;
  /** 1 = the value counts, as many as values. The others are not read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** As clipFraction; `total` divides instead of the number of kept values. */
export function fractionOutside(values: FloatArray, low: number, high: number, mask: Uint8Array | null, total?: number): number {
  let kept = 0;
  let outside = 0;
  for (let i = 0; i < values.length; ++i) {
    if (mask && mask[i] === 0) continue;
    ++kept;
    if (values[i]! < low || values[i]! > high) ++outside;
  }
  const count = total ?? kept;
  return count > 0 ? outside / count : 0;
}

/**
 * The share of the kept values strictly outside [low, high]: what a clip to that range changes. NaN is not outside. 0 where no
 * value is kept.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _BUFFER, naming the argument
 */
export function clipFraction(values: FloatArray, options: ClipFractionOptions): number {
  const op = "clipFraction";
  const length = ArrayBuffer.isView(values) ? values.length : 0;
  const given = needFloats(op, "values", values, length, "its own length");
  const mask = optionalMask(op, "mask", options.mask, length, "as many as values");
  const low = needNumber(op, "low", options.low ?? -Infinity, { infinite: true });
  const high = needNumber(op, "high", options.high ?? Infinity, { infinite: true });
  return fractionOutside(given, low, high, mask);
}
