// How much a clip would change.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { needNumber } from "../core/option-checks";
import { clamp, type ClampOptions } from "../ops/reduce";

export interface ClipFractionOptions extends BackendOption {
  /** Values below this count. Default −Infinity. */
  readonly low?: number;
  /** Values above this count. Default Infinity. */
  readonly high?: number;
  /** 1 = the value counts, as many as values. The others are not read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** Bounds on an array, and the share of its kept numbers that they change; 0 where nothing is kept. */
export function clipped(
  values: FloatArray,
  options: ClampOptions,
): { readonly values: FloatArray; readonly fraction: number } {
  const { clamped, kept, outside } = clamp(values, options);
  const sum = (counts: Int32Array): number => counts.reduce((total, count) => total + count, 0);
  return { values: clamped, fraction: sum(kept) > 0 ? sum(outside) / sum(kept) : 0 };
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
  return clipped(given, {
    shape: [1, length],
    low,
    high,
    mask: mask ?? undefined,
    backend: options.backend,
  }).fraction;
}
